import { checkOptionNames, type OptionNames } from '../../../core/check-options.ts'
import { InvalidOptionError } from '../../../core/errors.ts'
import { withoutUndefined } from '../../../core/messages.ts'
import { openModel } from '../../../models/create-model.ts'
import { type ToolSet, ToolView } from '../../../tools/registry.ts'
import { RequestStopped } from '../../callbacks/callbacks.ts'
import type { ModelEnding, ModelTurn, ModelTurnChange } from '../../callbacks/hooks.ts'
import { History } from '../../conversation/history.ts'
import { placeOf, type RunContext } from '../../run/run-context.ts'
import type { Asked, ChangeTurn } from '../../types/model-call.ts'
import { askCallback, isObject } from './ask-hook.ts'

/** Returns the request of a turn after hooks and entries have changed it. Rejects with a `HookFailure`, or with `RequestStopped`. */
export function beforeModel(run: RunContext): ChangeTurn {
  return async (before, iteration) => {
    let asked = before
    for (const callback of run.agent.callbacks.plan.requests) {
      const decided = await askCallback(run, callback, async () => {
        const plan = await callback.ask(described(run, asked, iteration))
        if (!isObject(plan)) return undefined
        return 'stop' in plan ? plan : { asked: changedBy(run, asked, plan) }
      })
      if (decided !== undefined && 'stop' in decided) throw new RequestStopped(callback.name, decided.stop)
      if (decided !== undefined) asked = decided.asked
    }
    return asked
  }
}

function described(run: RunContext, { model, tools, messages, toolChoice }: Asked, iteration: number): ModelTurn<never> {
  return {
    ...placeOf(run, iteration),
    // Copies the list, because the run's own grows.
    messages: Object.freeze([...messages]),
    tools: tools.names(),
    model,
    ...withoutUndefined({ toolChoice }),
  }
}

const changeNames: OptionNames<ModelTurnChange> = { messages: true, tools: true, model: true, toolChoice: true }

/** Throws for an invalid change. */
function changedBy(run: RunContext, asked: Asked, change: ModelTurnChange): Asked {
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

/** Returns the response's text after hooks have changed it. Rejects with a `HookFailure`. */
export async function afterModel(run: RunContext, ending: ModelEnding<never>): Promise<string> {
  let { text } = ending
  for (const callback of run.agent.callbacks.plan.replies) {
    const change = await askCallback(run, callback, async () => {
      const change = await callback.ask({ ...ending, text })
      if (isObject(change) && typeof change.text !== 'string') throw new TypeError('Expected `text` to be a string')
      return change
    })
    if (change !== undefined) text = change.text
  }
  return text
}
