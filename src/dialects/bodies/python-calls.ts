import { type DeclaredTools, isRecord, setOwn } from '../declared-tools.ts'
import type { TextToolCall } from '../dialect.ts'
import { finishCall } from './json-calls.ts'
import { LooseReader } from './json-text.ts'

export type PythonCalls = { ok: true; calls: TextToolCall[] } | { ok: false; problem: string }

/** Reads `f(a=1)`, or a list of such calls, from finished text. */
export function readPythonCalls(text: string, tools: DeclaredTools): PythonCalls {
  const reader = new LooseReader(text)
  const listed = reader.take('[')
  const calls: TextToolCall[] = []
  for (;;) {
    if (listed && reader.take(']')) break
    reader.skipBlanks()
    const call = readCall(reader, tools)
    if (call === undefined) return { ok: false, problem: reader.problem ?? 'expected a call' }
    calls.push(call)
    const more = reader.take(',') || (!listed && reader.take(';'))
    reader.skipBlanks()
    if (listed ? !more && !reader.stands(']') : reader.at >= text.length) {
      if (!listed) break
      return { ok: false, problem: 'expected "," or "]" behind a call' }
    }
  }
  reader.skipBlanks()
  if (reader.at < text.length) return { ok: false, problem: `expected the end at position ${reader.at}` }
  return calls.length > 0 ? { ok: true, calls } : { ok: false, problem: 'expected a call' }
}

function readCall(reader: LooseReader, tools: DeclaredTools): TextToolCall | undefined {
  const written = reader.readName()
  if (written === '' || !reader.take('(')) return reader.fail('a call such as f(a=1)')
  if (written === 'print' && !tools.has('print')) {
    const printed = readCall(reader, tools)
    return reader.take(')') ? printed : reader.fail('")"')
  }
  const name = tools.resolve(written) ?? written
  const repairs: string[] = name === written ? [] : [`tool name read from "${written}"`]
  const args: Record<string, unknown> = {}
  for (let position = 0; !reader.take(')'); position++) {
    if (reader.problem !== undefined) return undefined
    if (reader.text.startsWith('**{', reader.at)) {
      reader.at += 2
      const more = reader.readValue(0)
      for (const [key, value] of Object.entries(isRecord(more) ? more : {})) setOwn(args, key, value)
      if (!reader.take(',') && !reader.stands(')')) return reader.fail('"," or ")"')
      continue
    }
    const key = readKeyword(reader)
    const value = reader.readValue(0)
    const argument = key ?? Object.keys(tools.properties(name) ?? {})[position]
    if (argument === undefined) return reader.fail('arguments by name')
    if (key === undefined) repairs.push('arguments by position')
    setOwn(args, argument, value)
    if (!reader.take(',') && !reader.stands(')')) return reader.fail('"," or ")"')
  }
  return reader.problem === undefined ? finishCall(name, args, repairs) : undefined
}

/** The `name` of `name=`, read with its sign; otherwise nothing is read. */
function readKeyword(reader: LooseReader): string | undefined {
  reader.skipBlanks()
  const from = reader.at
  const name = reader.standsAtQuote() ? '' : reader.readName()
  if (name !== '' && reader.take('=') && !reader.stands('=')) return name
  reader.at = from
  return undefined
}
