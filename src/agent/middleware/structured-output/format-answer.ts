import { takesSchema, withAnswerTool } from '../../output/output.ts'
import type { RunContext } from '../../run/run-context.ts'
import { chooseCallForm } from '../../text-calls/mode.ts'
import { setTools } from '../../turn/model-turn.ts'
import type { Asked, FormatAnswer } from '../../types/model-call.ts'

/** Requests an answer with a schema: by the provider's own means, or else through a tool. */
export function formatAnswer(run: RunContext): FormatAnswer {
  return (asked, request, mustAnswer) => {
    const { settings } = run
    const { output } = run.agent
    const { model, tools, toolChoice } = asked
    if (output === undefined || isHeldToSchema(run, asked)) {
      if (output !== undefined) request.responseSchema = { name: output.tool.name, schema: output.schema }
      setTools(request, settings, tools, toolChoice)
      return { model, tools, request }
    }
    const { tool } = output
    const view = withAnswerTool(output, tools)
    setTools(request, settings, view, mustAnswer ? { type: 'function', function: { name: tool.name } } : toolChoice)
    return { model, tools: view, request }
  }
}

/** A text that has to be JSON of a schema has no room for text calls. */
function isHeldToSchema({ settings }: RunContext, { model, tools }: Asked): boolean {
  const hasTools = tools.size > 0
  return takesSchema(model.capabilities, hasTools) && (!hasTools || chooseCallForm(settings, model).native)
}
