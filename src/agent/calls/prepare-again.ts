import { type PreparedCall, prepareArguments } from '../../tools/arguments.ts'
import { notFoundText } from '../../tools/told.ts'
import type { PlannedCall, Refusal } from '../recorded.ts'
import type { RunContext } from '../run/run-context.ts'

/** A resumed run makes its calls ready again. */
export async function prepareAgain(run: RunContext, { name, rawArguments, asText }: PlannedCall): Promise<PreparedCall | Refusal> {
  const tool = run.agent.registry.get(name)
  if (tool === undefined) return notFound(run, name)
  const { signal, limits } = run
  const preparation = await prepareArguments(tool, rawArguments, {
    timeoutMs: limits.toolTimeoutMs,
    signal,
    asText: asText === true,
    asNative: true,
  })
  return preparation.ok ? preparation.call : { code: preparation.problem.code, text: preparation.problem.message }
}

export function notFound({ agent }: RunContext, name: string): Refusal {
  return { code: 'tool_not_found', text: notFoundText(name, agent.registry.names()) }
}
