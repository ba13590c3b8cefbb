import { EXIT_FAILED, EXIT_OK, EXIT_SIGINT, EXIT_SIGTERM } from '../exit-codes.ts'
import type { CliIO } from './terminal.ts'

/**
 * Handles the signals that end a command. The first SIGINT or SIGTERM aborts `signal`, so that the command can clean up. The second signal
 * ends the process immediately. A closed stdout (`| head`) also aborts the command, without a message.
 */
export class Interrupts {
  readonly #controller = new AbortController()
  readonly #io: CliIO
  #exitCode: number | undefined

  constructor(io: CliIO) {
    this.#io = io
    process.on('SIGINT', this.#onSigint)
    process.on('SIGTERM', this.#onSigterm)
    io.stdout.on('error', this.#onStdoutError)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The exit code after a signal or an error of stdout. Undefined before. */
  get exitCode(): number | undefined {
    return this.#exitCode
  }

  /** Ignores Ctrl-C during `work`, because another program that uses the terminal handles it. */
  async leaveToOther<T>(work: () => Promise<T>): Promise<T> {
    const ignore = () => {}
    process.on('SIGINT', ignore)
    process.off('SIGINT', this.#onSigint)
    try {
      return await work()
    } finally {
      process.on('SIGINT', this.#onSigint)
      process.off('SIGINT', ignore)
    }
  }

  release(): void {
    process.off('SIGINT', this.#onSigint)
    process.off('SIGTERM', this.#onSigterm)
    this.#io.stdout.off('error', this.#onStdoutError)
  }

  readonly #onSigint = (): void => this.#interrupt(EXIT_SIGINT)
  readonly #onSigterm = (): void => this.#interrupt(EXIT_SIGTERM)
  readonly #onStdoutError = (error: NodeJS.ErrnoException): void => {
    // A closed pipe is not a failure: the reader needs no more output. Other errors are reported when the process ends.
    this.#exitCode ??= isClosedPipe(error) ? EXIT_OK : EXIT_FAILED
    this.#controller.abort()
  }

  #interrupt(exitCode: number): void {
    if (this.#controller.signal.aborted) {
      // The line break keeps the shell's prompt from following a status line.
      if (this.#io.stderr.isTTY) this.#io.stderr.write('\n')
      process.exit(exitCode)
    }
    this.#exitCode = exitCode
    this.#controller.abort()
  }
}

/** Whether a write failed because its reader is gone. */
export function isClosedPipe({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED'
}
