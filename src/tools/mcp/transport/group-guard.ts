import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Reads the group's number, then waits until this program is gone. Asks the group to end, then kills the remaining processes. */
const script = 'trap "" HUP INT TERM; read -r group; read -r _; kill -s TERM -- "-$group"; sleep 0.5; kill -s KILL -- "-$group"'

/**
 * Ends a process group when this program ends, whether by a signal, a crash or `process.exit`. It is a shell that waits for the end of a
 * pipe that only this program holds. No signal handlers are needed, which would change how the program reacts to signals. Not for Windows.
 */
export class GroupGuard {
  readonly #shell: ChildProcessByStdio<Writable, null, null>
  readonly #gone = Promise.withResolvers<void>()
  #group: number | undefined

  /** Starts the guard. Create it before the group, so that the group is never without one. */
  constructor() {
    const { PATH } = process.env
    this.#shell = spawn('sh', ['-c', script, 'toolloop-guard'], {
      cwd: '/',
      env: PATH === undefined ? {} : { PATH },
      // Otherwise the terminal would end the guard together with this program.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#shell.unref()
    this.#shell.stdin.on('error', () => {}) // The guard is gone; `close` reports it.
    this.#shell.on('close', this.#gone.resolve)
    this.#shell.on('error', () => {
      // There is no shell, as in some containers, which end as a whole.
      process.on('exit', this.#killAtExit)
      this.#gone.resolve()
    })
  }

  /** Call it once, as soon as the group exists. */
  watch(group: number): void {
    this.#group = group
    this.#shell.stdin.write(`${group}\n`)
  }

  /** Stops guarding the group. Resolves when nothing of the guard is left. */
  release(): Promise<void> {
    this.#shell.kill('SIGKILL')
    process.off('exit', this.#killAtExit)
    return this.#gone.promise
  }

  readonly #killAtExit = (): void => killGroup(this.#group, 'SIGKILL')
}

/** Sends a signal to a process and everything it started. Does nothing if they are gone. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has no processes left.
  }
}
