import type { ModelSink } from '../../models/chat-model.ts'
import type { RunContext } from '../run/run-context.ts'
import type { AroundModel } from '../turn/model-call.ts'

/** Holds a response's text back until guardrails have checked it; also an answer with a schema, which may come as a call's arguments. */
export function holdText(run: RunContext): AroundModel {
  return (next) => (call) => {
    call.turn.hold()
    if (call.sink === undefined) return next(call)
    const { text: _, ...rest } = call.sink
    const sink = run.agent.output === undefined ? rest : withoutAnswer(rest, run.agent.output.tool.name)
    return next({ ...call, sink })
  }
}

/** `answering`: the tool that gives the answer. */
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
