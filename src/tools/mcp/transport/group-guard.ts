import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Reads whose group it is, then until this program is gone; asks the group to end, and ends what is left of it. */
const script = 'trap "" HUP INT TERM; read -r group; read -r _; kill -s TERM -- "-$group"; sleep 0.5; kill -s KILL -- "-$group"'

/**
 * Ends a process group when this program ends, however that happens: by a signal, a crash or `process.exit`. It is a shell that waits for the end
 * of a pipe which only this program holds. So no signal handlers are needed: they would change what signals do to the program. Not for Windows.
 */
export class GroupGuard {
  readonly #shell: ChildProcessByStdio<Writable, null, null>
  readonly #gone = Promise.withResolvers<void>()
  #group: number | undefined

  /** Starts it: before the group, so that no time is left in which the group has no guard. */
  constructor() {
    const { PATH } = process.env
    this.#shell = spawn('sh', ['-c', script, 'toolloop-guard'], {
      cwd: '/',
      env: PATH === undefined ? {} : { PATH },
      // Else its terminal would end it along with this program.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#shell.unref()
    this.#shell.stdin.on('error', () => {}) // It is gone, which `close` tells.
    this.#shell.on('close', this.#gone.resolve)
    this.#shell.on('error', () => {
      // There is no shell, as in some containers, which end as a whole.
      process.on('exit', this.#killAtExit)
      this.#gone.resolve()
    })
  }

  /** To be called once, as soon as the group is there. */
  watch(group: number): void {
    this.#group = group
    this.#shell.stdin.write(`${group}\n`)
  }

  /** Leaves the group alone from now on. Resolves when nothing of the guard is left. */
  release(): Promise<void> {
    this.#shell.kill('SIGKILL')
    process.off('exit', this.#killAtExit)
    return this.#gone.promise
  }

  readonly #killAtExit = (): void => killGroup(this.#group, 'SIGKILL')
}

/** Sends a signal to a process and all it started; nothing if they are gone. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody of the group is left.
  }
}
