import type { ModelSink } from '../../../models/chat-model.ts'
import type { RunContext } from '../../run/run-context.ts'
import type { AroundModel } from '../../types/model-call.ts'
import { isStreamed, StreamedText } from './streamed-text.ts'

/**
 * Holds back the text of a response until guardrails have checked it, either whole or piece by piece. Also holds back an answer with a
 * schema, which may arrive as arguments of a call.
 */
export function holdText(run: RunContext): AroundModel {
  return (next) => (call) => {
    const { text: hear, ...rest } = call.sink ?? {}
    const streamed = isStreamed(run) ? new StreamedText(run, call.iteration, (text) => hear?.(text)) : undefined
    call.turn.hold(streamed)
    if (call.sink === undefined) return next(call)
    if (streamed !== undefined && hear !== undefined) {
      const restart = () => {
        streamed.restart()
        return rest.restart?.() === true
      }
      return next({ ...call, sink: { ...rest, restart, text: (text) => streamed.add(text) } }).catch((error: unknown) => {
        streamed.leave()
        throw error
      })
    }
    const sink = run.agent.output === undefined ? rest : withoutAnswer(rest, run.agent.output.tool.name)
    return next({ ...call, sink })
  }
}

/** Returns a sink that does not forward the arguments of the answer tool. `answering`: the name of this tool. */
function withoutAnswer(sink: ModelSink, answering: string): ModelSink {
  const { toolCallStart, toolCallDelta } = sink
  if (toolCallStart === undefined && toolCallDelta === undefined) return sink
  const answers = new Set<number>()
  const held: ModelSink = {
    ...sink,
    toolCallStart: (index, id, tool) => {
      if (tool === answering) answers.add(index)
      toolCallStart?.(index, id, tool)
    },
    restart: () => {
      answers.clear()
      return sink.restart?.() === true
    },
  }
  const giveDelta = (index: number, json: string) => {
    if (!answers.has(index)) toolCallDelta?.(index, json)
  }
  if (toolCallDelta !== undefined) held.toolCallDelta = giveDelta
  return held
}
