import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/** Waits until this program has ended, then ends the process group whose id it has read. */
const script = 'trap "" HUP INT TERM; read -r group; read -r _; kill -s TERM -- "-$group"; sleep 0.5; kill -s KILL -- "-$group"'

/**
 * Ends a process group when this program ends, even by a crash or a signal. The guard is a shell that waits for the end of a pipe from this
 * program. Can't be used on Windows.
 */
export class GroupGuard {
  readonly #shell: ChildProcessByStdio<Writable, null, null>
  readonly #gone = Promise.withResolvers<void>()
  #group: number | undefined

  /** Starts the guard. Create it before the process group. */
  constructor() {
    const { PATH } = process.env
    this.#shell = spawn('sh', ['-c', script, 'toolloop-guard'], {
      cwd: '/',
      env: PATH === undefined ? {} : { PATH },
      // Detached, because the terminal would otherwise end the guard together with this program.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#shell.unref()
    this.#shell.stdin.on('error', () => {}) // `close` reports that the guard has exited.
    this.#shell.on('close', this.#gone.resolve)
    this.#shell.on('error', () => {
      // No shell was found, as in some containers.
      process.on('exit', this.#killAtExit)
      this.#gone.resolve()
    })
  }

  /** Sets the group to guard. Call this once, as soon as the group exists. */
  watch(group: number): void {
    this.#group = group
    this.#shell.stdin.write(`${group}\n`)
  }

  /** Stops guarding the group. Resolves when the guard has exited. */
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
