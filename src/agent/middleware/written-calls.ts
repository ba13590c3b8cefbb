import type { Dialect } from '../../dialects/dialect.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { RunContext } from '../run/run-context.ts'
import { type CallForm, chooseCallForm } from '../text-calls/mode.ts'
import type { TextCallOptions, TextCalls, TextExchange } from '../text-calls/text-calls.ts'
import type { ModelCall, WrittenCalls } from '../types/model-call.ts'

/** The form of text calls in requests and responses. */
interface Opened {
  form: CallForm
  textCalls: Promise<TextCalls> | undefined
}

/** Finds the calls that a model writes as text. Their form is determined by the model's settings and those of the run. */
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

  /** If only tags are searched for, a text without `<` does not need the dialects. */
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

/** Importing a module again, even a loaded one, costs as much as the rest of a turn. */
function once<Module>(load: () => Promise<Module>): () => Promise<Module> | Module {
  let loaded: Module | undefined
  return () => loaded ?? load().then((module) => (loaded = module))
}

const loadTextCalls = once(() => import('../text-calls/text-calls.ts'))
const loadToolAction = once(() => import('../../dialects/formats/tool-action.ts'))
const loadRefusedCalls = once(() => import('../text-calls/refused-calls.ts'))
const loadDialects = once(() => import('../../dialects/index.ts'))

/** Loads only the dialects that the form needs. Loading all of them would be the slowest part of the start. */
export async function openTextCalls(form: CallForm, options: TextCallOptions): Promise<TextCalls> {
  const loaded = await loadTextCalls()
  return new loaded.TextCalls(form, await findDialectOf(form), options)
}

async function findDialectOf(form: CallForm): Promise<Dialect | undefined> {
  if (form.native && form.listenFor === undefined) return undefined
  if (form.native && form.listenFor === 'tags') return (await loadToolAction()).toolAction
  const { findDialect } = await loadDialects()
  if (!form.native) return findDialect(form.dialect)
  // Loads both dialects at once, because a model may need either.
  const [toolAction, salvage] = [findDialect('tool-action'), findDialect('salvage')]
  return {
    ...salvage,
    envelopes: [...toolAction.envelopes, ...salvage.envelopes],
    resultMarkers: [...toolAction.resultMarkers, ...salvage.resultMarkers],
  }
}
