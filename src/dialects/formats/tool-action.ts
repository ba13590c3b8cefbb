import { setField } from '../../core/messages.ts'
import { finishCall, nameRepairs, readArguments } from '../bodies/json/json-calls.ts'
import { readJsonText } from '../bodies/json/json-text.ts'
import { readAttributes } from '../bodies/tags/attributes.ts'
import { decodeEntities, encodeEntities } from '../bodies/tags/entities.ts'
import type { CallReading, Dialect, PastCall, Reading, Wait } from '../dialect.ts'
import { MarkerSet, markerSet } from '../reader/markers.ts'
import { Match, Peek, Until } from '../reader/waits.ts'
import { describeTools, exampleValues, renderTaggedResults, writeText } from '../render.ts'
import { readTypedValue } from '../typed-values.ts'

const open = '<tool_action'
const close = '</tool_action'
const tags = markerSet([close, open, '<'])
const tagEnd = markerSet(['>'])
const blankCharacters = [' ', '\n', '\t', '\r']
const blanks = markerSet(blankCharacters)
const nameEnds = markerSet([...blankCharacters, '/>', '>', '=', '"', '<'])
const anyTag = markerSet(['<'])
const tagBorders = markerSet(['>', '<'])
const commentEnd = markerSet(['-->'])
/** If one of these follows a `<`, the `<` doesn't start a parameter. */
const others = markerSet(['!--', '/', ...blankCharacters, ...'0123456789='])
const contentEnds = markerSet(['</', open])

/**
 * Reads `<tool_action name="TOOL"><PARAM value="V" /></tool_action>`: each parameter is a tag named like the parameter. Only an element
 * that is completely closed is a call. Otherwise its text is passed on unchanged.
 */
export const toolAction: Dialect = {
  name: 'tool-action',
  envelopes: [{ open: [open], read: readToolAction, inExample: true }],
  resultMarkers: ['<tool_result'],
  prompt: (tools) => `${describeTools(tools)}${tools.length === 0 ? '' : `\n\n${instructions}${renderExample(tools)}`}`,
  renderCalls: (calls) => calls.map(renderCall).join('\n'),
  renderResults: (results) => renderTaggedResults(toolAction, results, 'tool_result'),
}

const instructions = `To call a tool, write its tag with one child tag for each parameter, like this:

`

function renderExample(tools: Parameters<Dialect['prompt']>[0]): string {
  const [tool] = tools
  if (tool === undefined) return ''
  return `${renderCall({ name: tool.function.name, arguments: exampleValues(tool) })}

Write the tag as part of your answer, not in a code block. Write &quot; &lt; &gt; &amp; for " < > & in values; write lists and objects as JSON. You may write several tags. Then stop and wait: the results come in the next message. Never write a result yourself.`
}

function renderCall({ name, arguments: args }: PastCall): string {
  const lines = Object.entries(args).map(([key, value]) => {
    const text = encodeEntities(writeText(value))
    return plainName.test(key) && key !== 'param'
      ? `  <${key} value="${text}" />`
      : `  <param name="${encodeEntities(key)}" value="${text}" />`
  })
  return [`${open} name="${encodeEntities(name)}">`, ...lines, `${close}>`].join('\n')
}

const plainName = /^[\p{L}_][\p{L}\p{N}_.-]*$/u

function* readToolAction(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const head = yield* readHead(reading)
  if (head === undefined) return 'text'
  const written = head.name.trim()
  // A name never contains these characters, so the closing quote is missing.
  if (written === '' || /["<>\n]/.test(written)) return 'text'
  const name = tools.resolve(written) ?? written
  const repairs = [...head.repairs, ...nameRepairs(written, name)]
  const args: Record<string, unknown> = {}
  while (!head.empty) {
    const tag = new Match(tags)
    if (!tag.feed(cursor)) yield tag
    if (tag.matched === open) {
      // The model has abandoned the first tag and started another.
      cursor.unread(open)
      return 'text'
    }
    if (tag.matched === close) {
      const end = new Match(tagEnd)
      if (!end.feed(cursor)) yield end
      if (end.matched !== undefined) break
      // Another element has been closed, such as `</tool_actions>`.
      if (!(yield* skipTag(reading))) return 'text'
      repairs.push('stray closing tag left out')
      continue
    }
    if (tag.matched === undefined) {
      const between = new Until(anyTag)
      if (!between.feed(cursor)) yield between
      if (between.marker === undefined) return 'text'
      cursor.unread('<')
      const read = readJsonText(between.text)
      const object = read.ok ? readArguments(read.value, '', tools, []) : undefined
      if (object === undefined) repairs.push('text between parameters left out')
      else repairs.push('arguments written as JSON')
      for (const [key, value] of Object.entries(object ?? {})) setField(args, key, value)
      continue
    }
    const left = yield* skipOther(reading)
    if (left === 'open') return 'text'
    if (left !== undefined) {
      repairs.push(left)
      continue
    }
    const parameter = yield* readParameter(reading, repairs)
    if (parameter === undefined) return 'text'
    setField(args, parameter.name, readTypedValue(parameter.value, tools.property(name, parameter.name)))
  }
  reading.call(finishCall(name, args, repairs))
  return 'done'
}

/**
 * Skips a comment, a stray closing tag or a plain `<`, and returns an entry for `repairs`. Returns undefined if the `<` starts a parameter,
 * and `'open'` if the comment or tag has no end.
 */
function* skipOther(reading: CallReading): Generator<Wait, string | undefined> {
  const { cursor } = reading
  const kind = new Match(others, false)
  if (!kind.feed(cursor)) yield kind
  if (kind.matched === '!--') {
    const comment = new Until(commentEnd)
    if (!comment.feed(cursor)) yield comment
    return comment.marker === undefined ? 'open' : 'comment left out'
  }
  if (kind.matched === '/') return (yield* skipTag(reading)) ? 'stray closing tag left out' : 'open'
  return kind.matched === undefined ? undefined : 'text between parameters left out'
}

/** Reads the rest of a tag. Returns false if the tag has no end. */
function* skipTag({ cursor }: CallReading): Generator<Wait, boolean> {
  const rest = new Until(tagBorders, 256)
  if (!rest.feed(cursor)) yield rest
  return rest.marker === '>'
}

interface Head {
  name: string
  empty: boolean
  repairs: string[]
}

/** Reads the rest of the opening tag. */
function* readHead(reading: CallReading): Generator<Wait, Head | undefined> {
  const blank = new Peek(blanks, false)
  if (!blank.feed(reading.cursor)) yield blank
  // The tag has a longer name, such as `<tool_actions>`.
  if (blank.matched === undefined) return undefined
  const attributes = yield* readAttributes(reading)
  return attributes && { name: attributes.values.name ?? '', empty: attributes.empty, repairs: attributes.repairs }
}

function* readParameter(reading: CallReading, repairs: string[]): Generator<Wait, { name: string; value: string } | undefined> {
  const { cursor } = reading
  const tag = new Until(nameEnds, 256)
  if (!tag.feed(cursor)) yield tag
  const { text, marker } = tag
  if (marker === undefined || marker === '=' || marker === '"' || marker === '<' || text === '' || text.startsWith('/')) {
    if (marker !== undefined) cursor.unread(marker)
    return undefined
  }
  cursor.unread(marker)
  const attributes = yield* readAttributes(reading)
  if (attributes === undefined) return undefined
  repairs.push(...attributes.repairs)
  const { values, empty } = attributes
  const named = (text === 'param' || text === 'parameter') && Object.hasOwn(values, 'name')
  const name = named ? (values.name ?? '') : text
  const value = Object.hasOwn(values, 'value') ? values.value : undefined
  if (empty) return { name, value: value ?? '' }
  if (value !== undefined) {
    const closing = new Match(new MarkerSet([`</${text}>`]))
    if (!closing.feed(cursor)) yield closing
    if (closing.matched === undefined) repairs.push('closing tag of a parameter missing')
    return { name, value }
  }
  const content = yield* readContent(reading, text, repairs)
  if (content === undefined) return undefined
  repairs.push('value written as content')
  return { name, value: content }
}

/** Reads the text after `<name>`, up to and including `</name>`, or up to the end of the call. */
function* readContent(reading: CallReading, name: string, repairs: string[]): Generator<Wait, string | undefined> {
  const { cursor } = reading
  let content = ''
  for (;;) {
    const until = new Until(contentEnds)
    if (!until.feed(cursor)) yield until
    content += until.text
    if (until.marker === open) cursor.unread(open)
    if (until.marker !== '</') return undefined
    const end = new Match(new MarkerSet([name, close.slice(2)]), false)
    if (!end.feed(cursor)) yield end
    const closing = new Match(tagEnd)
    if (end.matched !== undefined && !closing.feed(cursor)) yield closing
    if (closing.matched !== undefined) {
      if (end.matched !== name) {
        cursor.unread(`${close}${closing.blanks}>`)
        repairs.push('closing tag of a parameter missing')
      }
      return decodeEntities(content)
    }
    content += `</${end.matched ?? ''}`
  }
}
