import { isJsonObject, setField } from '../../../core/messages.ts'
import type { DeclaredTools } from '../../declared-tools.ts'
import type { TextToolCall } from '../../dialect.ts'
import { finishCall, nameRepairs } from '../json/json-calls.ts'
import { LooseReader } from '../json/json-text.ts'
import { readPythonValue } from './python-values.ts'

export type PythonCalls = { ok: true; calls: TextToolCall[] } | { ok: false; problem: string }

/**
 * Reads calls such as `f(a=1)` from a complete text. The calls may be in a list. A call may also be in quotes or backticks, or have the
 * form `["f", {"a": 1}]`.
 */
export function readPythonCalls(text: string, tools: DeclaredTools): PythonCalls {
  const reader = new LooseReader(text)
  const calls = readCalls(reader, tools)
  reader.skipBlanks()
  if (calls === undefined || reader.at < text.length)
    return { ok: false, problem: reader.problem ?? `expected the end at position ${reader.at}` }
  return calls.length > 0 ? { ok: true, calls } : { ok: false, problem: 'expected a call' }
}

function readCalls(reader: LooseReader, tools: DeclaredTools): TextToolCall[] | undefined {
  const listed = reader.take('[')
  const calls: TextToolCall[] = []
  for (;;) {
    reader.skipBlanks()
    if (listed ? reader.take(']') : reader.at >= reader.text.length) return calls
    const some = readItem(reader, tools)
    if (some === undefined) return undefined
    calls.push(...some)
    const more = reader.take(',') || (!listed && reader.take(';'))
    reader.skipBlanks()
    if (!more && (listed ? !reader.stands(']') : reader.at < reader.text.length))
      return reader.fail(listed ? '"," or "]" after a call' : 'the end')
  }
}

function readItem(reader: LooseReader, tools: DeclaredTools): TextToolCall[] | undefined {
  if (reader.standsAtQuote()) return readQuoted(reader, tools)
  if (reader.take('(')) {
    const pair = readItem(reader, tools)
    return reader.take(')') ? pair : reader.fail('")"')
  }
  if (reader.take('`')) {
    const call = readCall(reader, tools)
    return reader.take('`') && call !== undefined ? [call] : reader.fail('a backtick')
  }
  const call = readCall(reader, tools)
  return call && [call]
}

/** Reads a call in one of the forms `"f(a=1)"` and `"f", {"a": 1}`. */
function readQuoted(reader: LooseReader, tools: DeclaredTools): TextToolCall[] | undefined {
  const text = reader.readValue(0)
  if (typeof text !== 'string') return reader.fail('a call')
  const name = tools.resolve(text)
  if (name !== undefined && reader.take(',') && reader.nextIs('{')) {
    const args = reader.readValue(0)
    return isJsonObject(args) && reader.problem === undefined ? [finishCall(name, args, ['call written as a list'])] : undefined
  }
  const inner = new LooseReader(text)
  const calls = inner.standsAtQuote() ? undefined : readCalls(inner, tools)
  if (calls === undefined || calls.length === 0 || inner.at < text.length) return reader.fail('a call in the string')
  return calls.map((call) => finishCall(call.name, call.arguments, [...(call.repairs ?? []), 'call written as a string']))
}

function readCall(reader: LooseReader, tools: DeclaredTools): TextToolCall | undefined {
  const written = reader.readName()
  if (written === '' || !reader.take('(')) return reader.fail('a call such as f(a=1)')
  if (written === 'print' && !tools.has('print')) {
    const printed = readCall(reader, tools)
    return reader.take(')') ? printed : reader.fail('")"')
  }
  const name = tools.resolve(written) ?? written
  const repairs = nameRepairs(written, name)
  const args: Record<string, unknown> = {}
  for (let position = 0; !reader.take(')'); position++) {
    if (reader.problem !== undefined) return undefined
    const spread = reader.text.startsWith('**{', reader.at)
    if (spread || (position === 0 && reader.stands('{'))) {
      if (spread) reader.at += 2
      const more = reader.readValue(0)
      if (!isJsonObject(more) || (!spread && !(tools.declares(name, more) && reader.stands(')')))) return reader.fail('arguments by name')
      if (!spread) repairs.push('arguments written as an object')
      for (const [key, value] of Object.entries(more)) setField(args, key, value)
      if (!reader.take(',') && !reader.stands(')')) return reader.fail('"," or ")"')
      continue
    }
    const key = readKeyword(reader)
    const argument = key ?? Object.keys(tools.properties(name) ?? {})[position]
    if (argument === undefined) return reader.fail('arguments by name')
    if (key === undefined) repairs.push('arguments by position')
    const value = key === undefined ? reader.readValue(0) : readPythonValue(reader, tools.property(name, argument), repairs)
    setField(args, argument, value)
    if (!reader.take(',') && !reader.stands(')')) return reader.fail('"," or ")"')
  }
  return reader.problem === undefined ? finishCall(name, args, repairs) : undefined
}

/** Reads the name of an argument and the `=` after it. If the argument has no name, reads nothing. */
function readKeyword(reader: LooseReader): string | undefined {
  reader.skipBlanks()
  const from = reader.at
  const name = reader.standsAtQuote() ? '' : reader.readName()
  if (name !== '' && reader.take('=') && !reader.stands('=')) return name
  reader.at = from
  return undefined
}
