import { type PreparedCall, prepareArguments } from '../../tools/arguments.ts'
import { notFoundText } from '../../tools/told.ts'
import type { RunContext } from '../run/run-context.ts'
import type { PlannedCall, Refusal } from '../types/recorded.ts'

/** A resumed run makes its calls ready again. */
export async function prepareAgain(
  run: RunContext,
  { name, rawArguments, asText, args, plan }: PlannedCall,
): Promise<PreparedCall | Refusal> {
  const tool = run.agent.registry.get(name)
  if (tool === undefined) return { code: 'tool_not_found', text: notFoundText(name, run.agent.registry.names()) }
  const { signal, limits } = run
  const terms = { timeoutMs: limits.toolTimeoutMs, signal }
  // Arguments that a program has chosen are never decoded.
  const preparation = await (plan?.args === undefined
    ? prepareArguments(tool, rawArguments, { ...terms, asText: asText === true, asNative: true })
    : prepareArguments(tool, JSON.stringify(args), terms))
  return preparation.ok ? preparation.call : { code: preparation.problem.code, text: preparation.problem.message }
}
