import { setField } from '../../../core/messages.ts'
import type { CallReading, Reading, ReadingEnd, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Match, Peek, Until } from '../../reader/waits.ts'
import { readTypedValue } from '../../typed-values.ts'
import { cutReason } from '../cut.ts'
import { finishCall, nameRepairs, readArguments } from '../json/json-calls.ts'
import { readJsonText } from '../json/json-text.ts'
import { ValueFrame } from '../json/value-frame.ts'
import type { CallTags } from './call-tags.ts'

const longestHead = 4096
/** Maximum length of text between two parameters, in characters. */
const longestOther = 512
const commentEnd = markerSet(['-->'])
/** The attributes of a tag that has only a name. */
const nameOnly = /^\s+name="([^"]*)"$/
const tagEnd = markerSet(['>'])
const tagBorders = markerSet(['>', '<'])

interface Head {
  name: string | undefined
  attributes: Record<string, string>
  /** Whether the tag closes itself: `<param … />`. */
  empty: boolean
}

interface TaggedCall {
  readonly name: string
  readonly args: Record<string, unknown>
}

/** Reads one call. The start of its opening tag has been read. */
export function* readTaggedCall(reading: CallReading, tags: CallTags): Generator<Wait, ReadingEnd, void> {
  const { cursor, tools } = reading
  const repairs: string[] = []
  const head = yield* readHead(reading)
  let written = head?.name
  if (head !== undefined && written === undefined) {
    // The call has the form `<function>name</function>`.
    written = yield* readNameAsContent(reading, tags.closeCall)
    repairs.push('name written as content')
  }
  if (written === undefined || written.trim() === '') return 'text'
  const name = tools.resolve(written) ?? written.trim()
  repairs.push(...nameRepairs(written, name))
  const call: TaggedCall = { name, args: {} }
  let closed = head?.empty ?? false
  /** The tag after the previous value, if it has already been read. */
  let next: string | undefined
  while (!closed) {
    const match = new Match(tags.between)
    if (next === undefined && !match.feed(cursor)) yield match
    const matched = next ?? match.matched
    next = undefined
    if (matched === undefined) {
      // At the end of the text, a partial closing tag counts if it is at least as long as `</`.
      const begun = match.partial.length > 1 && tags.closeCall.some((tag) => tag.startsWith(match.partial))
      if (match.partial === '' && (yield* skipOther(reading, tags))) {
        repairs.push('text between parameters left out')
        continue
      }
      if (!begun || reading.cut) return giveUp(reading)
      closed = true
      repairs.push('closing tag missing')
    } else if (tags.closeCall.includes(matched)) closed = true
    else if (matched === '{') {
      cursor.unread('{')
      const object = yield* readJsonArguments(reading, name, repairs)
      if (object === undefined) return giveUp(reading)
      for (const [key, value] of Object.entries(object)) setField(call.args, key, value)
    } else if (tags.parameter.includes(matched)) {
      const parameter = yield* readParameter(reading, tags, call)
      // A value without an end may be incomplete, so the call must not run.
      if (parameter === undefined || parameter.end === 'text') return giveUp(reading)
      setField(call.args, parameter.name, parameter.value)
      for (const repair of parameter.repairs) repairs.push(repair)
      if (parameter.end === 'call') closed = true
      next = parameter.next
    } else if (tags.closeWrap.includes(matched)) {
      // The end of the wrapper ends the call.
      cursor.unread(matched)
      closed = true
      repairs.push('closing tag missing')
    }
  }
  reading.call(finishCall(name, call.args, repairs))
  return 'done'
}

/** Reads text or a comment between parameters, up to the call's next tag. If no such tag follows, returns false and reads nothing. */
function* skipOther({ cursor }: CallReading, tags: CallTags): Generator<Wait, boolean> {
  const other = new Until(tags.behindOther, longestOther)
  if (!other.feed(cursor)) yield other
  const { text, marker = '' } = other
  if (marker !== '<!--') {
    const found = marker !== '' && !tags.call.includes(marker)
    cursor.unread(found ? marker : text + marker)
    return found
  }
  const comment = new Until(commentEnd, longestHead)
  if (!comment.feed(cursor)) yield comment
  if (comment.marker === undefined) cursor.unread(text + marker + comment.text)
  return comment.marker !== undefined
}

function giveUp(reading: CallReading): 'done' {
  reading.reject(reading.cut ? cutReason : 'The call could not be read: expected parameters and a closing tag. Send the whole call again.')
  return 'done'
}

/** A name and JSON inside the tag, as Llama models on Groq write them: `<function=name{…}</function>`, `=name={…}`, `=name({…})>`. */
const nameAndJson = /^=\s*([\w.-]+)[\s=([]*(\{.*)$/s

/** Reads the rest of a tag up to its `>`: `=name`, or attributes. Undefined if the tag has any other form. */
function* readHead(reading: CallReading): Generator<Wait, Head | undefined> {
  let text = ''
  /** The number of quotes of each kind so far. A `>` inside a quoted attribute doesn't end the tag. */
  const quotes = { '"': 0, "'": 0 }
  for (;;) {
    const until = new Until(tagEnd, longestHead)
    if (!until.feed(reading.cursor)) yield until
    text += until.text
    if (text.startsWith('=')) {
      const [, name, json] = nameAndJson.exec(text) ?? []
      if (json !== undefined) {
        reading.cursor.unread(json + (until.marker ?? ''))
        return { name, attributes: {}, empty: false }
      }
    }
    if (until.marker === undefined || text.length > longestHead) return undefined
    for (const char of until.text) if (char === '"' || char === "'") quotes[char]++
    const simple = quotes['"'] === 2 && text.endsWith('"') ? nameOnly.exec(text) : null
    if (simple !== null) return { name: simple[1], attributes: {}, empty: false }
    if (text.startsWith('=') || (quotes['"'] % 2 === 0 && quotes["'"] % 2 === 0)) break
    text += '>'
  }
  const empty = text.endsWith('/')
  if (empty) text = text.slice(0, -1)
  if (text.startsWith('=')) return { name: unquote(text.slice(1)), attributes: {}, empty }
  if (text !== '' && text.trimStart() === text) return undefined
  const attributes: Record<string, string> = {}
  for (const [, key = '', double, single, bare] of text.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g)) {
    setField(attributes, key, double ?? single ?? bare ?? '')
  }
  return { name: Object.hasOwn(attributes, 'name') ? attributes.name : undefined, attributes, empty }
}

function unquote(text: string): string {
  return text.trim().replace(/^(["'])(.*)\1$/s, '$2')
}

function* readNameAsContent(reading: CallReading, close: readonly string[]): Generator<Wait, string | undefined> {
  const until = new Until(markerSet(close), 128)
  if (!until.feed(reading.cursor)) yield until
  return until.marker === undefined || until.text.includes('<') ? undefined : until.text.trim()
}

function* readJsonArguments(reading: CallReading, name: string, repairs: string[]): Generator<Wait, Record<string, unknown> | undefined> {
  const frame = new ValueFrame()
  if (!frame.feed(reading.cursor)) yield frame
  const read = readJsonText(frame.text)
  if (frame.state !== 'complete' || !read.ok) return undefined
  repairs.push('arguments written as JSON')
  return readArguments(read.value, name, reading.tools, repairs)
}

interface NamedParameter {
  name: string
  attributes: Readonly<Record<string, string>>
  /** Whether the name is in the element's content instead of in its tag. */
  byContent: boolean
  /** Whether the tag closes itself: `<param … />`. */
  empty: boolean
}

interface Parameter {
  name: string
  value: unknown
  repairs: string[]
  /** What follows the value: the rest of the call, the call's closing tag (already read), or the end of the text. */
  end: 'more' | 'call' | 'text'
  /** The tag after the value, if it has already been read. */
  next?: string | undefined
}

/** Reads a parameter. The start of its tag has been read. */
function* readParameter(reading: CallReading, tags: CallTags, call: TaggedCall): Generator<Wait, Parameter | undefined> {
  const { cursor } = reading
  const named = yield* readParameterHead(reading, tags)
  if (named === undefined) return undefined
  if (named.empty) return finishParameter(reading, call, named, { text: named.attributes.value ?? '', repairs: [], end: 'more' })
  const value = new Until(tags.inValue)
  if (!value.feed(cursor)) yield value
  if (value.marker !== undefined && tags.closeParameter.includes(value.marker)) {
    const after = new Match(tags.afterValue)
    if (!after.feed(cursor)) yield after
    if (after.matched !== undefined)
      return finishParameter(reading, call, named, { text: trimLines(value.text), repairs: [], end: 'more', next: after.matched })
    if (after.partial !== '') cursor.unread(after.blanks + after.partial)
  }
  return yield* readValue(reading, tags, call, named, value)
}

/** Reads the rest of a parameter's tag, and the parameter's name if the name is written as content. */
function* readParameterHead(reading: CallReading, tags: CallTags): Generator<Wait, NamedParameter | undefined> {
  const head = yield* readHead(reading)
  if (head === undefined) return undefined
  const { attributes, empty } = head
  const name = head.name ?? (yield* readNameAsContent(reading, tags.closeParameter))
  return name === undefined || name === '' ? undefined : { name, attributes, empty, byContent: head.name === undefined }
}

function* readValue(
  reading: CallReading,
  tags: CallTags,
  call: TaggedCall,
  named: NamedParameter,
  first: Until,
): Generator<Wait, Parameter> {
  const declared = (other: string): boolean =>
    other !== named.name && reading.tools.property(call.name, other) !== undefined && !Object.hasOwn(call.args, other)
  const value = yield* readRawValue(reading, tags, first, named.byContent, declared)
  return finishParameter(reading, call, named, { ...value, text: trimLines(value.text) })
}

function finishParameter(reading: CallReading, call: TaggedCall, named: NamedParameter, raw: RawValue): Parameter {
  const { name, attributes, byContent } = named
  const schema =
    reading.tools.property(call.name, name) ??
    (attributes.string === 'false' ? {} : attributes.type === undefined ? undefined : { type: attributes.type })
  const value = attributes.string === 'true' ? raw.text : readTypedValue(raw.text, schema)
  return { name, value, repairs: byContent ? ['name written as content', ...raw.repairs] : raw.repairs, end: raw.end, next: raw.next }
}

/** Removes one line break after the opening tag and one before the closing tag, which belong to the format. */
function trimLines(text: string): string {
  const from = text.startsWith('\r\n') ? 2 : text.startsWith('\n') ? 1 : 0
  const to = text.length > from && text.endsWith('\n') ? text.length - (text.endsWith('\r\n') ? 2 : 1) : text.length
  return text.slice(from, Math.max(to, from))
}

type RawValue = Pick<Parameter, 'repairs' | 'end' | 'next'> & { text: string }

/**
 * Reads a value up to its closing tag. The value may itself contain tags, so a closing tag counts only if a parameter or the call's closing
 * tag follows.
 */
function* readRawValue(
  reading: CallReading,
  tags: CallTags,
  first: Until,
  byContent: boolean,
  declared: (name: string) => boolean,
): Generator<Wait, RawValue> {
  const { cursor } = reading
  let text = ''
  /** The first closing tag of a call inside the value. The tag ends the call unless the parameter is closed later. */
  let early: { text: string; tag: string } | undefined
  for (let until = first; ; ) {
    const { marker } = until
    const nextCall = marker !== undefined && tags.call.includes(marker)
    if (marker === undefined || (nextCall && early !== undefined)) {
      // If the response was cut off inside the value, the value may have continued, so the call must not run.
      if (early === undefined || (marker === undefined && reading.cut)) return { text: text + until.text, repairs: [], end: 'text' }
      cursor.unread(text.slice(early.text.length + early.tag.length) + until.text + (marker ?? ''))
      return { text: early.text, repairs: byContent ? [] : ['closing tag of a parameter missing'], end: 'call' }
    }
    text += until.text
    if (tags.closeParameter.includes(marker)) {
      const after = new Match(tags.afterValue)
      if (!after.feed(cursor)) yield after
      if (after.partial !== '') cursor.unread(after.blanks + after.partial)
      if (after.matched !== undefined || cursor.atEnd || after.partial !== '')
        return { text, repairs: [], end: 'more', next: after.matched }
      text += marker
    } else if (tags.closeCall.includes(marker)) {
      const peek = new Peek(tags.afterCall)
      if (!peek.feed(cursor)) yield peek
      // The call's closing tag counts if the next call or the end of the wrapper follows.
      if (peek.matched !== undefined) return { text, repairs: byContent ? [] : ['closing tag of a parameter missing'], end: 'call' }
      early ??= { text, tag: marker }
      text += marker
    } else if (nextCall) text += marker
    else {
      const head = yield* peekHead(reading)
      if (byContent || (head !== undefined && declared(head))) {
        cursor.unread(marker)
        return { text, repairs: byContent ? [] : ['closing tag of a parameter missing'], end: 'more' }
      }
      text += marker
    }
    until = new Until(tags.inValue)
    if (!until.feed(cursor)) yield until
  }
}

/** Returns the name in the rest of a tag, without moving the cursor. */
function* peekHead(reading: CallReading): Generator<Wait, string | undefined> {
  const until = new Until(tagBorders, 200)
  if (!until.feed(reading.cursor)) yield until
  reading.cursor.unread(until.text + (until.marker ?? ''))
  if (until.marker !== '>') return undefined
  const { text } = until
  return text.startsWith('=') ? unquote(text.slice(1)) : /\bname\s*=\s*["']?([^"'\s>]+)/.exec(text)?.[1]
}

/** Reads one call after the start of its tag. If `wrapped`, also reads the following calls, up to the end of their wrapper. */
export function* readTaggedCalls(reading: CallReading, tags: CallTags, wrapped: boolean): Reading {
  const { cursor } = reading
  for (;;) {
    const verdict = yield* readTaggedCall(reading, tags)
    if (verdict === 'text') return 'text'
    if (!wrapped) return 'done'
    const match = new Match(tags.afterCall)
    if (!match.feed(cursor)) yield match
    if (match.matched === undefined) return 'done'
    if (tags.closeWrap.includes(match.matched)) return 'done'
  }
}

/** Reads the tags that may precede the first call in a wrapper. Returns true if the start of a call's tag has been read. */
export function* readToFirstCall(reading: CallReading, tags: CallTags): Generator<Wait, boolean> {
  for (;;) {
    const match = new Match(tags.first)
    if (!match.feed(reading.cursor)) yield match
    if (match.matched === undefined) {
      if (match.partial !== '') reading.cursor.unread(match.blanks + match.partial)
      return false
    }
    if (tags.call.includes(match.matched)) return true
  }
}
