import type { AnyTool } from '../../../tools/tool.ts'
import type { CliIO } from '../terminal.ts'
import { TerminalLines } from '../terminal-lines.ts'
import type { Asker } from './asker.ts'

/** Asks on the terminal, and reads from it only while a question is open. If something else reads from the terminal, use another asker. */
export function askOnTerminal(io: CliIO, tools: readonly AnyTool[]): Asker {
  const onTerminal = async <T>(work: (lines: TerminalLines) => Promise<T>): Promise<T> => {
    const lines = new TerminalLines(io)
    // While input is read, the terminal doesn't send a signal for Ctrl-C, so this callback sends it.
    lines.onInterrupt = () => process.kill(process.pid, 'SIGINT')
    try {
      return await work(lines)
    } finally {
      lines.close()
    }
  }
  return {
    tools,
    lend: (work) => work(),
    ask: (...question) => onTerminal((lines) => lines.ask(...question)),
    choose: (...question) => onTerminal((lines) => lines.choose(...question)),
  }
}
