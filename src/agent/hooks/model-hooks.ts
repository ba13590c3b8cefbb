import { InvalidOptionError } from '../../core/errors.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { openModel } from '../../models/create-model.ts'
import { type ToolSet, ToolView } from '../../tools/registry.ts'
import { History } from '../conversation/history.ts'
import type { RunContext } from '../run/run-context.ts'
import type { Asked, ChangeTurn } from '../turn/model-call.ts'
import { askHook, isObject } from './ask-hook.ts'
import { placeOf } from './hook-place.ts'
import type { ModelEnding, ModelTurn, ModelTurnChange } from './hooks.ts'

/** What a turn asks, after the hooks have seen it. Rejects with a `HookFailure`. */
export function beforeModel(run: RunContext): ChangeTurn {
  return async (before, iteration) => {
    let asked = before
    for (const hook of run.agent.hooks ?? []) {
      if (hook.beforeModel === undefined) continue
      const changed = await askHook(run, hook, 'beforeModel', async () => {
        const change = await hook.beforeModel?.(described(run, asked, iteration))
        return isObject(change) ? { asked: changedBy(run, asked, change) } : undefined
      })
      if (changed !== undefined) asked = changed.asked
    }
    return asked
  }
}

function described(run: RunContext, { model, tools, messages, toolChoice }: Asked, iteration: number): ModelTurn<never> {
  return {
    ...placeOf(run, iteration),
    // A list of its own: the run's grows with the run.
    messages: Object.freeze([...messages]),
    tools: tools.names(),
    model,
    ...(toolChoice === undefined ? {} : { toolChoice }),
  }
}

const changeNames: OptionNames<ModelTurnChange> = { messages: true, tools: true, model: true, toolChoice: true }

/** Throws for a change that can't be made. */
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

/** The response's text after the hooks have seen it. Rejects with a `HookFailure`. */
export async function afterModel(run: RunContext, ending: ModelEnding<never>): Promise<string> {
  let { text } = ending
  for (const hook of (run.agent.hooks ?? []).toReversed()) {
    if (hook.afterModel === undefined) continue
    const change = await askHook(run, hook, 'afterModel', async () => {
      const change = await hook.afterModel?.({ ...ending, text })
      if (isObject(change) && typeof change.text !== 'string') throw new TypeError('Expected `text` to be a string')
      return change
    })
    if (change !== undefined) text = change.text
  }
  return text
}
