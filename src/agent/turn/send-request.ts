import { ModelError } from '../../core/errors.ts'
import { withoutUndefined } from '../../core/messages.ts'
import { giveWay } from '../../core/time/give-way.ts'
import { abortedError, isModelError } from '../../models/chat-model.ts'
import { havingWaited, sumOfUsage, withReceived } from '../../models/usage.ts'
import type { RunContext } from '../run/run-context.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { AroundModel, AskModel, WrittenCalls } from '../types/model-call.ts'
import { isEmpty, takeResponse } from './check-response.ts'

/** An empty response is nearly always a hiccup, and there is nothing in it to go on with: it is asked for once more. */
export function askOnceMore(run: RunContext): AroundModel {
  return (next) => async (call) => {
    const { turn, model: asked } = call
    const first = await next({ ...call, sink: turn.open() })
    if (!isEmpty(first)) return first
    const { provider, model } = asked
    turn.usedBefore = first.usage
    run.logger.warn({ runId: run.runId, provider, model, finishReason: first.finishReason }, 'empty response, asking once more')
    turn.retry({ provider, model, errorCode: 'empty_response', error: 'The response was empty', delayMs: 0 })
    const again = await next({ ...call, sink: turn.open() })
    const usage = sumOfUsage(first.usage, again.usage)
    const whole = { ...again, ...withoutUndefined({ usage }), retries: (again.retries ?? 0) + 1 }
    const second = havingWaited(whole, first)
    // Of a text that was cut, there may be nothing more to say.
    if (!isEmpty(second) || call.continues) return second
    turn.usedBefore = second.usage
    const reason = second.rawFinishReason ?? second.finishReason
    const message = `The model answered twice with neither text nor calls (finish reason \`${reason}\`)`
    throw new ModelError('empty_response', message, { provider, model, retryable: false })
  }
}

/**
 * Lets a model write its calls as text; the loop sees ordinary ones. One that has native calls is read only where it made none of them: text
 * that nobody watches is not looked at before that is known.
 */
export function readWrittenCalls(run: RunContext, written: WrittenCalls): AroundModel {
  const isAuto = (run.settings.toolCalling ?? 'auto') === 'auto'
  return (next) => {
    const readingRefused: AskModel = (call) =>
      next({ ...call, sink: { ...call.sink, readRefused: (text) => written.readRefused(call, text) } })
    const readLive = written.readLive(readingRefused)
    const askUnwatched: AskModel = async (call) => {
      let response: ReadResponse
      try {
        response = await readingRefused(call)
      } catch (error) {
        const said = call.turn.partialText(isModelError(error) ? error.partial?.text : undefined)
        if (said !== '') await written.readBroken(call, said)
        throw error
      }
      return response.toolCalls.length > 0 || call.request.tools === undefined ? response : written.readWhole(call, response)
    }
    return (call) => (isAuto && call.model.capabilities.nativeTools && call.sink?.text === undefined ? askUnwatched : readLive)(call)
  }
}

/** Sends a request to its model, and checks the response. A model that ignores its signal is left behind when the run is interrupted. */
export function sendRequest(run: RunContext): AskModel {
  return async ({ model, request, sink, turn }) => {
    try {
      const asking = Promise.resolve(model.generate(request, turn.sink(sink)))
      const response = await run.untilInterrupted(asking)
      if (!run.signal.aborted) {
        // The responses of very many runs may come at once.
        await giveWay()
        return takeResponse(response, model, request)
      }
      // One that heeds its signal rejects at once, and tells what has come and what was used.
      await Promise.race([asking, new Promise(setImmediate)])
      throw abortedError(model.provider)
    } catch (error) {
      throw run.signal.aborted ? withReceived(error, request, turn.received) : error
    }
  }
}
