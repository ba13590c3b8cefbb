import { isJsonObject, setField } from '../../../core/messages.ts'
import { withoutDecoration } from '../../../tools/call/written-name.ts'
import type { DeclaredTools } from '../../declared-tools.ts'
import type { TextToolCall } from '../../dialect.ts'
import { readJsonText } from './json-text.ts'

/** The keys of a call's name and of its arguments, the most likely first. */
export const nameKeys: readonly string[] = [
  'name',
  'tool',
  'tool_name',
  'function',
  'function_name',
  'action',
  'recipient_name',
  'toolName',
]
export const argumentKeys: readonly string[] = [
  'arguments',
  'args',
  'parameters',
  'params',
  'input',
  'action_input',
  'tool_input',
  'kwargs',
]
/** The keys of a list of calls. */
export const listKeys: readonly string[] = ['tool_calls', 'tool_uses', 'calls']

export type JsonCalls = { ok: true; calls: TextToolCall[] } | { ok: false; problem: string }

/** Whether a marker precedes the call. A marked call only requires a name; a bare call requires a declared name and arguments. */
export type CallForm = 'marked' | 'bare'

/** Reads the calls in a JSON value, which is one object or a list of objects. Fails if any of the objects is not a call. */
export function callsOfJson(value: unknown, tools: DeclaredTools, form: CallForm): JsonCalls {
  if (Array.isArray(value)) {
    const calls: TextToolCall[] = []
    for (const one of value) {
      const read = callsOfJson(one, tools, form)
      if (!read.ok) return read
      calls.push(...read.calls)
    }
    return calls.length > 0 ? { ok: true, calls } : { ok: false, problem: 'the list of calls is empty' }
  }
  if (!isJsonObject(value)) return { ok: false, problem: 'expected an object with "name" and "arguments"' }
  for (const key of listKeys) if (Object.hasOwn(value, key) && Array.isArray(value[key])) return callsOfJson(value[key], tools, form)
  // The format of OpenAI, `{"function": {"name", "arguments"}}`, and variants of it under other keys.
  for (const key of ['function', 'tool', 'tool_call'])
    if (Object.hasOwn(value, key) && isJsonObject(value[key])) return callsOfJson(value[key], tools, form)
  const name = nameOf(value)
  if (name === undefined) return callsByToolKey(value, tools, form)
  return callOf(name, value, tools, form)
}

function callOf(written: string, value: Record<string, unknown>, tools: DeclaredTools, form: CallForm): JsonCalls {
  const resolved = tools.resolve(written)
  if (resolved === undefined && form === 'bare') return { ok: false, problem: `no tool is named "${written}"` }
  const name = resolved ?? withoutDecoration(written)
  if (name === '') return { ok: false, problem: 'the call has no name' }
  const key = argumentKeys.find((one) => Object.hasOwn(value, one))
  const repairs = nameRepairs(written, name)
  if (key === undefined && form === 'bare') return { ok: false, problem: 'the call has no arguments' }
  const args = readArguments(key === undefined ? undefined : value[key], name, tools, repairs)
  if (args === undefined) return { ok: false, problem: `expected "${key}" to be an object` }
  if (isDefinition(value, args, name, tools)) return { ok: false, problem: 'this is the definition of a tool, not a call' }
  return { ok: true, calls: [finishCall(name, args, repairs)] }
}

/**
 * Reads `{"get_weather": {"city": "Oslo"}}`: each key is the name of a declared tool. A bare call may only have arguments that its tool
 * declares.
 */
function callsByToolKey(value: Record<string, unknown>, tools: DeclaredTools, form: CallForm): JsonCalls {
  const calls: TextToolCall[] = []
  for (const [key, args] of Object.entries(value)) {
    const known = tools.has(key) && isJsonObject(args) && !isSchema(args) && (form === 'marked' || tools.declares(key, args))
    if (!known) return { ok: false, problem: 'expected an object with "name" and "arguments"' }
    calls.push(finishCall(key, args, []))
  }
  return calls.length > 0 ? { ok: true, calls } : { ok: false, problem: 'expected an object with "name" and "arguments"' }
}

/** Returns an entry for `repairs` if the model wrote the tool's name differently. */
export function nameRepairs(written: string, name: string): string[] {
  return name === written ? [] : [`tool name read from "${written}"`]
}

/** Added to `repairs` if the JSON has comments, single quotes or similar deviations. */
export const looseJson = 'JSON that is not strict'

export function finishCall(name: string, args: Record<string, unknown>, repairs: readonly string[]): TextToolCall {
  return repairs.length > 0 ? { name, arguments: args, repairs: [...new Set(repairs)] } : { name, arguments: args }
}

function nameOf(value: Record<string, unknown>): string | undefined {
  for (const key of nameKeys) {
    const name = Object.hasOwn(value, key) ? value[key] : undefined
    if (typeof name === 'string' && name.trim() !== '') return name
  }
  return undefined
}

/**
 * Reads a call's arguments. They may be absent, an object, or the JSON text of an object. For a tool with one argument, they may also be
 * that argument's value.
 */
export function readArguments(value: unknown, name: string, tools: DeclaredTools, repairs: string[]): Record<string, unknown> | undefined {
  if (isJsonObject(value)) return value
  if (value === undefined || value === null || value === '') {
    if (value === undefined) repairs.push('no arguments written')
    return {}
  }
  if (typeof value === 'string') {
    const read = readJsonText(value)
    if (read.ok && isJsonObject(read.value)) {
      repairs.push('arguments written as a JSON string')
      return read.value
    }
    const only = tools.onlyArgument(name)
    if (only !== undefined) {
      repairs.push(`text taken as the argument "${only}"`)
      const args: Record<string, unknown> = {}
      setField(args, only, value)
      return args
    }
  }
  return undefined
}

/** Whether the object is a tool definition, not a call. Some models repeat a tool's definition, with its JSON Schema under `parameters`. */
function isDefinition(value: Record<string, unknown>, args: Record<string, unknown>, name: string, tools: DeclaredTools): boolean {
  if (isSchema(args) && !tools.declares(name, args)) return true
  const described = Object.hasOwn(value, 'description') && typeof value.description === 'string'
  return described && (Object.keys(args).length === 0 || !tools.declares(name, args))
}

function isSchema(args: Record<string, unknown>): boolean {
  return isJsonObject(args.properties) && (args.type === undefined || args.type === 'object' || args.type === 'dict')
}
