import { checkOptionNames, type OptionNames } from '../../../core/check-options.ts'
import { InvalidOptionError } from '../../../core/errors.ts'
import { withoutUndefined } from '../../../core/messages.ts'
import { openModel } from '../../../models/create-model.ts'
import { type ToolSet, ToolView } from '../../../tools/registry.ts'
import { HookFailure, stoppedBy } from '../../callbacks/callbacks.ts'
import type { ModelTurn, ModelTurnChange } from '../../callbacks/hooks.ts'
import { History } from '../../conversation/history.ts'
import { placeOf, type RunContext } from '../../run/run-context.ts'
import type { Decide, ReplyInPlan, RequestInPlan } from '../../types/plan.ts'
import { askCallback, isObject } from './ask-hook.ts'

/** Lets the `beforeModel` hooks and the entries of `plan` change a request, in order, until one of them stops the request. */
export function askBeforeRequest(run: RunContext): Decide<RequestInPlan> {
  return async (request) => {
    let asked = request
    for (const callback of run.agent.callbacks.plan.requests) {
      const decided = await askCallback(run, callback, async () => {
        const plan = await callback.ask(described(run, asked))
        if (!isObject(plan)) return undefined
        return 'stop' in plan ? { end: { stop: stoppedBy(`${callback.name}: ${String(plan.stop)}`) } } : changedBy(run, asked, plan)
      }).catch(stopByFailure)
      asked = { ...asked, ...decided }
      if (asked.end !== undefined) return asked
    }
    return asked.isLast ? { ...asked, toolChoice: 'none' } : asked
  }
}

/** Stops the run if a hook has failed. Rethrows any other error. */
function stopByFailure(error: unknown): Required<Pick<RequestInPlan, 'end'>> {
  if (error instanceof HookFailure) return { end: { stop: error } }
  throw error
}

function described(run: RunContext, { model, tools, messages, toolChoice, iteration }: RequestInPlan): ModelTurn<never> {
  return {
    ...placeOf(run, iteration),
    // The list is copied, because the run's list grows.
    messages: Object.freeze([...messages]),
    tools: tools.names(),
    model,
    ...withoutUndefined({ toolChoice }),
  }
}

const changeNames: OptionNames<ModelTurnChange> = { messages: true, tools: true, model: true, toolChoice: true }

/** Returns the fields that the plan changes. Throws for an invalid change. */
function changedBy(run: RunContext, asked: RequestInPlan, change: ModelTurnChange): Partial<RequestInPlan> {
  checkOptionNames(change, changeNames, '`beforeModel`')
  const { messages, tools, model, toolChoice } = change
  if (messages?.length === 0) throw new InvalidOptionError('messages', 'at least one message', messages)
  return {
    model: model === undefined ? asked.model : run.usable(openModel(model)),
    tools: tools === undefined ? asked.tools : new ToolView(run.agent.offered, { only: known(run.agent.offered, tools) }),
    messages: messages === undefined ? asked.messages : new History(messages).messages,
    toolChoice: toolChoice ?? asked.toolChoice,
  }
}

function known(tools: ToolSet, names: readonly string[]): readonly string[] {
  const unknown = names.find((name) => tools.get(name) === undefined)
  if (unknown !== undefined) throw new InvalidOptionError('tools', `names of the run’s tools (${tools.names().join(', ')})`, unknown)
  return names
}

/** Lets the `afterModel` hooks change the text of a reply, in order, until one of them fails. */
export function askAfterReply(run: RunContext): Decide<ReplyInPlan> {
  return async (reply) => {
    const { calls, meta, step } = reply
    const { finishReason, usage } = step
    const toolCalls = calls.map(({ id, function: call }) => ({ id, tool: call.name, rawArguments: call.arguments }))
    const ending = { ...placeOf(run, meta.iteration), toolCalls, finishReason, ...withoutUndefined({ usage }) }
    let said = reply
    for (const callback of run.agent.callbacks.plan.replies) {
      const decided = await askCallback(run, callback, async () => {
        const change = await callback.ask({ ...ending, text: said.text })
        if (!isObject(change)) return undefined
        if (typeof change.text !== 'string') throw new TypeError('Expected `text` to be a string')
        return { text: change.text }
      }).catch(stopByFailure)
      said = { ...said, ...decided }
      if (said.end !== undefined) return said
    }
    return said
  }
}
