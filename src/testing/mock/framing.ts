import { jsonIn } from '../../core/json.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { Framing } from './fault.ts'
import type { StreamLayout } from './wires/wire.ts'

/** An item of a streamed body, before it is converted to bytes. */
export type BodyItem =
  | { type: 'payload'; payload: JsonObject }
  /** The text of one payload. It is sent verbatim with the usual framing. */
  | { type: 'line'; text: string }
  /** A text that is sent verbatim, without framing. */
  | { type: 'raw'; text: string }
  | { type: 'end-mark' }
  | BodyPause

/** A position in a body: sending pauses here until `until` settles, or the content ends here. */
type BodyPause = { type: 'wait'; until: PromiseLike<unknown> } | { type: 'content-end' }

/** A part of a body, ready to be sent. */
export type BodyPart = { type: 'bytes'; bytes: Uint8Array } | BodyPause

/** The approximate size of a batch of events, in UTF-16 units. A write for each event would be slow. */
const batchLength = 16 * 1024

/**
 * Converts the items of a streamed body to bytes, in batches that end at each pause. The bytes are generated lazily, so that a long body is
 * never complete in memory.
 */
export function* layOut(items: Iterable<BodyItem>, layout: StreamLayout, framings: readonly Framing[]): Generator<BodyPart> {
  const style = new Set(framings)
  let batch = style.has('bom') ? '\uFEFF' : ''
  for (const item of items) {
    const pausing = item.type === 'wait' || item.type === 'content-end'
    // The last batch is sent after the loop, because it may lose its final line ends.
    if (batch !== '' && (pausing || batch.length >= batchLength)) {
      yield bytesOf(batch)
      batch = ''
    }
    if (pausing) yield item
    else batch += textOf(item, layout, style)
  }
  if (style.has('no-final-blank')) batch = batch.replace(/[\r\n]+$/, '')
  if (batch !== '') yield bytesOf(batch)
}

function bytesOf(text: string): BodyPart {
  return { type: 'bytes', bytes: Buffer.from(text) }
}

function textOf(item: Exclude<BodyItem, BodyPause>, layout: StreamLayout, style: ReadonlySet<Framing>): string {
  switch (item.type) {
    case 'raw':
      return item.text
    case 'payload':
      return event(item.payload, JSON.stringify(item.payload), layout, style)
    case 'line':
      return event(parsed(item.text), item.text, layout, style)
    case 'end-mark': {
      if (layout.endMark === undefined || style.has('no-done')) return ''
      return event(undefined, layout.endMark, layout, style).repeat(style.has('double-done') ? 2 : 1)
    }
  }
}

function event(payload: JsonObject | undefined, text: string, layout: StreamLayout, style: ReadonlySet<Framing>): string {
  const end = style.has('crlf') ? '\r\n' : style.has('cr') ? '\r' : layout.lineEnd
  const field = style.has('no-space') ? ':' : ': '
  const name = payload && layout.eventName(payload)
  // Indented JSON has the same meaning when a client joins its lines again.
  const lines = style.has('multi-data') && payload !== undefined ? JSON.stringify(payload, null, 1).split('\n') : [text]
  return [
    ...(style.has('comments') ? [`: OPENROUTER PROCESSING${end}`] : []),
    ...(name === undefined ? [] : [`event${field}${name}`]),
    ...lines.map((line) => `data${field}${line}`),
    end,
  ].join(end)
}

/** Parses a recorded line. A line that is not JSON (`[DONE]`, or JSON that is broken on purpose) gets no event name. */
function parsed(text: string): JsonObject | undefined {
  const value = jsonIn(text)
  return isJsonObject(value) ? value : undefined
}
