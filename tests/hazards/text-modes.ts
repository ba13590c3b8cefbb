import type { TestContext } from 'vitest'
import { type ChatMessage, isJsonObject, type ToolCall, textOf } from '../../src/core/messages.ts'
import { type Dialect, findDialect, parseToolCalls } from '../../src/dialects/index.ts'
import type { MockReply, MockTurn } from '../../src/testing/mock/reply.ts'
import type { ScriptEntry, ScriptedCall } from '../../src/testing/script.ts'
import type { Mode, ModeScript, SentRequest } from './modes.ts'

const names: Record<string, string> = { tags: 'tool-action', json: 'json', hermes: 'hermes' }

/**
 * The same modes with models that have no native calls. Scripts and requests use native terms; the wire has text. Whole responses in one
 * dialect only, because dialects differ in how text is read, which is the same either way.
 */
export function inText(modes: readonly Mode[]): Mode[] {
  return Object.entries(names).flatMap(([name, dialect]) =>
    modes.filter(({ streaming }) => streaming || name === 'tags').map((mode) => textMode(mode, name, findDialect(dialect))),
  )
}

function textMode(mode: Mode, name: string, dialect: Dialect): Mode {
  return {
    ...mode,
    name: `${mode.name}, ${name}`,
    dialect: dialect.name,
    async open(script, { settings, ...rest } = {}) {
      const open = await mode.open(write(script, dialect), { ...rest, settings: { dialect: dialect.name, ...settings } })
      return {
        ...open,
        // In native terms, so that the same assertions apply.
        options: { ...open.options, toolConcurrency: 8 },
        requests: () => open.requests().map((request) => readBack(request, dialect)),
      }
    },
  }
}

/** Tests that have no meaning for text calls, by the start of their names, and why; with `dialect`, only for that one. */
const notInText: readonly { tests: RegExp; because: string; dialect?: string }[] = [
  { tests: /^H18 |^H9 (a hundred|many)|^H8 nobody is asked/, because: 'text has no ids' },
  { tests: /^H12 /, because: 'text has no deltas of arguments' },
  { tests: /^H10 |^H26 calls that are refused|^H36 /, because: 'text has no arguments that are no object: tests/agent/text-calls.test.ts' },
  { tests: /^H17 a call without any tools/, because: 'without tools text is just text' },
  { tests: /^H14 an unknown tool|^H17 |^H19 names|^H37 /, because: 'JSON with an unknown name is text', dialect: 'json' },
  { tests: /^H14 __proto__|^H16 |^H17 |^H24 |^H37 listeners that change/, because: 'what has no schema is text', dialect: 'tool-action' },
]

/** Call it before each test of a mode. */
export function skipWhatTextCannotSay({ dialect }: Mode, { task, skip }: TestContext): void {
  if (dialect === undefined) return
  const found = notInText.find((entry) => entry.tests.test(task.name) && (entry.dialect ?? dialect) === dialect)
  if (found !== undefined) skip(found.because)
}

function write(script: ModeScript, dialect: Dialect): ModeScript {
  type Request = Parameters<Extract<ModeScript, (...args: never[]) => unknown>>[0]
  const told = (request: Request): Request => ({ ...request, readRequest: () => readBack(request.readRequest(), dialect) })
  const entry = (one: ScriptEntry<Request, MockReply>): ScriptEntry<Request, MockReply> =>
    typeof one === 'function'
      ? async (request, index) => replyInWords(await one(told(request), index), dialect)
      : replyInWords(one, dialect)
  if (typeof script !== 'function') return script.map(entry)
  return async (request, index) => replyInWords(await script(told(request), index), dialect)
}

function replyInWords(reply: MockReply, dialect: Dialect): MockReply {
  return typeof reply === 'string' || 'body' in reply || 'events' in reply || 'recording' in reply ? reply : inWords(reply, dialect)
}

/** A turn whose calls are in its text. */
export function inWords({ toolCalls = [], interleave: _, ...turn }: MockTurn, dialect: Dialect): MockTurn {
  if (toolCalls.length === 0) return turn
  if (turn.finishReason === 'tool_calls') delete turn.finishReason
  const written = dialect.renderCalls(toolCalls.map((call) => ({ name: call.name, arguments: argumentsOf(call) })))
  if (turn.chunks !== undefined) return { ...turn, chunks: [...turn.chunks, `\n${written}`] }
  return { ...turn, text: turn.text === undefined || turn.text === '' ? written : `${turn.text}\n${written}` }
}

/** Arguments that are not a JSON object can't be written in every dialect, so they become the only argument. */
function argumentsOf({ arguments: given, args }: ScriptedCall): Record<string, unknown> {
  const value = given ?? args ?? {}
  if (typeof value !== 'string') return value
  try {
    const read: unknown = JSON.parse(value.trim() || '{}')
    return isJsonObject(read) ? read : { value }
  } catch {
    return { value }
  }
}

const promptStart = /(^|\n\n)(# Available tools|Call no tool now: )/

/** A request in text, in terms of native calls. */
function readBack({ messages, ...request }: SentRequest, dialect: Dialect): SentRequest {
  const [first] = messages
  const system = first?.role === 'system' ? first.content : ''
  const start = promptStart.exec(system)
  const rest = start === null ? messages : messages.slice(1)
  const read: ChatMessage[] = start === null || start.index === 0 ? [] : [{ role: 'system', content: system.slice(0, start.index) }]
  let called: ToolCall[] = []
  for (const [index, message] of rest.entries()) {
    const next = rest[index + 1]
    if (message.role === 'assistant' && next?.role === 'user' && /^<tool_re(sult|sponse)/.test(textOf(next.content))) {
      const { content, calls } = readCalls(message.content, dialect, read.length)
      called = calls
      read.push({ role: 'assistant', content, toolCalls: calls })
    } else if (message.role === 'user' && called.length > 0) {
      const text = textOf(message.content)
      const contents = readResults(text, dialect)
      called.forEach(({ id, function: { name } }, index) => {
        read.push({ role: 'tool', content: contents[index] ?? '', toolCallId: id, name })
      })
      called = []
      // What the user said after results is in the same message.
      const said = text.slice(text.lastIndexOf(resultEnd(dialect)) + resultEnd(dialect).length).replace(/^\n\n/, '')
      if (said !== '') read.push({ role: 'user', content: said })
    } else read.push(message)
  }
  return { ...request, messages: read, ...(start?.[2]?.startsWith('Call no') ? { toolChoice: 'none' as const } : {}) }
}

/** The ids are those a history assigns. */
function readCalls(text: string, dialect: Dialect, position: number): { content: string; calls: ToolCall[] } {
  const called = [...text.matchAll(/"name":\s*("(?:[^"\\]|\\.)*")/g)].map(([, name = '""']): string => JSON.parse(name))
  const tools = called.map((name) => ({ type: 'function' as const, function: { name } }))
  let content = ''
  const calls: ToolCall[] = []
  for (const event of parseToolCalls(text, { dialect, tools })) {
    if (event.type === 'text') content += event.text
    else if (event.type === 'call') {
      const id = `call_${position}_${calls.length}`
      calls.push({
        id,
        type: 'function',
        function: { name: event.name, arguments: JSON.stringify(event.arguments, dialect.name === 'tool-action' ? fromText : undefined) },
      })
    }
  }
  return { content: content.trimEnd(), calls }
}

/** Tags only contain texts. */
function fromText(_key: string, value: unknown): unknown {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value
  } catch {
    return value
  }
}

function resultEnd({ name }: Dialect): string {
  return name === 'tool-action' ? '</tool_result>' : '</tool_response>'
}

function readResults(text: string, dialect: Dialect): string[] {
  if (dialect.name !== 'tool-action') {
    return [...text.matchAll(/<tool_response>\n(.*)\n<\/tool_response>/g)].map(([, json = '']) => {
      const { content, error } = JSON.parse(json)
      return content ?? error
    })
  }
  const found = text.matchAll(/<tool_result name=".*?"(?: error="true")?>\n([\s\S]*?)\n<\/tool_result>/g)
  return [...found].map(([, content = '']) => content.replace(/&lt;(?=\/?tool_)/g, '<'))
}
