import type { Dialect } from '../../dialects/dialect.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { RunContext } from '../run/run-context.ts'
import type { AroundModel, AskModel, ModelCall } from '../turn/model-call.ts'
import { type CallForm, chooseCallForm } from './mode.ts'
import type { ReadResponse } from './read-call.ts'
import type { TextCallOptions, TextCalls } from './text-calls.ts'

/** How calls reach a model and come back. */
interface Opened {
  form: CallForm
  textCalls?: Promise<TextCalls>
}

/** Lets a model write its calls as text, as its settings and the run's agree on; the loop sees ordinary calls. */
export function readTextCalls({ settings }: Pick<RunContext, 'settings'>): AroundModel {
  const known = new Map<ChatModel, Opened>()
  return async (call, next) => {
    const { model, request, sink, turn } = call
    const opened: Opened = known.get(model) ?? { form: chooseCallForm(settings, model) }
    known.set(model, opened)
    const { form } = opened
    if (form.native && (form.listenFor === undefined || request.tools === undefined)) return next(call)
    opened.textCalls ??= openTextCalls(form, settings)
    const textCalls = await opened.textCalls
    if (form.native && sink?.text === undefined) return readUnwatched(textCalls, call, next)
    const exchange = textCalls.open(request, sink)
    if (exchange === undefined) return next(call)
    turn.readBy(exchange)
    return exchange.finish(await next({ ...call, request: exchange.request, sink: exchange.sink }))
  }
}

/** Beside native calls, text that nobody watches is searched only when the response is there, and has no native call. */
async function readUnwatched(textCalls: TextCalls, call: ModelCall, next: AskModel): Promise<ReadResponse> {
  const open = () => textCalls.open(call.request, call.sink)
  call.turn.readBy({ partOf: (text) => open()?.partOf(text) ?? text })
  const response = await next(call)
  return response.toolCalls.length > 0 ? response : (open()?.finish(response) ?? response)
}

/** Loads what the form needs: a start that waited for all dialects would wait for them longer than for anything else of ours. */
export async function openTextCalls(form: CallForm, options: TextCallOptions): Promise<TextCalls> {
  const [{ TextCalls }, dialect] = await Promise.all([import('./text-calls.ts'), loadDialect(form)])
  return new TextCalls(form, dialect, options)
}

async function loadDialect(form: CallForm): Promise<Dialect | undefined> {
  if (form.native && form.listenFor === undefined) return undefined
  if (form.native && form.listenFor === 'tags') return (await import('../../dialects/formats/tool-action.ts')).toolAction
  const { findDialect } = await import('../../dialects/index.ts')
  if (!form.native) return findDialect(form.dialect)
  // Both at once, for models that are listened to for either reason.
  const [toolAction, salvage] = [findDialect('tool-action'), findDialect('salvage')]
  return {
    ...salvage,
    envelopes: [...toolAction.envelopes, ...salvage.envelopes],
    resultMarkers: [...toolAction.resultMarkers, ...salvage.resultMarkers],
  }
}
