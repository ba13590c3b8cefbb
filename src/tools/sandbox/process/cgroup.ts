import { randomUUID } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** Files of a control group and what is written to them. See https://docs.kernel.org/admin-guide/cgroup-v2.html */
export type CgroupSettings = Readonly<Record<string, string>>

const needed = ['memory', 'pids']
/** How many processes may use all of their memory at once. */
const processesAtOnce = 4

/**
 * The control group of this process or the one above, if groups with bounds may be made in it: version 2, delegated to this user, with controllers for
 * memory and processes. Undefined on most machines. `mounted` and `own`: where groups are, and what `/proc/self/cgroup` says.
 */
export function findDelegatedCgroup(mounted: string = '/sys/fs/cgroup', own: string = ownCgroup()): string | undefined {
  const path = /^0::(\/.*)$/m.exec(own)?.[1]
  if (path === undefined) return undefined
  const group = join(mounted, path)
  return (path === '/' ? [group] : [group, dirname(group)]).find(isDelegated)
}

function ownCgroup(): string {
  try {
    return readFileSync('/proc/self/cgroup', 'utf8')
  } catch {
    return '' // Not Linux, or no `/proc`.
  }
}

function isDelegated(group: string): boolean {
  try {
    for (const file of ['', 'cgroup.procs']) accessSync(join(group, file), constants.W_OK)
    // Root may write to all, but those of systemd are systemd's.
    if (process.getuid?.() === 0 && group.endsWith('.slice')) return false
    const control = join(group, 'cgroup.subtree_control')
    if (!has(control)) writeFileSync(control, needed.map((controller) => `+${controller}`).join(' '))
    return has(control)
  } catch {
    return false // Not this user's, or with processes of its own, which excludes groups within.
  }
}

function has(control: string): boolean {
  const controllers = readFileSync(control, 'utf8').trim().split(' ')
  return needed.every((controller) => controllers.includes(controller))
}

/** A control group for the processes of one script. */
export class Cgroup {
  readonly #folder: string

  /** Throws what the file system says if `parent` is not one that groups can be made in. */
  constructor(parent: string, settings: CgroupSettings) {
    this.#folder = join(parent, `toolloop-${randomUUID()}`)
    mkdirSync(this.#folder)
    try {
      for (const [file, value] of Object.entries(settings)) {
        // Not every kernel has every file; what it has is not made by writing.
        if (statSync(join(this.#folder, file), { throwIfNoEntry: false }) !== undefined) writeFileSync(join(this.#folder, file), value)
      }
    } catch (error) {
      rmdirSync(this.#folder)
      throw error
    }
  }

  /** What it starts from now on is in the group too. */
  add(pid: number): void {
    writeFileSync(join(this.#folder, 'cgroup.procs'), String(pid))
  }

  /** Its processes have been ended: they take a moment to be gone. A group that stays all the same is empty, and bounds nothing. */
  async close(): Promise<void> {
    for (let attempt = 0; attempt < 100 && !this.#isRemoved(); attempt++) await setTimeout(10)
  }

  #isRemoved(): boolean {
    try {
      rmdirSync(this.#folder)
      return true
    } catch (error) {
      return !(error instanceof Error && 'code' in error && error.code === 'EBUSY')
    }
  }
}

/** Memory of all processes together, with the files they have in memory and the `copiedBytes` they begin with, and how many processes there may be. */
export function cgroupSettings({ memoryBytes, processes }: { memoryBytes: number; processes: number }, copiedBytes = 0): CgroupSettings {
  return {
    'memory.max': String(processesAtOnce * memoryBytes + copiedBytes),
    'memory.swap.max': '0',
    'memory.oom.group': '1',
    // Bubblewrap's own, and those that set the limits.
    'pids.max': String(processes + 8),
  }
}
