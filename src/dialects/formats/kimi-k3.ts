import { setField } from '../../core/messages.ts'
import { cutReason } from '../bodies/cut.ts'
import { finishCall, nameRepairs, readArguments } from '../bodies/json/json-calls.ts'
import { readJsonText } from '../bodies/json/json-text.ts'
import { wrapperOf } from '../bodies/json/named-json.ts'
import { decodeEntities } from '../bodies/tags/entities.ts'
import type { CallReading, Envelope, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Match, Until } from '../reader/waits.ts'
import { readTypedValue } from '../typed-values.ts'

const callStart = '<|open|>call'
const callEnd = '<|close|>call<|sep|>'
const argumentStart = '<|open|>argument'
const jsonStart = '<|open|>json'
const headEnd = markerSet(['<|sep|>'])
const parts = markerSet([argumentStart, jsonStart, callEnd])
const argumentEnd = markerSet(['<|close|>argument<|sep|>'])
const jsonEnd = markerSet(['<|close|>json<|sep|>'])
const longestHead = 512

/**
 * Reads `<|open|>call tool="NAME" index="1"<|sep|><|open|>argument key="KEY" type="string"<|sep|>value<|close|>argument<|sep|>…` as Kimi K3
 * writes it. All arguments may also be one JSON object. https://huggingface.co/moonshotai/Kimi-K3
 */
export const kimiK3Envelopes: readonly Envelope[] = [
  { open: [callStart], close: ['<|close|>tools<|sep|>', '<|close|>message<|sep|>'], read: readCall },
  { open: ['<|open|>tools<|sep|>'], read: wrapperOf([callStart]) },
]

function* readCall(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const head = new Until(headEnd, longestHead)
  if (!head.feed(cursor)) yield head
  const written = attribute(head.text, 'tool')
  if (head.marker === undefined || written === undefined || written.trim() === '') return 'text'
  const name = tools.resolve(written) ?? written.trim()
  const repairs = nameRepairs(written, name)
  const args: Record<string, unknown> = {}
  for (;;) {
    const part = new Match(parts)
    if (!part.feed(cursor)) yield part
    if (part.matched === callEnd) break
    const partHead = new Until(headEnd, longestHead)
    if (part.matched !== undefined && !partHead.feed(cursor)) yield partHead
    const value = new Until(part.matched === jsonStart ? jsonEnd : argumentEnd)
    if (partHead.marker !== undefined && !value.feed(cursor)) yield value
    const key = attribute(partHead.text, 'key')
    const isJson = part.matched === jsonStart
    const json = isJson ? readJsonText(value.text) : undefined
    const object = json?.ok ? readArguments(json.value, name, tools, repairs) : undefined
    if (value.marker === undefined || (isJson ? object === undefined : key === undefined)) {
      reading.reject(reading.cut ? cutReason : 'The call could not be read: expected arguments and their ends. Send the whole call again.')
      return 'done'
    }
    for (const [own, given] of Object.entries(object ?? {})) setField(args, own, given)
    if (key === undefined || isJson) continue
    const type = attribute(partHead.text, 'type')
    const schema = tools.property(name, key) ?? (type === undefined || type === 'string' ? undefined : { type })
    setField(args, key, readTypedValue(value.text, schema))
  }
  reading.call(finishCall(name, args, repairs))
  return 'done'
}

function attribute(head: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(head)?.[1]
  return value === undefined ? undefined : decodeEntities(value)
}
