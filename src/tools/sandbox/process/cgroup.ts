import { randomUUID } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** Files of a control group with the values to write. See https://docs.kernel.org/admin-guide/cgroup-v2.html */
export type CgroupSettings = Readonly<Record<string, string>>

const needed = ['memory', 'pids']
/** The memory limit of the group is this many times the limit of one process. */
const processesAtOnce = 4

/**
 * Finds a control group in which this process may create groups with limits: its own group or the parent group. The group must be of
 * version 2, delegated to this user, and have controllers for memory and processes. Undefined on most machines. `mounted` and `own`: the
 * mount point of control groups, and the content of `/proc/self/cgroup`.
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
    return '' // The system is not Linux, or `/proc` is missing.
  }
}

function isDelegated(group: string): boolean {
  try {
    for (const file of ['', 'cgroup.procs']) accessSync(join(group, file), constants.W_OK)
    // Root can write to all groups, but must not change groups that systemd manages.
    if (process.getuid?.() === 0 && group.endsWith('.slice')) return false
    const control = join(group, 'cgroup.subtree_control')
    if (!has(control)) writeFileSync(control, needed.map((controller) => `+${controller}`).join(' '))
    return has(control)
  } catch {
    return false // The group belongs to another user, or has processes of its own and therefore can't contain groups.
  }
}

function has(control: string): boolean {
  const controllers = readFileSync(control, 'utf8').trim().split(' ')
  return needed.every((controller) => controllers.includes(controller))
}

/** A control group for the processes of one script. */
export class Cgroup {
  readonly #folder: string

  /** Creates a group. Throws the file system's error if no group can be created in `parent`. */
  constructor(parent: string, settings: CgroupSettings) {
    this.#folder = join(parent, `toolloop-${randomUUID()}`)
    mkdirSync(this.#folder)
    try {
      for (const [file, value] of Object.entries(settings)) {
        // Skips settings for which this kernel has no file.
        if (statSync(join(this.#folder, file), { throwIfNoEntry: false }) !== undefined) writeFileSync(join(this.#folder, file), value)
      }
    } catch (error) {
      rmdirSync(this.#folder)
      throw error
    }
  }

  /** Adds a process. Processes that it starts after this also belong to the group. */
  add(pid: number): void {
    writeFileSync(join(this.#folder, 'cgroup.procs'), String(pid))
  }

  /**
   * Removes the group. Retries for up to a second, because killed processes take a moment to disappear. A group that can't be removed is
   * left behind, which is harmless.
   */
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

/**
 * The settings for a group: the number of processes, and the memory of all processes together. This memory includes the files that the
 * processes create in memory. `copiedBytes`: the size of the files that are copied into memory before the processes start.
 */
export function cgroupSettings({ memoryBytes, processes }: { memoryBytes: number; processes: number }, copiedBytes = 0): CgroupSettings {
  return {
    'memory.max': String(processesAtOnce * memoryBytes + copiedBytes),
    'memory.swap.max': '0',
    'memory.oom.group': '1',
    // Allows a few more processes, for bubblewrap itself and for the programs that set the limits.
    'pids.max': String(processes + 8),
  }
}
