import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { messageOf } from '../../core/errors.ts'
import { redactText } from '../../core/redaction/redact.ts'
import type { OtlpMessage } from './encode.ts'
import type { Target } from './settings.ts'

const compress = promisify(gzip)
/** How often a request is made at most, and how long is waited before the second; twice as long before each that follows. */
const maxTries = 5
const firstDelayMs = 1_000
const maxDelayMs = 30_000
/** Statuses after which a request may be made again. https://opentelemetry.io/docs/specs/otlp/#failures-1 */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** Most of what is told of a failure. */
const longestReason = 250
/** Most of a response that is read. */
const maxResponseBytes = 16_384

/** Sends messages to one address, one after the other. */
export class OtlpSender {
  readonly #target: Target
  readonly #toProtobuf: (message: OtlpMessage) => Buffer
  readonly #failed: (reason: string) => void
  /** What the headers hold, such as a key, also without the word before it: a collector or `fetch` may quote it. */
  readonly #secrets: readonly string[]

  /** `failed` is told of everything that did not arrive. */
  constructor(target: Target, toProtobuf: (message: OtlpMessage) => Buffer, failed: (reason: string) => void) {
    this.#target = target
    this.#toProtobuf = toProtobuf
    this.#failed = failed
    this.#secrets = Object.values(target.headers).flatMap((value) => [value, value.replace(/^\w+\s+/, '')])
  }

  /** Resolves when it has arrived, with true, or is given up, at the latest when `stop` is aborted; never rejects. */
  async send(message: OtlpMessage, stop: AbortSignal): Promise<boolean> {
    try {
      const { format, compresses } = this.#target
      const plain = format === 'json' ? Buffer.from(JSON.stringify(message)) : this.#toProtobuf(message)
      const body = compresses ? await compress(plain) : plain
      for (let tries = 1; ; tries++) {
        const failure = await this.#post(body, stop)
        if (failure === undefined) return true
        if (failure.again === undefined || tries === maxTries || stop.aborted) return this.#giveUp(failure.reason)
        // All that wait must not come back at once.
        const delay = Math.max(failure.again, firstDelayMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2))
        await wait(Math.min(delay, maxDelayMs), undefined, { signal: stop, ref: false }).catch(() => {})
        if (stop.aborted) return this.#giveUp(failure.reason)
      }
    } catch (error) {
      return this.#giveUp(messageOf(error))
    }
  }

  #giveUp(reason: string): false {
    this.#failed(redactText(reason, this.#secrets).slice(0, longestReason))
    return false
  }

  /** `again`: it may be sent once more, in so many milliseconds. */
  async #post(body: Buffer, stop: AbortSignal): Promise<{ reason: string; again?: number } | undefined> {
    const { url, headers, timeoutMs, compresses, format } = this.#target
    const late = AbortSignal.timeout(timeoutMs)
    try {
      const response = await fetch(url, {
        method: 'POST',
        body: new Uint8Array(body),
        headers: {
          ...headers,
          'content-type': format === 'json' ? 'application/json' : 'application/x-protobuf',
          ...(compresses ? { 'content-encoding': 'gzip' } : {}),
        },
        // The headers may have a key, which is for this address alone.
        redirect: 'manual',
        signal: AbortSignal.any([late, stop]),
      })
      const text = await beginningOf(response)
      if (response.ok) return refusedIn(response, text)
      const reason = `status ${response.status}${/^[\x20-\x7e\s]+$/.test(text) ? `: ${text.trim()}` : ''}`
      if (!retryable.has(response.status)) return { reason }
      return { reason, again: (Number(response.headers.get('retry-after')) || 0) * 1_000 }
    } catch (error) {
      if (late.aborted) return { reason: `no response within ${timeoutMs} ms`, again: 0 }
      const { cause } = error as { cause?: unknown }
      return { reason: messageOf(cause ?? error), again: 0 }
    }
  }
}

/** The rest of a long response is not read. */
async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return ''
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    parts.push(part)
    bytes += part.length
    if (bytes > maxResponseBytes) break
  }
  return Buffer.concat(parts).toString('utf8', 0, maxResponseBytes)
}

/** A collector may take a request and say that it has refused a part of it: the message is the text in its answer. */
function refusedIn({ headers }: Response, text: string): { reason: string } | undefined {
  const isProtobuf = headers.get('content-type')?.startsWith('application/x-protobuf') === true
  const [, message] = (isProtobuf ? /([\x20-\x7e]{4,})/ : /"errorMessage"\s*:\s*"((?:[^"\\]|\\.)+)"/).exec(text) ?? []
  return message === undefined ? undefined : { reason: `a part was refused: ${message}` }
}
