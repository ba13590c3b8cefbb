/** Where a chat has its lines from. */
export interface Lines {
  /** Whether somebody sits there. */
  readonly interactive: boolean
  /** Called for Ctrl-C on a terminal, which doesn't end the process then; `typed` tells whether there is text behind the prompt. */
  onInterrupt: (typed: boolean) => void
  /** The next line without its end; undefined at the end of the input, and when `signal` is aborted. */
  next(signal: AbortSignal): Promise<string | undefined>
  /** Asks something else than for the next line; without an answer it is `''`. Rejects when `signal` is aborted. */
  ask(question: string, signal: AbortSignal): Promise<string>
  /** Drops what has been typed, and shows the prompt again. */
  clearLine(): void
  showPrompt(): void
  close(): void
}
