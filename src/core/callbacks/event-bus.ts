import { type Channel, channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'eventemitter3'
import { messageOf, stackOf } from '../errors.ts'
import { Event, type EventMeta, type EventName, type EventPayloads } from '../events.ts'
import { copyPlain, toJson } from '../json.ts'
import { callUnawaited } from './callbacks.ts'

/**
 * Receives the events of one name, in the order of subscription.
 *
 * Contract: a listener is called synchronously and not awaited. A listener may throw or return a promise that rejects. The first failure of
 * each subscription is logged; failures have no other effect. The return value is ignored.
 */
export type EventListener<K extends EventName> = (payload: EventPayloads[K], meta: EventMeta) => unknown
/** Receives every event, under the same contract as `EventListener`. The first argument is the name of the event. */
export type AnyEventListener = <K extends EventName>(name: K, payload: EventPayloads[K], meta: EventMeta) => unknown

/** Called when a listener fails, at most once per subscription. */
export type ListenerFailure = (error: unknown, event: EventName) => void

type Guarded = (name: EventName, payload: unknown, meta: EventMeta) => void
const ANY = '*'

/**
 * One channel of `node:diagnostics_channel` for each event, named `toolloop:NAME`. Every run of the process publishes its `RunEvent`s
 * there.
 */
export const channels: Readonly<Record<EventName, Channel>> = Object.fromEntries(
  Object.values(Event).map((name) => [name, channel(`toolloop:${name}`)]),
) as Record<EventName, Channel>

/** Publishes lifecycle events. If a listener fails, the publisher and the other listeners are not affected. */
export class EventBus {
  /**
   * The names of events that have listeners, and `'*'` if a listener receives all events. Publishers check this set before they build a
   * payload.
   */
  readonly listening: ReadonlySet<EventName | '*'>
  readonly #listening = new Set<EventName | '*'>()
  readonly #emitter = new EventEmitter<Record<string, Guarded>>()
  readonly #onFailure: ListenerFailure

  constructor(onFailure: ListenerFailure = warnOnStderr) {
    this.#onFailure = onFailure
    this.listening = this.#listening
  }

  /**
   * Subscribes to one event. Returns a function that unsubscribes. After unsubscribing, the listener is not called again, not even by an
   * `emit` in progress.
   */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    const call = listener as (payload: unknown, meta: EventMeta) => unknown
    return this.#subscribe(name, (_name, payload, meta) => call(payload, meta))
  }

  /** Like `on`, for one event: unsubscribes before the listener is called. */
  once<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    const off = this.on(name, (payload, meta) => {
      off()
      return listener(payload, meta)
    })
    return off
  }

  /** Subscribes to every event. */
  onAny(listener: AnyEventListener): () => void {
    return this.#subscribe(ANY, listener as (name: EventName, payload: unknown, meta: EventMeta) => unknown)
  }

  /** Calls the listeners of an event, synchronously. */
  emit<K extends EventName>(name: K, payload: EventPayloads[K], meta: EventMeta): void {
    this.#emitter.emit(name, name, payload, meta)
    if (this.#listening.has(ANY)) this.#emitter.emit(ANY, name, payload, meta)
    if (channels[name].hasSubscribers) channels[name].publish({ type: name, meta, ...payload })
  }

  /** Whether an event has listeners. If not, a publisher need not build a payload. */
  hasListeners(name: EventName): boolean {
    return this.#listening.has(name) || this.#listening.has(ANY) || channels[name].hasSubscribers
  }

  #subscribe(name: EventName | typeof ANY, listener: (name: EventName, payload: unknown, meta: EventMeta) => unknown): () => void {
    let failed = false
    // False after unsubscribing. An `emit` in progress iterates over the listeners that it started with. Without this flag, it would still
    // call this listener.
    let subscribed = true
    const report = (error: unknown, event: EventName): unknown => {
      if (failed) return
      failed = true
      return this.#onFailure(error, event)
    }
    const guarded: Guarded = (event, payload, meta) => {
      if (!subscribed) return
      callUnawaited(
        () => listener(event, payload, meta),
        (error) => report(error, event),
      )
    }
    this.#emitter.on(name, guarded)
    this.#listening.add(name)
    return () => {
      subscribed = false
      this.#emitter.off(name, guarded)
      if (this.#emitter.listenerCount(name) === 0) this.#listening.delete(name)
    }
  }
}

/** Copies a payload, so that a listener may change it. Values that can't be cloned, such as objects with functions, become plain JSON. */
export function copyForListener<Payload extends object>(payload: Payload): Payload {
  try {
    return copyPlain(payload) ?? structuredClone(payload)
  } catch {
    const entries = Object.entries(payload).filter(([, value]) => value !== undefined)
    return Object.fromEntries(entries.map(([name, value]) => [name, toJson(value)])) as Payload
  }
}

function warnOnStderr(error: unknown, event: EventName): void {
  const stack = stackOf(error)
  const detail = `listener of ${event}${stack === undefined ? '' : `\n${stack}`}`
  process.emitWarning(messageOf(error), { type: 'ToolloopListenerFailure', detail })
}
