import { type OutputFormat, takesSchema, withAnswerTool } from '../../output/output.ts'
import type { RunContext } from '../../run/run-context.ts'
import { chooseCallForm } from '../../text-calls/mode.ts'
import type { Decide, RequestInPlan } from '../../types/plan.ts'

/** Requests an answer with a schema: through the provider's structured output if possible, otherwise through a tool. */
export function formatAnswer(run: RunContext, output: OutputFormat): Decide<RequestInPlan> {
  const { tool, schema } = output
  return async (asked) => {
    if (isHeldToSchema(run, asked)) return { ...asked, responseSchema: { name: tool.name, schema } }
    const tools = withAnswerTool(output, asked.tools)
    return asked.mustAnswer ? { ...asked, tools, toolChoice: { type: 'function', function: { name: tool.name } } } : { ...asked, tools }
  }
}

/**
 * Whether the provider may enforce the schema. If the model writes calls as text, the provider must not enforce the schema, because JSON
 * that follows the schema can't contain calls.
 */
function isHeldToSchema({ settings }: RunContext, { model, tools }: RequestInPlan): boolean {
  const hasTools = tools.size > 0
  return takesSchema(model.capabilities, hasTools) && (!hasTools || chooseCallForm(settings, model).native)
}
