import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/**
 * Reads the id of a process group, and waits until this program has ended. Then asks the processes of the group to end, and kills those
 * that remain.
 */
const script = 'trap "" HUP INT TERM; read -r group; read -r _; kill -s TERM -- "-$group"; sleep 0.5; kill -s KILL -- "-$group"'

/**
 * Ends a process group when this program ends, whether by a signal, a crash or `process.exit`. The guard is a shell that waits for the end
 * of a pipe that only this program holds open. It needs no signal handlers, which would change how the program reacts to signals. It can't
 * be used on Windows.
 */
export class GroupGuard {
  readonly #shell: ChildProcessByStdio<Writable, null, null>
  readonly #gone = Promise.withResolvers<void>()
  #group: number | undefined

  /** Starts the guard. Create the guard before the group, so that the group is never without a guard. */
  constructor() {
    const { PATH } = process.env
    this.#shell = spawn('sh', ['-c', script, 'toolloop-guard'], {
      cwd: '/',
      env: PATH === undefined ? {} : { PATH },
      // The guard is detached, because otherwise the terminal would end it together with this program.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#shell.unref()
    this.#shell.stdin.on('error', () => {}) // The guard has ended; `close` reports this.
    this.#shell.on('close', this.#gone.resolve)
    this.#shell.on('error', () => {
      // There is no shell, as in some containers. All processes of such a container end with it.
      process.on('exit', this.#killAtExit)
      this.#gone.resolve()
    })
  }

  /** Sets the group to guard. Call this once, as soon as the group exists. */
  watch(group: number): void {
    this.#group = group
    this.#shell.stdin.write(`${group}\n`)
  }

  /** Stops guarding the group. Resolves when the guard has ended completely. */
  release(): Promise<void> {
    this.#shell.kill('SIGKILL')
    process.off('exit', this.#killAtExit)
    return this.#gone.promise
  }

  readonly #killAtExit = (): void => killGroup(this.#group, 'SIGKILL')
}

/** Sends a signal to a process and all processes that it started. Does nothing if they have ended. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has no processes left.
  }
}
