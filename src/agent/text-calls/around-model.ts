import type { ChatModel } from '../../models/chat-model.ts'
import type { RunContext } from '../run/run-context.ts'
import type { AroundModel } from '../turn/model-call.ts'
import { type CallForm, chooseCallForm } from './mode.ts'
import type { TextCallOptions, TextCalls } from './text-calls.ts'

/** Lets a model write its calls as text, as its settings and the run's agree on; the loop sees ordinary calls. */
export function readTextCalls({ settings }: Pick<RunContext, 'settings'>): AroundModel {
  const opened = new Map<ChatModel, Promise<TextCalls>>()
  const textCallsFor = (model: ChatModel, hasTools: boolean): Promise<TextCalls> | undefined => {
    const form = chooseCallForm(settings, model)
    if (form.native && (form.listenFor === undefined || !hasTools)) return undefined
    const made = opened.get(model) ?? openTextCalls(form, settings)
    opened.set(model, made)
    return made
  }
  return async (call, next) => {
    const textCalls = await textCallsFor(call.model, call.request.tools !== undefined)
    const exchange = textCalls?.open(call.request, call.sink)
    call.turn.readBy(exchange)
    if (exchange === undefined) return next(call)
    return exchange.finish(await next({ ...call, request: exchange.request, sink: exchange.sink }))
  }
}

/** Loads the dialects: whoever only has native calls, and no tags, needs none of them. */
export async function openTextCalls(form: CallForm, options: TextCallOptions): Promise<TextCalls> {
  const { TextCalls } = await import('./text-calls.ts')
  return new TextCalls(form, options)
}
