import type { ChatModel } from '../../models/chat-model.ts'
import type { RunContext } from '../run/run-context.ts'
import { once, openTextCalls } from '../text-calls/load-text-calls.ts'
import { type CallForm, chooseCallForm } from '../text-calls/mode.ts'
import type { TextCalls, TextExchange } from '../text-calls/text-calls.ts'
import type { ModelCall, WrittenCalls } from '../types/model-call.ts'

const loadRefusedCalls = once(() => import('../text-calls/refused-calls.ts'))

/** How a model writes its calls. `textCalls`: reads calls that are written as text. */
interface Opened {
  form: CallForm
  textCalls: Promise<TextCalls> | undefined
}

/** Finds the calls that a model writes as text. The settings of the model and of the run determine the form of these calls. */
export function findWrittenCalls({ settings }: Pick<RunContext, 'settings'>): WrittenCalls {
  const known = new Map<ChatModel, Opened>()

  const openedFor = (model: ChatModel): Opened => {
    const opened: Opened = known.get(model) ?? { form: chooseCallForm(settings, model), textCalls: undefined }
    known.set(model, opened)
    return opened
  }
  const open = async ({ model, request }: ModelCall, sink: ModelCall['sink']): Promise<TextExchange | undefined> => {
    const opened = openedFor(model)
    const { form } = opened
    if (form.native && (form.listenFor === undefined || request.tools === undefined)) return undefined
    opened.textCalls ??= openTextCalls(form, settings)
    return (await opened.textCalls).open(request, sink)
  }

  /** Whether the text may contain calls. If only tags are searched for, a text without `<` contains no calls. */
  const mayHoldTags = ({ model }: ModelCall, text: string): boolean => {
    const { form } = openedFor(model)
    return !form.native || form.listenFor !== 'tags' || text.includes('<')
  }

  return {
    readLive: (next) => async (call) => {
      const exchange = await open(call, call.sink)
      if (exchange === undefined) return next(call)
      call.turn.readBy(exchange)
      return exchange.finish(await next({ ...call, request: exchange.request, sink: exchange.sink }))
    },
    readWhole: async (call, response) => {
      const exchange = mayHoldTags(call, response.text) ? await open(call, call.sink) : undefined
      return exchange?.finish(response) ?? response
    },
    readBroken: async (call, text) => {
      const exchange = mayHoldTags(call, text) ? await open(call, undefined) : undefined
      if (exchange !== undefined) call.turn.readBy(exchange)
    },
    readRefused: async (call, text) => {
      if (settings.enableToolActionParsing === false) return undefined
      const { readRefusedCalls } = await loadRefusedCalls()
      const meant = await readRefusedCalls(call, text)
      if (meant === undefined) return undefined
      if (meant.text !== '') call.sink?.text?.(meant.text)
      meant.toolCalls.forEach(({ id, function: { name, arguments: json } }, index) => {
        call.sink?.toolCallStart?.(index, id, name)
        call.sink?.toolCallDelta?.(index, json)
      })
      return meant
    },
  }
}
