import { show } from '../../../core/errors.ts'
import { isJsonObject, noUsage, type Usage, withoutUndefined } from '../../../core/messages.ts'
import { abortedError, type ModelResponse, type ModelSink } from '../../../models/chat-model.ts'
import { usageOfFailure } from '../../../models/usage.ts'
import { type Callbacks, HookFailure } from '../../callbacks/callbacks.ts'
import type { SentRequest } from '../../callbacks/hooks.ts'
import { placeOf, type RunContext } from '../../run/run-context.ts'
import { isEmpty, takeResponse } from '../../turn/model-turn.ts'
import type { AroundModel, AskModel, ModelCall } from '../../types/model-call.ts'
import { askAround } from './ask-around.ts'
import { failsClosed } from './ask-hook.ts'

/** Wraps a request with the hooks. The first hook is the outermost. */
export function standAroundRequest(run: RunContext): AroundModel {
  return (next) => run.agent.callbacks.around.requests.reduceRight((inner, callback) => surround(run, callback, inner), next)
}

/** The result of a request. */
type Outcome = { response: ModelResponse; error?: never } | { response?: never; error: unknown }

function surround(run: RunContext, callback: Callbacks['around']['requests'][number], next: AskModel): AskModel {
  return async (call) => {
    let sent: Outcome | undefined
    const watched = { isShown: false }
    const { inner, returned, failure, isLeft } = await askAround(run, {
      ask: async (proceed: () => Promise<ModelResponse>) => {
        const given = await callback.ask(describeRequest(run, call), proceed)
        return given === undefined ? given : responseOf(given, call, sent)
      },
      proceed: async () => {
        sent = await outcomeOf(next({ ...call, sink: call.sink && inThisContext(call.sink, watched) }))
        return sent
      },
      show: ({ response, error }): ModelResponse => {
        if (response === undefined) throw error
        return copyOf(response)
      },
    })
    if (failure !== undefined && failsClosed(run, callback, failure.error)) throw new HookFailure(callback, failure.error, usageOf(inner))
    if (returned === undefined) {
      if (inner === undefined && isLeft) throw abortedError(call.model.provider)
      if (inner === undefined) return next(call)
      if (inner.response === undefined) throw inner.error
      return inner.response
    }
    if (inner?.response === undefined && !watched.isShown) tellPieces(call, returned)
    return returned
  }
}

/** A copy of the response for the hook. If the hook fails and is skipped, its changes to the copy have no effect. */
function copyOf(response: ModelResponse): ModelResponse {
  return { ...response, toolCalls: response.toolCalls.map((call) => ({ ...call, function: { ...call.function } })) }
}

function describeRequest(run: RunContext, { model, request, iteration }: ModelCall): SentRequest<never> {
  const { messages, tools } = request
  // The lists are copied, because the run's messages grow and the tools belong to the registry.
  const lists = { messages: Object.freeze([...messages]), tools: tools && Object.freeze([...tools]) }
  return Object.freeze({ ...request, ...lists, model, ...placeOf(run, iteration) })
}

function outcomeOf(response: Promise<ModelResponse>): Promise<Outcome> {
  return response.then(
    (whole) => ({ response: whole }),
    (error: unknown) => ({ error }),
  )
}

/**
 * Checks the response that a hook returned. Throws if the value is not a response. An empty response is valid only if the model's response
 * was empty too.
 */
function responseOf(given: ModelResponse, { model, request }: ModelCall, sent: Outcome | undefined): ModelResponse {
  const response = isJsonObject(given) ? takeResponse(withUsageOf(given, sent), model, request) : undefined
  const isPassedOn = sent?.response !== undefined && isEmpty(sent.response)
  if (response === undefined || (isEmpty(response) && !isPassedOn))
    throw new TypeError(`Expected a response with \`text\` or \`toolCalls\`, or nothing, got \`${show(given)}\``)
  return response
}

/** If the response has no usage, adds the usage of the sent request. If no request was sent, adds zero usage. */
function withUsageOf(given: ModelResponse, sent: Outcome | undefined): ModelResponse {
  if (given.usage !== undefined) return given
  return { ...given, usage: usageOf(sent) ?? noUsage }
}

function usageOf(sent: Outcome | undefined): Usage | undefined {
  if (sent?.response !== undefined) return sent.response.usage
  return sent?.error instanceof HookFailure ? sent.error.usage : usageOfFailure(sent?.error)
}

/** Returns a sink that calls its listeners in the hook's asynchronous context instead of the connection's. */
function inThisContext(sink: ModelSink, watched: { isShown: boolean }): ModelSink {
  const { AsyncLocalStorage } = process.getBuiltinModule('node:async_hooks')
  const inContext = AsyncLocalStorage.snapshot()
  const bind = <Piece extends unknown[]>(tell: (...piece: Piece) => void) => {
    return (...piece: Piece): void => {
      watched.isShown = true
      inContext(tell, ...piece)
    }
  }
  const { text, reasoning, toolCallStart, toolCallDelta } = sink
  const restart = () => {
    watched.isShown = false
    return sink.restart?.() === true
  }
  return {
    ...sink,
    restart,
    ...withoutUndefined({
      text: text && bind(text),
      reasoning: reasoning && bind(reasoning),
      toolCallStart: toolCallStart && bind(toolCallStart),
      toolCallDelta: toolCallDelta && bind(toolCallDelta),
    }),
  }
}

/** Emits the pieces of a response that was not streamed, as if it had been streamed. */
function tellPieces({ turn, sink }: ModelCall, { text, reasoning = '', toolCalls }: ModelResponse): void {
  const heard = turn.sink(sink)
  heard.reasoning?.(reasoning)
  heard.text?.(text)
  for (const [index, { id, function: written }] of toolCalls.entries()) {
    heard.toolCallStart?.(index, id, written.name)
    heard.toolCallDelta?.(index, written.arguments)
  }
}
