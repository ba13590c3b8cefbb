import { ToolloopError } from '../../../core/errors.ts'
import { deepFreeze, textOf, withoutUndefined } from '../../../core/messages.ts'
import { cancelledText, failureText } from '../../../tools/call-texts.ts'
import { isQuestion } from '../../../tools/tool.ts'
import { endOf, type ToolCallEnd } from '../../../tools/tool-runner.ts'
import type { Callbacks } from '../../callbacks/callbacks.ts'
import type { RunningToolCall } from '../../callbacks/hooks.ts'
import { describeCall } from '../../calls/changed-call.ts'
import { answered, rejected } from '../../calls/tool-call.ts'
import type { RunContext } from '../../run/run-context.ts'
import { notCompletedText, uncertainText } from '../../run-texts.ts'
import type { AroundTool, CallOutcome, RunCall, RunningCall } from '../../types/running-call.ts'
import { askAround } from './ask-around.ts'
import { failsClosed } from './ask-hook.ts'

/** Wraps the function of a call with the hooks. The first hook is the outermost. */
export function standAroundFunction(run: RunContext): AroundTool {
  return (next) => run.agent.callbacks.around.calls.reduceRight((inner, callback) => surround(run, callback, inner), next)
}

function surround(run: RunContext, callback: Callbacks['around']['calls'][number], next: RunCall): RunCall {
  return async (call) => {
    const { tool } = call.prepared
    const running = describeRunning(run, call)
    const { inner, returned, failure, isLeft } = await askAround(run, {
      ask: async (proceed) => callback.ask(running, proceed),
      proceed: () => next(call),
      show: valueShown,
    })
    const failsCall = failure !== undefined && failsClosed(run, callback, failure.error)
    if (inner === undefined) {
      if (isLeft) return rejected(call, { code: 'tool_cancelled', text: cancelledText(tool.name) })
      if (failure === undefined) return answered(run, call, returned)
      return failsCall ? rejected(call, { code: 'tool_failed', text: failureText(failure.error) }) : next(call)
    }
    if (inner.end.outcome === 'ok' && isLeft)
      return withEnd(inner, { outcome: 'cancelled', content: cancelledText(tool.name), code: 'tool_cancelled', attempts: 1 })
    if (inner.end.outcome === 'ok' && failsCall) {
      const content = notCompletedText(tool.name, failureText(failure.error))
      return withEnd(inner, { outcome: 'failed', content, code: 'tool_failed', attempts: 1 }, { thrown: failure.error })
    }
    if (returned === undefined || returned === inner.raw?.value || isQuestion(returned)) return inner
    if (inner.end.outcome === 'rejected') return answered(run, call, returned)
    return withEnd(inner, endOf(tool, returned, run.limits.takenResultBytes), { value: returned })
  }
}

function describeRunning(run: RunContext, call: RunningCall): RunningToolCall<never> {
  const { call: planned, idempotencyKey } = call
  const turn = describeCall(run, call)
  return Object.freeze({ ...turn, args: deepFreeze(turn.args), effect: planned.effect, idempotencyKey })
}

/** Returns the return value of the function, or its question. Throws the error of a failed call. */
function valueShown({ call, end, raw }: CallOutcome): unknown {
  if (end.outcome === 'ok') return raw?.value
  if (end.outcome === 'question') return end.question
  if (end.outcome === 'uncertain') throw new ToolloopError('tool_uncertain', uncertainText(call.prepared.tool.name))
  throw new ToolloopError(end.code, textOf(end.content), raw?.thrown === undefined ? {} : { cause: raw.thrown })
}

/** Returns the outcome with another end, but keeps the number of attempts. */
function withEnd(outcome: CallOutcome, end: ToolCallEnd, raw: CallOutcome['raw'] = outcome.raw): CallOutcome {
  const counted = 'attempts' in end && 'attempts' in outcome.end ? { ...end, attempts: outcome.end.attempts } : end
  return { ...outcome, end: counted, ...withoutUndefined({ raw }) }
}
