import { nextTask } from '../ui/slices.ts'
import { ApiError, send } from './api.ts'

/** `data` is the JSON of whatever the stream carries. */
export interface StreamEvent {
  id: number | undefined
  type: string
  data: ReturnType<typeof JSON.parse>
}

/** The service sends something at least every 15 s; a connection that is silent for longer is dead. */
const silenceMs = 40_000
const firstWaitMs = 500
const longestWaitMs = 10_000
/** How long events are taken without a break. */
const busyMs = 16
/** Characters. */
const longFrame = 200_000

export interface Reading {
  onEvent: (event: StreamEvent) => void
  onState?: (state: 'connecting' | 'open' | 'lost' | 'refused') => void
  /** Number of the last event that is known. */
  after?: number
  /** The event behind which nothing follows. Default: none, it is read for ever. */
  lastType?: string
}

/**
 * Reads an event stream, by `fetch` because `EventSource` can't send a token. A stream that breaks is taken up again where it broke, ever
 * less often while that fails. Returns the function that ends it.
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
        // Many may come at once: the page answers meanwhile.
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
      // Without a code it is not the service that refuses, but what stands before it and knows of none just now.
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

/** One connection's events. */
async function* connect(path: string, after: number, signal: AbortSignal, onOpen: () => void) {
  const silent = new AbortController()
  let timer = setTimeout(() => silent.abort(), silenceMs)
  try {
    const { body } = await send(path, {
      headers: { accept: 'text/event-stream', ...(after > 0 ? { 'last-event-id': String(after) } : {}) },
      signal: AbortSignal.any([signal, silent.signal]),
    })
    onOpen()
    if (body === null) return
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    // A frame may come in very many chunks: they are put together once, when its end is there.
    let parts: string[] = []
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), silenceMs)
      const border = `${parts.at(-1)?.at(-1) ?? ''}${value}`
      parts.push(value)
      if (!border.includes('\n\n')) continue
      const text = parts.join('')
      // To read what is long is more than one task.
      if (text.length > longFrame) await nextTask()
      const frames = text.split('\n\n')
      parts = [frames.pop() ?? '']
      for (const frame of frames) {
        const isLong = frame.length > longFrame
        if (isLong) await nextTask()
        const event = parseFrame(frame)
        if (isLong) await nextTask()
        if (event !== undefined) yield event
      }
    }
  } finally {
    clearTimeout(timer)
    silent.abort()
  }
}

/** Undefined: it is a comment. */
function parseFrame(frame: string): StreamEvent | undefined {
  let type = ''
  let data = ''
  let id: number | undefined
  for (let at = 0; at < frame.length; ) {
    const end = frame.indexOf('\n', at)
    const line = frame.slice(at, end < 0 ? frame.length : end)
    if (line.startsWith('event: ')) type = line.slice(7)
    else if (line.startsWith('data: ')) data += line.slice(6)
    else if (line.startsWith('id: ')) id = Number(line.slice(4))
    at += line.length + 1
  }
  return data === '' ? undefined : { id, type, data: JSON.parse(data) }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
