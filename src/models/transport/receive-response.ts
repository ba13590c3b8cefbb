import type { ModelError } from '../../core/errors.ts'
import type { ModelRequest } from '../chat-model.ts'
import type { ModelSettings } from '../settings.ts'
import { type ExchangeEnd, exchange } from './http-exchange.ts'
import { type ErrorContext, responseError } from './provider-error.ts'
import { ResponseBody, type ResponseReader } from './response-body.ts'

/** Longest silence by default, in milliseconds. A whole response is silent until it is written. */
const defaultIdleMs = 60_000
const defaultWholeMs = 600_000

/** A reader that knows whether what it has read is a response. */
export interface FinishableReader extends ResponseReader {
  readonly hasFinished: boolean
}

/**
 * Makes one request and feeds its response to `reader`, which may be asked for the result afterwards. Returns warnings. Rejects with a
 * `ModelError`: what `send` or the reader threw, `aborted`, `stream_idle`, or `stream_cut` for a response that never finished.
 */
export async function receiveResponse(
  reader: FinishableReader,
  request: Pick<ModelRequest, 'signal' | 'stream' | 'streamIdleTimeoutMs'>,
  settings: Pick<ModelSettings, 'provider' | 'streamIdleTimeoutMs'>,
  send: (signal: AbortSignal) => Promise<Response>,
): Promise<string[]> {
  const body = new ResponseBody(reader)
  const idleMs = request.streamIdleTimeoutMs ?? settings.streamIdleTimeoutMs ?? (request.stream === false ? defaultWholeMs : defaultIdleMs)
  const end = await exchange({
    provider: settings.provider,
    signal: request.signal,
    idleMs,
    send,
    read: (bytes) => body.push(bytes),
  })
  if (end.how === 'whole') body.end()
  if (!reader.hasFinished) throw unfinished(end, reader.context())
  return end.how === 'whole' ? [] : ['The connection did not end properly after the response was complete']
}

function unfinished(end: ExchangeEnd, context: ErrorContext): ModelError {
  const expected = 'the rest of a response'
  const before = context.partial === undefined ? 'before anything came' : 'after a part of it'
  switch (end.how) {
    case 'silent':
      return responseError('stream_idle', expected, `nothing for ${end.idleMs} ms, ${before}`, context, { retryable: true })
    case 'broken':
      return responseError('stream_cut', expected, `a broken connection ${before}`, context, { retryable: true, cause: end.cause })
    case 'whole':
      return responseError('stream_cut', expected, `its end without a finish reason, ${before}`, context, { retryable: true })
  }
}
