import type { DispatchResult } from '../../tools/dispatcher.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** What one call without a model came to: its value on standard output, as text or JSON; why there is none on standard error. */
export function printDispatched(result: DispatchResult, json: boolean, terminal: Terminal): void {
  if (json) terminal.print(JSON.stringify(result))
  else if (result.success) terminal.print(typeof result.result === 'string' ? result.result : (JSON.stringify(result.result) ?? ''))
  if (!result.success) terminal.note(`error: ${result.error}`)
}
