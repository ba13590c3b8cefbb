import { hasGuardrail } from '../callbacks/guardrails.ts'
import type { RunContext } from '../run/run-context.ts'
import type { AroundTool } from '../types/running-call.ts'
import { checkResults } from './guardrails/tool-guardrails.ts'
import { askAfterCall } from './hooks/tool-hooks.ts'

/** Checks the result of a call, no matter who carried it out. Outermost first. */
export function aroundResults(run: RunContext): [name: string, layer: AroundTool][] {
  const { callbacks, guardrails } = run.agent
  const checks: [string, AroundTool][] = []
  if (hasGuardrail(guardrails, 'result')) checks.push(['guardrails: the result', checkResults(run)])
  if (callbacks.around.results.length > 0) checks.push(['hooks after the call', askAfterCall(run)])
  return checks
}
