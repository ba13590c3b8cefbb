import { ModelError, messageOf, readableError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'
import type { CallIds, ScriptedTurn, TurnPlan } from '../script.ts'
import { planTurn } from '../script.ts'
import { framingsOf, type MockFault } from './fault.ts'
import { type BodyItem, type BodyPart, layOut } from './framing.ts'
import { changesLength, type OutgoingResponse } from './transfer.ts'
import type { MockWire, ReplyContext, WireFailure } from './wires/wire.ts'

/** A turn of the mock provider: a `ScriptedTurn`, sent in the wire format of the request. */
export interface MockTurn extends ScriptedTurn {
  /** The fault of this turn. Its fields override those of `faults`. */
  fault?: MockFault
}

/** A complete HTTP response, sent verbatim. */
export interface MockRawReply {
  /** The HTTP status. Default: 200. */
  status?: number
  /** The response headers. Default: the content type that fits the body. */
  headers?: Readonly<Record<string, string>>
  /** The body. An object is sent as JSON, and a text verbatim. */
  body: JsonObject | string
  fault?: MockFault
}

/** A streamed body that the script controls completely: the server adds no first or last event and no end mark. */
export interface MockEventsReply {
  /** The events. Each object is sent as one event with the usual framing of the format. A text is sent verbatim, without framing. */
  events: readonly (JsonObject | string)[]
  headers?: Readonly<Record<string, string>>
  fault?: MockFault
}

/** A recorded response, replayed with the format's framing and end mark. */
export interface MockRecordingReply {
  /**
   * The payloads of a stream: an array of JSON texts, or one text with a payload in each line, as in a `.jsonl` file. For a request without
   * streaming, the JSON of one complete response.
   */
  recording: string | readonly string[]
  fault?: MockFault
}

/** A reply of the script. A string is a turn with this text. */
export type MockReply = string | MockTurn | MockRawReply | MockEventsReply | MockRecordingReply

/** A response, and the promises that the server awaits before it sends the response. */
export interface PreparedResponse extends OutgoingResponse {
  before: readonly PromiseLike<unknown>[]
}

export interface AnswerContext extends ReplyContext {
  wire: MockWire
  streamed: boolean
  ids: CallIds
  pieceLength: number
}

export function faultOf(reply: MockReply): MockFault | undefined {
  return typeof reply === 'string' ? undefined : reply.fault
}

/** Creates the response for a reply of the script. Throws if the reply can't be sent to this request. */
export function prepareReply(reply: MockReply, fault: MockFault, about: AnswerContext): PreparedResponse {
  if (typeof reply === 'string') return prepareTurn({ text: reply }, fault, about)
  if ('events' in reply) return streamed(eventItems(reply.events), fault, about, reply.headers)
  if ('recording' in reply) return prepareRecording(reply.recording, fault, about)
  if ('body' in reply) return whole(reply.status ?? 200, reply.body, fault, reply.headers)
  return prepareTurn(reply, fault, about)
}

/** Creates the response for a fault that replaces the script's answer. */
export function prepareFault(fault: MockFault, wire: MockWire): PreparedResponse {
  if (fault.contextOverflow === true) {
    const message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
    return whole(400, wire.encodeError({ status: 400, message, kind: 'context_overflow' }), fault)
  }
  if (fault.jsonErrorWith200 !== undefined) {
    return whole(200, fault.jsonErrorWith200 === true ? wire.encodeError(serverError) : fault.jsonErrorWith200, fault)
  }
  if (fault.htmlError !== undefined && fault.htmlError !== false) {
    const status = fault.htmlError === true ? 502 : fault.htmlError
    return whole(status, `<!DOCTYPE html>\n<html><head><title>${status}</title></head><body><h1>Bad Gateway</h1></body></html>\n`, fault, {
      'content-type': 'text/html',
    })
  }
  const status = fault.status ?? 500
  return whole(status, fault.body ?? wire.encodeError({ status, message: `The mock provider was told to answer with ${status}` }), fault)
}

export function prepareJson(status: number, body: JsonObject): PreparedResponse {
  return whole(status, body, {})
}

/** Creates an error response for a thrown value. `status` is used if the error has no status of its own. */
export function prepareError(given: unknown, wire: Pick<MockWire, 'encodeError'>, status: number, fault: MockFault = {}): PreparedResponse {
  const thrown = readableError(given)
  const failure = failureOf(thrown, status)
  const waitMs = thrown instanceof ModelError ? thrown.retryAfterMs : undefined
  const retryAfter: Record<string, string> = waitMs === undefined ? {} : { 'retry-after': String(Math.ceil(waitMs / 1000)) }
  return whole(failure.status, wire.encodeError(failure), fault, { ...jsonType, ...retryAfter })
}

function prepareTurn(turn: ScriptedTurn, fault: MockFault, about: AnswerContext): PreparedResponse {
  const plan = planTurn(turn, about.ids, about.pieceLength)
  const pauses = plan.steps.flatMap((step) => (step.type === 'wait' ? [step.until] : []))
  const never = plan.end.type === 'hang' ? [new Promise(() => {})] : []
  const before = plan.before === undefined ? [] : [plan.before]
  const hasContent = plan.steps.some((step) => step.type !== 'wait')

  if (plan.end.type === 'error' && !(about.streamed && hasContent)) {
    return { ...prepareError(plan.end.error, about.wire, 500, fault), before: [...before, ...pauses] }
  }
  if (!about.streamed) {
    const body = fault.errorInStream === undefined ? about.wire.encodeWhole(plan, about) : streamError(fault, about.wire)
    return { ...whole(200, body, fault), before: [...before, ...pauses, ...never] }
  }
  return { ...streamed(turnItems(plan, fault, about), fault, about), before: hasContent ? before : [...before, ...pauses, ...never] }
}

function* turnItems(plan: TurnPlan, fault: MockFault, about: AnswerContext): Generator<BodyItem> {
  const encoder = about.wire.encodeStream(plan, about)
  yield* encoder.open().map(payloadItem)
  for (const step of plan.steps) {
    if (step.type === 'wait') yield step
    else yield* encoder.step(step).map(payloadItem)
  }
  yield { type: 'content-end' }
  if (fault.errorInStream !== undefined) yield payloadItem(streamError(fault, about.wire))
  else if (plan.end.type === 'error') yield payloadItem(about.wire.encodeStreamError(failureOf(plan.end.error, 500)))
  else if (plan.end.type === 'hang') yield { type: 'wait', until: new Promise(() => {}) }
  else {
    yield* encoder.finish().map(payloadItem)
    yield { type: 'end-mark' }
  }
}

function prepareRecording(recording: string | readonly string[], fault: MockFault, about: AnswerContext): PreparedResponse {
  if (!about.streamed) return whole(200, typeof recording === 'string' ? recording : recording.join('\n'), fault, jsonType)
  const texts = typeof recording === 'string' ? recording.split('\n') : recording
  const lines = texts.filter((text) => text.trim() !== '').map((text): BodyItem => ({ type: 'line', text }))
  const end: BodyItem = fault.errorInStream === undefined ? { type: 'end-mark' } : payloadItem(streamError(fault, about.wire))
  return streamed([...lines.slice(0, -1), { type: 'content-end' }, ...lines.slice(-1), end], fault, about)
}

function eventItems(events: readonly (JsonObject | string)[]): BodyItem[] {
  const items = events.map((event): BodyItem => (typeof event === 'string' ? { type: 'raw', text: event } : payloadItem(event)))
  return [...items.slice(0, -1), { type: 'content-end' }, ...items.slice(-1)]
}

function streamed(
  items: Iterable<BodyItem>,
  fault: MockFault,
  { wire }: AnswerContext,
  headers: Readonly<Record<string, string>> = {},
): PreparedResponse {
  const body = layOut(items, wire.layout, framingsOf(fault))
  return { status: 200, headers: { 'content-type': wire.layout.contentType, 'cache-control': 'no-cache', ...headers }, body, before: [] }
}

const jsonType = { 'content-type': 'application/json' }

function whole(
  status: number,
  body: JsonObject | string,
  fault: MockFault,
  headers: Readonly<Record<string, string>> = typeof body === 'string' ? { 'content-type': 'text/plain; charset=utf-8' } : jsonType,
): PreparedResponse {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const middle = bytes.length >> 1
  const parts: BodyPart[] = [
    { type: 'bytes', bytes: bytes.subarray(0, middle) },
    { type: 'content-end' },
    { type: 'bytes', bytes: bytes.subarray(middle) },
  ]
  const length: Record<string, string> = changesLength(fault) ? {} : { 'content-length': String(bytes.length) }
  return { status, headers: { ...headers, ...length }, body: parts, before: [] }
}

const serverError: WireFailure = { status: 500, message: 'The server had an error while processing your request' }

function streamError({ errorInStream }: MockFault, wire: MockWire): JsonObject {
  return typeof errorInStream === 'object' ? errorInStream : wire.encodeStreamError(serverError)
}

function failureOf(thrown: unknown, status: number): WireFailure {
  const known = thrown instanceof ModelError ? thrown : undefined
  return { status: known?.status ?? (known?.retryable === false ? 400 : status), message: messageOf(thrown) }
}

function payloadItem(payload: JsonObject): BodyItem {
  return { type: 'payload', payload }
}
