import type { AnyTool } from '../../../tools/tool.ts'

/** Asks a question. Resolves with the answer. `draft` is shown for editing; Ctrl-C leaves it with `''`. Rejects if `signal` is aborted. */
export type Ask = (question: string, signal: AbortSignal, draft?: string) => Promise<string>

/** Asks the person at the terminal. */
export interface Asker {
  ask: Ask
  /** Lets another program use the terminal during `work`. */
  lend<T>(work: () => Promise<T>): Promise<T>
  /** The tools whose calls are decided. */
  tools: readonly AnyTool[]
}
