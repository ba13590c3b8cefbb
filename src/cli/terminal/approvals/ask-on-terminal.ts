import type { AnyTool } from '../../../tools/tool.ts'
import type { CliIO } from '../terminal.ts'
import { TerminalLines } from '../terminal-lines.ts'
import type { Asker } from './asker.ts'

/** Asks the person at the terminal, if nothing else reads it. */
export function askOnTerminal(io: CliIO, tools: readonly AnyTool[]): Asker {
  return {
    tools,
    lend: (work) => work(),
    ask: async (question, signal, draft) => {
      const lines = new TerminalLines(io)
      // While it reads, the terminal does not send Ctrl-C as a signal.
      lines.onInterrupt = () => process.kill(process.pid, 'SIGINT')
      try {
        return await lines.ask(question, signal, draft)
      } finally {
        lines.close()
      }
    },
  }
}
