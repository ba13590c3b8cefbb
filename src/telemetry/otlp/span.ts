import { messageOf } from '../../core/errors.ts'
import type { Attributes, AttributeValue, Link, Span, SpanContext, SpanKind, SpanOptions, SpanStatus, TimeInput } from '../api.ts'
import { keyValues, nanosecondsOf, sizeOf } from './attributes.ts'
import type { OtlpMessage } from './encode.ts'

/** Most attributes, events and links of a span: the standard's own limits. */
const most = 128
/** https://opentelemetry.io/docs/specs/otlp/: it is known whether the parent is of another process, and it is. */
const [knownRemote, isRemote] = [0x100, 0x200]

/** A span that is exported when it has ended. */
export class OtlpSpan implements Span {
  readonly scope: string
  readonly #context: SpanContext
  readonly #parent: SpanContext | undefined
  readonly #kind: SpanKind
  readonly #startedAt: string
  readonly #attributes: Attributes = {}
  readonly #events: { name: string; at: string; attributes: Attributes }[] = []
  readonly #links: Link[] = []
  readonly #ended: (span: OtlpSpan) => void
  #name: string
  #status: SpanStatus | undefined
  #endedAt: string | undefined
  #dropped = { attributes: 0, events: 0 }

  constructor(
    scope: string,
    name: string,
    { kind = 0, attributes = {}, links = [], startTime }: SpanOptions,
    { context, parent, ended }: { context: SpanContext; parent: SpanContext | undefined; ended: (span: OtlpSpan) => void },
  ) {
    this.scope = scope
    this.#name = name
    this.#kind = kind
    this.#context = context
    this.#parent = parent
    this.#ended = ended
    this.#startedAt = nanosecondsOf(startTime)
    this.setAttributes(attributes)
    this.addLinks(links)
  }

  /** How many characters it takes up, roughly. */
  get size(): number {
    return 200 + sizeOf(this.#attributes) + this.#events.reduce((sum, { name, attributes }) => sum + name.length + sizeOf(attributes), 0)
  }

  spanContext(): SpanContext {
    return this.#context
  }

  isRecording(): boolean {
    return this.#endedAt === undefined
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (!this.isRecording()) return this
    if (!Object.hasOwn(this.#attributes, key) && Object.keys(this.#attributes).length >= most) this.#dropped.attributes++
    else this.#attributes[key] = value
    return this
  }

  setAttributes(attributes: Attributes): this {
    for (const [key, value] of Object.entries(attributes)) if (value !== undefined) this.setAttribute(key, value)
    return this
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    if (!this.isRecording()) return this
    const isTime = typeof attributesOrTime === 'number' || attributesOrTime instanceof Date || Array.isArray(attributesOrTime)
    const at = nanosecondsOf(isTime ? (attributesOrTime as TimeInput) : time)
    if (this.#events.length >= most) this.#dropped.events++
    else this.#events.push({ name, at, attributes: isTime ? {} : ((attributesOrTime as Attributes | undefined) ?? {}) })
    return this
  }

  addLink(link: Link): this {
    return this.addLinks([link])
  }

  addLinks(links: Link[]): this {
    if (this.isRecording()) this.#links.push(...links.slice(0, most - this.#links.length))
    return this
  }

  setStatus(status: SpanStatus): this {
    if (this.isRecording()) this.#status = status
    return this
  }

  updateName(name: string): this {
    if (this.isRecording()) this.#name = name
    return this
  }

  recordException(error: unknown, time?: TimeInput): void {
    const { name, stack } = error instanceof Error ? error : { name: 'Error', stack: undefined }
    const attributes = { 'exception.type': name, 'exception.message': messageOf(error) }
    this.addEvent('exception', { ...attributes, ...(stack === undefined ? {} : { 'exception.stacktrace': stack }) }, time)
  }

  end(time?: TimeInput): void {
    if (!this.isRecording()) return
    this.#endedAt = nanosecondsOf(time)
    this.#ended(this)
  }

  toOtlp(): OtlpMessage {
    const { traceId, spanId, traceFlags, traceState } = this.#context
    const state = traceState?.serialize()
    const remote = this.#parent?.isRemote === true ? isRemote : 0
    return {
      traceId,
      spanId,
      ...(state ? { traceState: state } : {}),
      ...(this.#parent === undefined ? {} : { parentSpanId: this.#parent.spanId }),
      flags: traceFlags | knownRemote | remote,
      name: this.#name,
      // Its numbers begin at 1.
      kind: this.#kind + 1,
      startTimeUnixNano: this.#startedAt,
      endTimeUnixNano: this.#endedAt ?? this.#startedAt,
      attributes: keyValues(this.#attributes),
      droppedAttributesCount: this.#dropped.attributes,
      events: this.#events.map(({ name, at, attributes }) => ({ timeUnixNano: at, name, attributes: keyValues(attributes) })),
      droppedEventsCount: this.#dropped.events,
      links: this.#links.map(({ context, attributes = {} }) => ({
        traceId: context.traceId,
        spanId: context.spanId,
        flags: context.traceFlags,
        attributes: keyValues(attributes),
      })),
      ...(this.#status === undefined ? {} : { status: { ...this.#status } }),
    }
  }
}
