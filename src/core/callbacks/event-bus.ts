import { type Channel, channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'eventemitter3'
import { messageOf, stackOf } from '../errors.ts'
import { Event, type EventMeta, type EventName, type EventPayloads } from '../events.ts'
import { copyPlain, toJson } from '../json.ts'
import { callUnawaited } from './callbacks.ts'

/** Called synchronously, in the order of subscription. May throw or return a rejecting promise: both are logged once and change nothing. Not awaited. */
export type EventListener<K extends EventName> = (payload: EventPayloads[K], meta: EventMeta) => unknown
/** A listener of every event: called as an `EventListener` is, with the event's name first. */
export type AnyEventListener = <K extends EventName>(name: K, payload: EventPayloads[K], meta: EventMeta) => unknown

/** Told of a listener's failure: at most once for each subscription. */
export type ListenerFailure = (error: unknown, event: EventName) => void

type Guarded = (name: EventName, payload: unknown, meta: EventMeta) => void
const ANY = '*'

/** Where events go besides their bus, in the whole process: the channel `toolloop:NAME` of `node:diagnostics_channel` has `RunEvent`s. */
export const channels: Readonly<Record<EventName, Channel>> = Object.fromEntries(
  Object.values(Event).map((name) => [name, channel(`toolloop:${name}`)]),
) as Record<EventName, Channel>

/** Where lifecycle events are published. No listener can break the publisher, or keep another listener from being called. */
export class EventBus {
  /** Events that somebody listens to; `'*'` where somebody listens to all. A publisher looks here before it makes a payload. */
  readonly listening: ReadonlySet<EventName | '*'>
  readonly #listening = new Set<EventName | '*'>()
  readonly #emitter = new EventEmitter<Record<string, Guarded>>()
  readonly #onFailure: ListenerFailure

  constructor(onFailure: ListenerFailure = warnOnStderr) {
    this.#onFailure = onFailure
    this.listening = this.#listening
  }

  /** Subscribes; returns the function that unsubscribes: after it, the listener is not called again, not even by an `emit` under way. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    const call = listener as (payload: unknown, meta: EventMeta) => unknown
    return this.#subscribe(name, (_name, payload, meta) => call(payload, meta))
  }

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

  emit<K extends EventName>(name: K, payload: EventPayloads[K], meta: EventMeta): void {
    this.#emitter.emit(name, name, payload, meta)
    if (this.#listening.has(ANY)) this.#emitter.emit(ANY, name, payload, meta)
    if (channels[name].hasSubscribers) channels[name].publish({ type: name, meta, ...payload })
  }

  /** Whether anybody listens: lets a publisher skip building a payload for nobody. */
  hasListeners(name: EventName): boolean {
    return this.#listening.has(name) || this.#listening.has(ANY) || channels[name].hasSubscribers
  }

  #subscribe(name: EventName | typeof ANY, listener: (name: EventName, payload: unknown, meta: EventMeta) => unknown): () => void {
    let failed = false
    // The emitter goes through the listeners there were when it began; this one may be gone by the time it is its turn.
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

/** A copy a listener may do with what it likes. What can't be cloned, such as an object with functions, becomes plain JSON. */
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
