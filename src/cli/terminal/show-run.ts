import type { RunStream } from '../../agent/run/run-stream.ts'
import type { RunResult } from '../../agent/types.ts'
import { EventRedactor, resultAsJson } from '../../service/runs/event-redactor.ts'
import type { Flags } from '../flags.ts'
import type { PreparedAgent } from '../setup/prepare-agent.ts'
import { describeEnding, RunRenderer } from './render.ts'
import type { Terminal } from './terminal.ts'

/** Shows a run while it goes on, in the form that the options ask for: for a person, as one JSON object, or as lines of events. */
export async function showRun(stream: RunStream, { tools }: PreparedAgent, flags: Flags, terminal: Terminal): Promise<RunResult> {
  if (flags.events) {
    const redactor = new EventRedactor(tools)
    for await (const event of stream) for (const shown of await redactor.redact(event)) terminal.print(JSON.stringify(shown))
    const result = await stream.result
    terminal.print(JSON.stringify({ type: 'RESULT', result: await redactor.redactResult(result) }))
    return result
  }
  const renderer = new RunRenderer(terminal, tools, { quiet: flags.quiet === true, answer: !flags.json })
  for await (const event of stream) renderer.show(event)
  const result = await stream.result
  renderer.finish(result)
  if (flags.json) terminal.print(JSON.stringify(resultAsJson(result)))
  return result
}

/** Says why there is no answer, and what may help; of a run that waits in a journal, with which command it goes on. */
export function explainEnding(result: RunResult, { choice }: PreparedAgent, terminal: Terminal, decide?: string): void {
  const ending = describeEnding(result)
  if (ending === undefined) return
  const helps =
    result.stopReason === 'model_error' && choice.source === 'key'
      ? `; ${choice.name} is only a default: --model or TOOLLOOP_MODEL names another`
      : ''
  terminal.note(terminal.paint(result.stopReason === 'stopped' ? 'dim' : 'yellow', `${ending}${helps}`))
  if (result.stopReason === 'paused' && decide !== undefined) terminal.note(terminal.paint('dim', `to decide: ${decide}`))
}
