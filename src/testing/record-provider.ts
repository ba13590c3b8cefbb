import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { replaceFile } from '../core/files/replace-file.ts'
import { jsonIn } from '../core/json.ts'
import { isJsonObject } from '../core/messages.ts'
import { redactText, secretsIn } from '../core/redaction/redact.ts'
import { SecretTexts } from '../core/redaction/secret-texts.ts'
import { EventStream } from '../models/streaming/response-body.ts'

/** The options of `recordProvider`. */
export interface RecordProviderOptions {
  /** The function that sends the requests. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Texts that must not be in a recording. API keys in request headers, and texts that look like API keys, are always removed. */
  secrets?: Iterable<string>
}

const optionNames: OptionNames<RecordProviderOptions> = { fetch: true, secrets: true }

/** Records the responses of a provider. */
export interface ProviderRecorder {
  /** The function to pass as the `fetch` of a model. */
  readonly fetch: typeof globalThis.fetch
  /**
   * The responses so far, in the order of their requests, in the form that `startMockProvider` accepts. A stream is recorded as the
   * payloads of the events that have arrived. A complete response is recorded as its JSON, once it has ended. Failed and refused requests
   * are not included.
   */
  readonly recordings: string[][]
  /**
   * Writes the recordings as `1.jsonl`, `2.jsonl`, … to a folder, which is created if necessary. Only the owner can read the files.
   * Resolves with their paths.
   */
  save(folder: string): Promise<string[]>
}

/**
 * Records a provider's successful responses, without secrets, so that the mock provider can replay them. Requests are not recorded.
 *
 * ```ts
 * const recorder = recordProvider()
 * const model = createModel({ provider: 'openai', model: 'gpt-6.1-sol', fetch: recorder.fetch })
 * await new AgentRunner({ model, tools }).run('What is 2 + 3?')
 * await recorder.save('recordings/sum')
 * ```
 */
export function recordProvider(options: RecordProviderOptions = {}): ProviderRecorder {
  checkOptionNames(options, optionNames, '`recordProvider`')
  const secrets = new SecretTexts(options.secrets)
  const exchanges: (string[] | undefined)[] = []
  const recordings = () => exchanges.filter((payloads) => payloads !== undefined).map((payloads) => withoutSecrets(payloads, secrets))
  return {
    async fetch(input, init) {
      for (const key of keysOf(new Request(input, { ...init, body: null }).headers)) secrets.add(key)
      const at = exchanges.push(undefined) - 1
      const response = await (options.fetch ?? globalThis.fetch)(input, init)
      const { body, status, statusText, headers } = response
      if (!response.ok || body === null) return response
      const isStream = headers.get('content-type')?.includes('event-stream') === true
      const noted = body.pipeThrough(
        noting(isStream, (payloads) => {
          exchanges[at] = payloads
        }),
      )
      return new Response(noted, { status, statusText, headers })
    },
    get recordings() {
      return recordings()
    },
    async save(folder) {
      await mkdir(folder, { recursive: true })
      const files = recordings().map((payloads, index) => ({ path: join(folder, `${index + 1}.jsonl`), text: `${payloads.join('\n')}\n` }))
      for (const { path, text } of files) await replaceFile(path, text)
      return files.map(({ path }) => path)
    },
  }
}

/** Returns the API keys in a request's headers. */
function keysOf(headers: Headers): string[] {
  const names = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']
  return names.flatMap((name) => headers.get(name)?.replace(/^Bearer\s+/i, '') ?? []).filter((key) => key.length >= 8)
}

/** Passes a body through unchanged. Calls `begun` with the list of payloads so far whenever a payload arrives. */
function noting(isStream: boolean, begun: (payloads: string[]) => void): TransformStream<Uint8Array, Uint8Array> {
  const payloads: string[] = []
  const chunks: Uint8Array[] = []
  const note = (payload: string) => {
    payloads.push(payload)
    begun(payloads)
  }
  const events = new EventStream({
    onEvent({ data }) {
      // The end mark is not recorded, because the mock provider sends it itself.
      if (data !== '[DONE]') note(data)
    },
  })
  const end = () => {
    if (isStream) events.end()
    else note(oneLine(Buffer.concat(chunks).toString('utf8')))
  }
  return new TransformStream({
    transform(chunk, controller) {
      if (isStream) events.push(chunk)
      else chunks.push(chunk)
      controller.enqueue(chunk)
    },
    flush: end,
    cancel: end,
  })
}

function oneLine(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

/** A streamed text, and the field of the payload that contains each piece. */
interface PiecedText {
  text: string
  owners: { holder: Record<string, unknown>; key: string }[]
}

/** Removes secrets. If a secret is spread over several payloads, the redacted text is moved into the first of them. */
function withoutSecrets(payloads: readonly string[], secrets: SecretTexts): string[] {
  const values = payloads.map(jsonIn)
  const texts = new Map<string, PiecedText>()
  for (const value of values) if (isJsonObject(value)) collect(value, placeOf(value), texts)
  for (const { text, owners } of texts.values()) {
    if (owners.length < 2 || secretsIn(text, secrets).length === 0) continue
    for (const [at, { holder, key }] of owners.entries()) holder[key] = at === 0 ? redactText(text, secrets) : ''
  }
  return payloads.map((payload, at) => redactText(values[at] === undefined ? payload : JSON.stringify(values[at]), secrets))
}

/** Returns the same key for all payloads of one part of the response. */
function placeOf({ type, index, output_index }: Record<string, unknown>): string {
  return JSON.stringify([type, index, output_index])
}

function collect(value: object, place: string, texts: Map<string, PiecedText>): void {
  for (const [key, item] of Object.entries(value)) {
    const at = `${place}.${key}`
    if (typeof item === 'object' && item !== null)
      collect(item, isJsonObject(item) && 'index' in item ? `${at}#${String(item.index)}` : at, texts)
    if (typeof item !== 'string') continue
    const found = texts.get(at) ?? { text: '', owners: [] }
    found.text += item
    found.owners.push({ holder: value as Record<string, unknown>, key })
    texts.set(at, found)
  }
}
