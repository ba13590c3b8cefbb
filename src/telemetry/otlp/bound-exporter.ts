import { messageOf } from '../../core/errors.ts'

interface Result {
  /** The outcome of an export. 0 means success. */
  code: number
  error?: Error
}

/** The common interface of the SDK's exporters for spans and metrics. */
interface Exporter<Items> {
  export(items: Items, done: (result: Result) => void): void
  forceFlush?(): Promise<void>
  shutdown(): Promise<void>
}

interface Bounds<Items> {
  /** Splits items into several requests, because encoding a large request would block the event loop. */
  split?(items: Items): readonly Items[]
  /**
   * The time limit of a request, including its retries, in milliseconds. The limit is needed because the SDK waits without limit for a
   * response that never ends.
   */
  timeoutMs: number
  /** Maximum number of requests that are waiting or in progress. Default: unlimited. */
  mostWaiting?: number
  /** Ends all requests, including the waiting ones, without a response. */
  stop: AbortSignal
  /** Called when the export of these items has ended. `failure` is the reason if the export failed. */
  ended(items: Items, failure?: string): void
}

/**
 * Changes an exporter so that it sends one request at a time, each within a time limit. Failures are reported only to `ended`. The SDK is
 * told immediately that each export has succeeded, because it would otherwise wait with a timer that keeps the process running.
 */
export function boundExporter<Items, Own extends Exporter<Items>>(exporter: Own, bounds: Bounds<Items>): Own {
  const { split = (items) => [items], timeoutMs, mostWaiting = Number.POSITIVE_INFINITY, stop, ended } = bounds
  const send = exporter.export.bind(exporter)
  const sendPart = async (items: Items): Promise<void> => {
    const limit = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)])
    const late = Promise.withResolvers<never>()
    const giveUp = () =>
      late.reject(new Error(stop.aborted ? 'no response before telemetry was closed' : `no response within ${timeoutMs} ms`))
    if (limit.aborted) giveUp()
    limit.addEventListener('abort', giveUp, { once: true })
    try {
      const { code, error } = await Promise.race([late.promise, new Promise<Result>((done) => send(items, done))])
      ended(items, code === 0 ? undefined : reasonOf(error))
    } catch (error) {
      ended(items, reasonOf(error))
    } finally {
      limit.removeEventListener('abort', giveUp)
    }
  }
  let waiting = 0
  let last = Promise.resolve()
  const enqueue = (items: Items): void => {
    waiting++
    last = last.then(() => sendPart(items)).finally(() => waiting--)
  }
  exporter.export = (items, done) => {
    for (const part of split(items)) {
      if (waiting < mostWaiting) enqueue(part)
      else ended(part, 'too many requests wait')
    }
    done({ code: 0 })
  }
  exporter.forceFlush = () => last
  exporter.shutdown = () => last
  return exporter
}

function reasonOf(error: unknown): string {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: unknown }
  const status = typeof code === 'number' ? `status ${code}: ` : ''
  // Shows the response only if it is readable text, not protobuf.
  const said = typeof data === 'string' && /^[\x20-\x7e\s]+$/.test(data) ? `: ${data.trim()}` : ''
  return `${status}${messageOf(error)}${said}`
}
