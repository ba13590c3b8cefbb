import { callUnawaited } from '../../core/callbacks/callbacks.ts'
import { channels, copyForListener, type EventBus } from '../../core/callbacks/event-bus.ts'
import { messageOf } from '../../core/errors.ts'
import { Event, type EventMeta, type EventName, type EventPayloads, type EventPlace, type RunEvent } from '../../core/events.ts'
import type { Logger } from '../../core/logger.ts'
import type { SecretTexts } from '../../core/redaction/secret-texts.ts'
import type { EventTap } from '../types/event-tap.ts'

export type DeltaName = 'TEXT_DELTA' | 'REASONING_DELTA' | 'TOOL_INPUT_START' | 'TOOL_INPUT_DELTA'

/** The fields in the meta of every event of a run. */
export type EventOrigin = Pick<EventMeta, 'runId' | 'parentRunId' | 'parentToolCallId' | 'depth' | 'metadata'>

/** The source of a run's events. */
interface Teller extends Pick<EventOrigin, 'runId' | 'depth' | 'metadata'> {
  /** The call of another run that started this run. */
  within: { runId: string; toolCallId: string | undefined } | undefined
}

export function originOf({ runId, depth, within, metadata }: Teller): EventOrigin {
  const origin: EventOrigin = { runId }
  if (within !== undefined) Object.assign(origin, { parentRunId: within.runId, depth })
  if (within?.toolCallId !== undefined) origin.parentToolCallId = within.toolCallId
  if (metadata !== undefined) origin.metadata = metadata
  return origin
}

export interface Audience {
  bus: EventBus
  taps: EventTap[]
  /** Receives the events for the watchers of this run. */
  watcher: EventTap | undefined
  onText: ((text: string) => void) | undefined
  onCut: 'end' | 'restart' | undefined
  origin: EventOrigin
  logger: Logger
  /** Texts that must not appear in the log. */
  secrets: SecretTexts
  /** The events of the outer run, whose calls may quote this run's secrets. */
  outside: RunEvents | undefined
  /** Whether the run has ended, so that deltas are no longer emitted. */
  isOver(): boolean
}

export class RunEvents {
  readonly #audience: Audience
  #onTextFailed = false

  constructor(audience: Audience) {
    this.#audience = audience
  }

  get bus(): EventBus {
    return this.#audience.bus
  }

  get taps(): readonly EventTap[] {
    return this.#audience.taps
  }

  /** Also sends the events to `tap`, until `unwatch` is called. */
  watch(tap: EventTap): void {
    const { taps } = this.#audience
    if (!taps.includes(tap)) taps.push(tap)
  }

  unwatch(tap: EventTap): void {
    const { taps } = this.#audience
    const at = taps.indexOf(tap)
    if (at !== -1) taps.splice(at, 1)
  }

  /** Whether anybody listens to events with this name. */
  hears(name: EventName): boolean {
    const { bus, taps, onText } = this.#audience
    const { listening } = bus
    if (listening.has(name) || listening.has('*') || channels[name].hasSubscribers) return true
    for (const { wanted } of taps) if (wanted === undefined || wanted.has(name)) return true
    return name === Event.TEXT_DELTA && onText !== undefined
  }

  emit<K extends EventName>(type: K, payload: EventPayloads[K], meta: EventPlace): void {
    if (this.hears(type)) this.#publish(type, payload, meta)
  }

  #publish<K extends EventName>(type: K, payload: EventPayloads[K], meta: EventPlace): void {
    const { bus, taps, origin } = this.#audience
    const whole = metaOf(meta, origin, Date.now())
    // Each audience gets its own copy of the event, because listeners may modify it. A shallow copy is enough for deltas, because they are
    // flat objects that nobody else uses.
    const isNested = nestedPayloads.has(type)
    const copy: EventPayloads[K] = isNested && taps.length > 0 ? copyForListener(payload) : payload
    // The compiler can't follow the union, indexed by `type`, through a spread.
    const event = taps.length === 0 ? undefined : ({ type, meta: { ...whole }, ...copy } as RunEvent)
    if (bus.hasListeners(type)) bus.emit(type, isNested ? copyForListener(payload) : payload, whole)
    if (event !== undefined) this.#tell(event)
  }

  /** Whether all consumers of a partial response can discard it. `hasText`: whether it includes text. */
  takesBack(hasText: boolean): boolean {
    const { watcher, onText, onCut } = this.#audience
    if (onCut !== undefined) return onCut === 'restart'
    return !(hasText && onText !== undefined) && watcher?.takesBack?.(hasText) !== false
  }

  #tell(event: RunEvent): void {
    for (const tap of this.#audience.taps) if (tap.wanted === undefined || tap.wanted.has(event.type)) tap.take(event)
  }

  /** Passes removed secrets to the log, the taps and the outer run, because other events and log records may contain the same secrets. */
  hide(texts: readonly string[]): void {
    if (texts.length === 0) return
    const { secrets, taps, outside } = this.#audience
    for (const text of texts) secrets.add(text)
    for (const tap of taps) tap.hide?.(texts)
    outside?.hide(texts)
  }

  /**
   * Returns a cheap function that emits the thousands of deltas of one turn. Undefined if nobody listens. The function emits nothing after
   * the run is interrupted. Deltas of the same millisecond share a frozen meta.
   */
  deltas<K extends DeltaName>(type: K, meta: EventPlace): ((payload: EventPayloads[K]) => void) | undefined {
    if (!this.hears(type)) return undefined
    const { bus, taps, origin, isOver } = this.#audience
    let whole = Object.freeze(metaOf(meta, origin, Date.now()))
    const onText = type === Event.TEXT_DELTA ? this.#guardedOnText() : undefined
    return (payload) => {
      if (isOver()) return
      if (onText !== undefined && 'text' in payload) onText(payload.text)
      if (taps.length === 0 && !bus.hasListeners(type)) return
      const time = Date.now()
      if (time !== whole.time) whole = Object.freeze(metaOf(meta, origin, time))
      const event = taps.length === 0 ? undefined : ({ type, meta: whole, ...payload } as RunEvent)
      bus.emit(type, payload, whole)
      if (event !== undefined) this.#tell(event)
    }
  }

  #guardedOnText(): ((text: string) => void) | undefined {
    const { onText, logger, origin } = this.#audience
    if (onText === undefined) return undefined
    const report = (error: unknown) => {
      if (!this.#onTextFailed) logger.error({ runId: origin.runId, error: messageOf(error) }, 'onText threw; the run continues')
      this.#onTextFailed = true
    }
    return (text) => callUnawaited(() => onText(text), report)
  }
}

const nestedPayloads: ReadonlySet<EventName> = new Set<EventName>([
  'RUN_START',
  'RUN_END',
  'MODEL_END',
  'TOOL_CALL_START',
  'TOOL_CALL_END',
  'TOOL_CALL_REJECTED',
  'TOOL_PROGRESS',
  'DECISION_NEEDED',
  'DECISION_MADE',
])

function metaOf(place: EventPlace, origin: EventOrigin, time: number): EventMeta {
  return { ...place, ...origin, time }
}
