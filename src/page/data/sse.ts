import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { nextTask } from '../ui/slices.ts'
import { ApiError, send, whenUnreachable } from './api.ts'

/** An event of the stream. `data` is its parsed JSON. */
export interface StreamEvent {
  id: number | undefined
  type: string
  data: ReturnType<typeof JSON.parse>
}

/** How long a connection may be silent before it counts as dead, in milliseconds. The service sends something at least every 15 s. */
const silenceMs = 25_000
const firstWaitMs = 500
const longestWaitMs = 10_000
/** How long events are handled before other tasks get a turn, in milliseconds. */
const busyMs = 16

/** Emits `doubt` if open connections may be dead, and `retry` if lost connections can be reopened at once. */
const network = new EventTarget()

/** Reconnects lost connections immediately. */
export function retryNow(): void {
  network.dispatchEvent(new Event('retry'))
}

function doubt(): void {
  network.dispatchEvent(new Event('doubt'))
}

whenUnreachable(doubt)
addEventListener('offline', doubt)
addEventListener('online', retryNow)

export interface Reading {
  onEvent: (event: StreamEvent) => void
  onState?: (state: 'connecting' | 'open' | 'lost' | 'refused') => void
  /** The number of the event after which to start. Default: from the first event. */
  after?: number
  /** The type of the event that ends the stream. Default: the stream never ends. */
  lastType?: string
}

/**
 * Reads an event stream with `fetch`, because `EventSource` can't send a token. Reconnects after a lost connection, and continues after the
 * last received event. The delay between attempts increases. Returns a function that stops reading.
 */
export function readEvents(path: string, reading: Reading) {
  const stop = new AbortController()
  void follow(path, reading, stop.signal)
  return () => stop.abort()
}

async function follow(path: string, { onEvent, onState, after = 0, lastType }: Reading, signal: AbortSignal) {
  let last = after
  let wait = firstWaitMs
  let resumed = performance.now()
  while (!signal.aborted) {
    onState?.('connecting')
    try {
      for await (const event of connect(path, last, signal, () => onState?.('open'))) {
        if (signal.aborted) return
        wait = firstWaitMs
        if (performance.now() - resumed > busyMs) {
          await nextTask()
          resumed = performance.now()
          if (signal.aborted) return
        }
        if (event.id !== undefined) last = event.id
        onEvent(event)
        if (event.type === lastType) return
      }
    } catch (error) {
      if (signal.aborted) return
      // An error without a code comes from a proxy that can't reach the service, not from the service.
      if (error instanceof ApiError && error.code !== '' && error.status >= 400 && error.status < 500 && error.status !== 429) {
        onState?.('refused')
        return
      }
    }
    if (signal.aborted) return
    onState?.('lost')
    await pause(wait * (0.75 + Math.random() / 2), signal)
    wait = Math.min(wait * 2, longestWaitMs)
  }
}

/** Yields the events of one connection. */
async function* connect(path: string, after: number, signal: AbortSignal, onOpen: () => void): AsyncGenerator<StreamEvent> {
  const silent = new AbortController()
  let timer = setTimeout(() => silent.abort(), silenceMs)
  try {
    const { body } = await send(path, {
      headers: { accept: 'text/event-stream', ...(after > 0 ? { 'last-event-id': String(after) } : {}) },
      signal: AbortSignal.any([signal, silent.signal]),
    })
    network.addEventListener('doubt', () => silent.abort(), { signal: silent.signal })
    onOpen()
    if (body === null) return
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    const arrived: EventSourceMessage[] = []
    const parser = createParser({ onEvent: (event) => void arrived.push(event) })
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), silenceMs)
      parser.feed(value)
      for (const { id, event = '', data } of arrived.splice(0)) {
        if (data === '') continue
        yield { id: id === undefined ? undefined : Number(id), type: event, data: JSON.parse(data) }
      }
    }
  } finally {
    clearTimeout(timer)
    silent.abort()
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      network.removeEventListener('retry', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    network.addEventListener('retry', end)
  })
}
