import { jsonIn } from '../../core/json.ts'
import { isJsonObject } from '../../core/messages.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { findDialect } from '../../dialects/index.ts'
import { prepareArguments } from '../../tools/arguments.ts'
import type { ModelCall } from '../types/model-call.ts'
import { openCalls } from './find-tools.ts'
import { findQuoted } from './quoted-calls.ts'
import type { ReadCall, ReadResponse } from './read-call.ts'
import { TextReading } from './text-reading.ts'

/** The text and the calls found in a refused text. */
type Meant = Pick<ReadResponse, 'text' | 'toolCalls'>

/**
 * Reads the calls in a text that a provider refused as malformed. Undefined in case of doubt. A reading is valid if the request allows all
 * its calls and their arguments fit. All valid readings must have the same calls.
 */
export async function readRefusedCalls(call: Pick<ModelCall, 'request' | 'tools'>, refused: string): Promise<Meant | undefined> {
  const legal: Meant[] = []
  for (const meant of readingsOf(call, refused)) if (await isLegal(call, meant)) legal.push(meant)
  const [first] = legal
  if (first === undefined || legal.some((other) => wordsOf(other) !== wordsOf(first))) return undefined
  const repair = 'read from the text that the provider refused as malformed'
  return { text: first.text, toolCalls: first.toolCalls.map((found) => ({ ...found, repairs: [repair, ...(found.repairs ?? [])] })) }
}

function* readingsOf({ request }: Pick<ModelCall, 'request'>, refused: string): Generator<Meant> {
  for (const name of ['tool-action', 'salvage', 'json']) yield readAs(findDialect(name), request, refused)
  const tag = readLlamaTag(refused)
  if (tag !== undefined) yield tag
}

function readAs(dialect: Dialect, { tools = [], messages }: ModelCall['request'], text: string): Meant {
  const reading = new TextReading({ dialect, tools, fencedTags: 'run', besideNative: false, unreadable: 'call' }, undefined)
  const meant = reading.finish({ text, toolCalls: [], finishReason: 'stop' })
  return findQuoted(meant.toolCalls, { messages, tools, dialect }).size > 0 ? { text, toolCalls: [] } : meant
}

/**
 * Reads a call in a `<function=…>` tag. Llama models on Groq end this tag with other characters than `>`:
 * https://github.com/tashfeenahmed/freellmapi/pull/291
 */
function readLlamaTag(text: string): Meant | undefined {
  const [head = '', name] = /^\s*<function=([\w.-]+)(?:\s*[=(,])?\s*(?=\{)/.exec(text) ?? []
  const end = text.lastIndexOf('}') + 1
  const json = text.slice(head.length, end)
  if (name === undefined || !/^\)?>?(?:<\/function>)?$/.test(text.slice(end).replace(/\s+/g, '')) || !isJsonObject(jsonIn(json)))
    return undefined
  return { text: '', toolCalls: [{ id: '', type: 'function', function: { name, arguments: json }, asText: true }] }
}

async function isLegal({ request, tools }: Pick<ModelCall, 'request' | 'tools'>, { toolCalls }: Meant): Promise<boolean> {
  const { toolChoice = 'auto', parallelToolCalls = true } = request
  if (toolCalls.length === 0 || toolChoice === 'none' || (toolCalls.length > 1 && !parallelToolCalls)) return false
  for (const { call, tool } of openCalls(toolCalls, tools)) {
    if (call.unreadable !== undefined || tool === undefined) return false
    if (typeof toolChoice === 'object' && tool.name !== toolChoice.function.name) return false
    const prepared = await prepareArguments(tool, call.function.arguments, { asText: true })
    if (!prepared.ok) return false
  }
  return true
}

function wordsOf({ toolCalls }: Meant): string {
  return JSON.stringify(toolCalls.map(({ function: { name, arguments: json } }: ReadCall) => [name, jsonIn(json)]))
}
