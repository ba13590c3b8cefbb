import { prepareArguments } from '../../../tools/arguments.ts'
import type { OutputFormat } from '../../output/output.ts'
import { readingsOf } from '../../output/read-answer.ts'
import type { RunContext } from '../../run/run-context.ts'
import type { Decide, ReplyInPlan } from '../../types/plan.ts'
import type { PlannedCall } from '../../types/recorded.ts'

/** Unwraps answers given through the answer tool. Some models wrap them in a field with the name of the schema. */
export function unwrapAnswers(run: RunContext, output: OutputFormat): Decide<ReplyInPlan> {
  return async (reply) => {
    const planned: PlannedCall[] = []
    for (const call of reply.planned) planned.push(call.name === output.tool.name ? await unwrapAnswer(run, output, call) : call)
    return { ...reply, planned }
  }
}

async function unwrapAnswer(run: RunContext, output: OutputFormat, call: PlannedCall): Promise<PlannedCall> {
  const { refusal, args: given, ...rest } = call
  if (refusal?.code !== 'invalid_arguments' || given === undefined) return call
  const { limits, signal } = run
  for (const { args, wrapper } of readingsOf(output, given)) {
    const rawArguments = JSON.stringify(args)
    const terms = { timeoutMs: limits.toolTimeoutMs, signal, asText: call.asText === true, asNative: true }
    const preparation = await prepareArguments(output.tool, rawArguments, terms)
    if (!preparation.ok) continue
    run.prepared.set(call.id, preparation.call)
    const how = wrapper === undefined ? 'arguments taken as the answer' : `unwrapped from \`${wrapper}\``
    const repairs = [...(call.repairs ?? []), how, ...(preparation.repairs ?? [])]
    return { ...rest, action: 'run', rawArguments, args: preparation.call.args, repairs }
  }
  return call
}
