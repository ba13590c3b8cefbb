import type { AnyTool } from '../../../tools/tool.ts'

/** Asks one question; resolves with the answer. `draft` stands there to be edited. Rejects when `signal` is aborted. */
export type Ask = (question: string, signal: AbortSignal, draft?: string) => Promise<string>

/** Whoever sits at the terminal. */
export interface Asker {
  ask: Ask
  /** Lets another program have the terminal while `work` goes on. */
  lend<T>(work: () => Promise<T>): Promise<T>
  /** The tools whose calls are decided on. */
  tools: readonly AnyTool[]
}
