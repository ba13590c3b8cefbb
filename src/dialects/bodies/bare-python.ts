import type { DeclaredTools } from '../declared-tools.ts'
import type { CallReading, Reading, Wait } from '../dialect.ts'
import { MarkerSet, markerSet } from '../markers.ts'
import { Match, Until } from '../waits.ts'
import { readPythonCalls } from './python-calls.ts'
import { form, nameGap, Usual } from './usual.ts'
import { UsualArguments } from './usual-arguments.ts'
import { ValueFrame } from './value-frame.ts'

const usualHead = form`[${nameGap}(`
const bracketSign = markerSet(['['])
const fencedEnds = markerSet(['```', ';', ','])
const nameEnds = markerSet(['(', '[', '{', '<', ',', ']', '"', "'", '=', ')'])
const codeEnds = markerSet(['(', '[', '`', '\n'])
const lineEnd = markerSet(['\n'])
/** How much is held back of a call that does not end. */
const longest = 16 * 1024 * 1024

/** Reads `[f(a=1), g()]`, whose bracket stands at the cursor, if every name is a declared tool's and every argument has a name. */
export function* readBarePython(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const usual = new Usual(usualHead)
  if (!usual.feed(cursor)) yield usual
  const named = usual.fits && tools.has(usual.name)
  if (named) {
    const given = new UsualArguments(longest)
    if (!given.feed(cursor)) yield given
    if (given.fits) {
      reading.call({ name: usual.name, arguments: given.args })
      return 'done'
    }
  }
  if (usual.fits) cursor.unread(usual.whole)
  if (!named && !(yield* standsAtCall(reading))) return 'text'
  const frame = new ValueFrame({ python: true, limit: longest })
  if (!frame.feed(cursor)) yield frame
  return frame.state === 'complete' && reportCalls(reading, frame.text) ? 'done' : 'text'
}

/** True when a list stands at the cursor that begins with a declared name; the cursor is then where it was. */
function* standsAtCall({ cursor, tools }: CallReading): Generator<Wait, boolean> {
  const bracket = new Match(bracketSign, false)
  if (!bracket.feed(cursor)) yield bracket
  const name = new Until(nameEnds, 128)
  if (!name.feed(cursor)) yield name
  const stands = name.marker === '(' && tools.resolve(name.text.trim()) !== undefined
  if (stands) cursor.unread(`[${name.text}(`)
  else if (name.marker !== undefined) cursor.unread(name.marker)
  return stands
}

const knownStarts = new WeakMap<DeclaredTools, MarkerSet>()

/** The declared names, each with its parenthesis. */
function callStarts(tools: DeclaredTools): MarkerSet {
  let starts = knownStarts.get(tools)
  if (starts === undefined) {
    starts = new MarkerSet(tools.names.map((name) => `${name}(`))
    knownStarts.set(tools, starts)
  }
  return starts
}

/** Reads a line that is nothing but a call of a declared tool, at whose first letter the cursor stands. */
export function* readPythonLine(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const name = new Match(callStarts(tools), false)
  if (!name.feed(cursor)) yield name
  if (name.matched === undefined) {
    // One character goes out as text; the line is then past its head.
    const first = new Until(lineEnd, 0)
    if (name.partial === '' && !first.feed(cursor)) yield first
    return 'text'
  }
  cursor.unread('(')
  const text = yield* readFrame(reading)
  const rest = new Until(lineEnd, 8)
  if (!rest.feed(cursor)) yield rest
  cursor.unread(rest.text + (rest.marker ?? ''))
  const alone = (rest.marker !== undefined || cursor.ended) && /^[\s;]*$/.test(rest.text)
  return text !== undefined && alone && reportCalls(reading, name.matched.slice(0, -1) + text) ? 'done' : 'text'
}

/** Reads the lines of a `tool_code` fence, or the list of calls in another, of which the opening marker has been read. */
export function* readToolCode(reading: CallReading): Reading {
  const { cursor } = reading
  const info = new Until(lineEnd, 32)
  if (!info.feed(cursor)) yield info
  const language = info.marker === undefined ? undefined : /^(tool_code|tool_calls?|python|py|)\s*$/.exec(info.text)?.[1]
  if (language === undefined) return 'text'
  // Ordinary code is full of calls; nothing but a list of them, as the prompt asks for, is meant to run.
  const listOnly = !language.startsWith('tool')
  for (let called = false; ; called = true) {
    const match = new Match(fencedEnds)
    if (!match.feed(cursor)) yield match
    if (match.matched === '```') return called ? 'done' : 'text'
    if (match.matched !== undefined) continue
    const name = new Until(codeEnds, 128)
    if (!name.feed(cursor)) yield name
    if ((listOnly || name.marker !== '(') && name.marker !== '[') {
      if (name.marker !== undefined) cursor.unread(name.marker)
      return called && cursor.atEnd ? 'done' : 'text'
    }
    cursor.unread(name.marker)
    const text = yield* readFrame(reading)
    if (text === undefined || !reportCalls(reading, name.text + text)) return 'text'
  }
}

function* readFrame(reading: CallReading): Generator<Wait, string | undefined> {
  const frame = new ValueFrame({ python: true, limit: longest })
  if (!frame.feed(reading.cursor)) yield frame
  return frame.state === 'complete' ? frame.text : undefined
}

function reportCalls(reading: CallReading, text: string): boolean {
  const { tools } = reading
  const read = readPythonCalls(text, tools)
  if (!read.ok || !read.calls.every((call) => tools.has(call.name) && !call.repairs?.includes('arguments by position'))) return false
  for (const call of read.calls) reading.call(call)
  return true
}
