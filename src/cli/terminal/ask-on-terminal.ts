import type { Terminal } from './terminal.ts'
import { TerminalLines } from './terminal-lines.ts'

/** Asks one question; resolves with the answer. `draft` stands there to be edited. Rejects when `signal` is aborted. */
export type Ask = (question: string, signal: AbortSignal, draft?: string) => Promise<string>

/** Asks whoever sits at the terminal. */
export function askOnTerminal({ io }: Terminal): Ask {
  return async (question, signal, draft) => {
    const lines = new TerminalLines(io)
    // While it reads, it gets the Ctrl-C in place of the process.
    lines.onInterrupt = () => process.kill(process.pid, 'SIGINT')
    try {
      return await lines.ask(question, signal, draft)
    } finally {
      lines.close()
    }
  }
}
