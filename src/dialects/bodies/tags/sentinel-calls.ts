import { isJsonObject, setField } from '../../../core/messages.ts'
import type { JsonSchema } from '../../../tools/tool.ts'
import type { CallReading, Reading, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Match, Until } from '../../reader/waits.ts'
import { readTypedValue } from '../../typed-values.ts'
import { cutReason } from '../cut.ts'
import { finishCall, nameRepairs } from '../json/json-calls.ts'
import { deepest } from '../json/json-text.ts'

/** The sentinel that precedes each tag of MiniMax-M3. A tag without the sentinel is text. https://huggingface.co/MiniMaxAI/MiniMax-M3 */
export const sentinel = ']<]minimax[>['

const longestTag = 512
const sentinels = markerSet([sentinel])
const callStarts = markerSet([sentinel, '<invoke'])
const tagStart = markerSet(['<'])
const tagEnd = markerSet(['>'])
const invokeName = /^invoke\s+name="([^"]*)"$/
const invokeEnd = '/invoke'
const wrapperEnd = '/tool_call'

/**
 * Reads one or several `<invoke name="NAME"><KEY>value</KEY></invoke>`, with the sentinel before each tag, up to `</tool_call>`. An object
 * is written as elements that are named like its keys, and a list as elements that are named `<item>`. The first sentinel has been read.
 */
export function* readSentinelCalls(reading: CallReading): Reading {
  const { cursor } = reading
  let called = false
  let before = ''
  for (;;) {
    const tag = yield* readTag(reading)
    const name = invokeName.exec(tag?.name ?? '')?.[1]
    if (name !== undefined && name !== '') {
      if (!(yield* readCall(reading, name))) return 'done'
      called = true
    } else if (called && tag?.name === wrapperEnd) return 'done'
    else if (tag?.name !== 'tool_call' || called) {
      cursor.unread(before + (tag?.raw ?? ''))
      return called ? 'done' : 'text'
    }
    const next = new Match(callStarts)
    if (!next.feed(cursor)) yield next
    if (next.matched === undefined) return called ? 'done' : 'text'
    before = next.blanks + next.matched
    if (next.matched === sentinel) continue
    cursor.unread(next.matched)
    before = next.blanks
  }
}

/** An element whose end tag has not arrived. */
interface OpenElement {
  key: string
  schema: JsonSchema | undefined
  /** The element's children, in order. Empty for an element that contains text. */
  children: { key: string; value: unknown }[]
}

/** Reads a call after its opening tag. Returns false if the call can't be read. */
function* readCall(reading: CallReading, written: string): Generator<Wait, boolean> {
  const { cursor, tools } = reading
  const name = tools.resolve(written) ?? written.trim()
  const repairs = nameRepairs(written, name)
  const call: OpenElement = { key: invokeEnd.slice(1), schema: { type: 'object', properties: tools.properties(name) ?? {} }, children: [] }
  const open = [call]
  for (;;) {
    const until = new Until(sentinels)
    if (!until.feed(cursor)) yield until
    const element = open.at(-1) ?? call
    let { text } = until
    if (until.marker === undefined) return giveUp(reading)
    const read = yield* readTag(reading)
    if (read === undefined || open.length > deepest) return giveUp(reading)
    const tag = read.name
    const end = `</${element.key}>`
    // Handles an end tag whose sentinel is missing.
    if (element !== call && tag !== `/${element.key}` && text.trimEnd().endsWith(end)) {
      text = text.trimEnd().slice(0, -end.length)
      close(open, text)
      repairs.push('tag without its sentinel')
    }
    if (tag === invokeEnd || tag === wrapperEnd) {
      if (open.length > 1) return giveUp(reading)
      if (tag === wrapperEnd) {
        cursor.unread(sentinel + read.raw)
        repairs.push('closing tag missing')
      }
      reading.call(finishCall(name, objectOf(call), repairs))
      return true
    }
    if (tag === `/${open.at(-1)?.key}` && open.length > 1) close(open, text)
    else if (tag.startsWith('/') || /[\s"=]/.test(tag)) return giveUp(reading)
    else open.push({ key: tag, schema: childSchema(open.at(-1) ?? call, tag), children: [] })
  }
}

/** Ends the innermost element, which becomes a child of its parent. */
function close(open: OpenElement[], text: string): void {
  const element = open.pop()
  const parent = open.at(-1)
  if (element !== undefined && parent !== undefined) parent.children.push({ key: element.key, value: contentOf(element, text) })
}

function contentOf(element: OpenElement, text: string): unknown {
  const { children, schema } = element
  if (children.length === 0) return readTypedValue(text, schema)
  const isList = children.every(({ key }) => key === 'item') && !hasProperty(schema, 'item')
  return isList ? children.map(({ value }) => value) : objectOf(element)
}

function objectOf({ children }: OpenElement): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const { key, value } of children) setField(object, key, value)
  return object
}

function childSchema({ schema }: OpenElement, key: string): JsonSchema | undefined {
  if (key === 'item' && !hasProperty(schema, key)) return isJsonObject(schema?.items) ? (schema.items as JsonSchema) : undefined
  const properties = isJsonObject(schema?.properties) ? schema.properties : {}
  const child = Object.hasOwn(properties, key) ? properties[key] : undefined
  return isJsonObject(child) ? (child as JsonSchema) : undefined
}

function hasProperty(schema: JsonSchema | undefined, key: string): boolean {
  return isJsonObject(schema?.properties) && Object.hasOwn(schema.properties, key)
}

function giveUp(reading: CallReading): false {
  reading.reject(reading.cut ? cutReason : 'The call could not be read: expected an element for each parameter, and closing tags.')
  return false
}

/** Reads the tag after a sentinel. `name` is the text between its brackets. If no tag follows, returns undefined and reads nothing. */
function* readTag({ cursor }: CallReading): Generator<Wait, { name: string; raw: string } | undefined> {
  const start = new Match(tagStart)
  if (!start.feed(cursor)) yield start
  if (start.matched === undefined) return undefined
  const tag = new Until(tagEnd, longestTag)
  if (!tag.feed(cursor)) yield tag
  const raw = `${start.blanks}<${tag.text}${tag.marker ?? ''}`
  if (tag.marker !== undefined) return { name: tag.text.trim(), raw }
  cursor.unread(raw)
  return undefined
}
