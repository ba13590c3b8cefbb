import { jsonIn } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { excerpt, type Question } from './reading.ts'

const verb = /^(?:please\s+)?(?:call|invoke|run|execute|use)\s+(?:the\s+)?(?:tool\s+)?/i
const joint = /^(?:\s+tool)?(?:\s+(?:with|for|on))?(?:\s+(?:the\s+)?(?:arguments|args))?\s*:?\s*/i

/** Reads a call that a clause spells out: `call weather with {"city":"Oslo"}`, `weather(city="Oslo")`, `read_file path=a.ts`. */
export function readNamedCall(clause: string, tools: readonly ToolDefinition[]): Question | undefined {
  const lead = verb.exec(clause)?.[0] ?? ''
  const [, named = '', after = ''] = /^[`"']?([\w-]+(?:\.[\w-]+)*)[`"']?([\s\S]*)$/.exec(clause.slice(lead.length)) ?? []
  const tool = tools.find(({ function: { name } }) => name.toLowerCase() === named.toLowerCase())?.function
  if (tool === undefined) return undefined
  const rest = after.replace(joint, '').replace(/(?<=[\])}"'`\w]|^)[.?!]+$/, '')
  const text = /^\(([\s\S]*)\)$/.exec(rest)?.[1]?.trim() ?? rest
  // A name alone is an ordinary word, unless a verb or the spelling shows that it is a tool.
  const isCommand = lead !== '' || tool.name.includes('_') || text !== rest
  const args = text.startsWith('{') ? jsonIn(text) : readArguments(text, tool.parameters, isCommand)
  if (!isJsonObject(args)) return undefined
  return { tool: tool.name, args, tell: (_, made, text) => `${tool.name} ${excerpt(JSON.stringify(made), 300)} → ${text.slice(0, 4_000)}` }
}

const pair =
  /\s*(?:,|and\b)?\s*["'`]?([A-Za-z_][\w-]*)["'`]?(\s*[=:]\s*|\s+(?:is\s+)?)("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|\[[^\]]*\]|\{[^}]*\}|[^\s,"'`[{][^\s,]*)/iy

/** Reads arguments such as `city="Oslo", days=2` or `city Oslo and days 2`. A single value, such as `Oslo`, is the first parameter. */
function readArguments(text: string, parameters: Readonly<Record<string, unknown>> = {}, isCommand: boolean): JsonObject | undefined {
  const { properties, required } = parameters
  const schemas = new Map<string, unknown>(typeof properties === 'object' && properties !== null ? Object.entries(properties) : [])
  if (text === '' || text.length > 5_000) return text === '' && isCommand ? {} : undefined
  const [first] = Array.isArray(required) ? required : schemas.keys()
  const isSingle = isCommand && /^(?:"[^"]*"|'[^']*'|[^\s=:;,"'{}[\]]+)$/.test(text)
  if (isSingle && typeof first === 'string') return { [first]: readValue(text, schemas.get(first)) }
  const args = new Map<string, Json>()
  for (pair.lastIndex = 0; pair.lastIndex < text.length; ) {
    const [, key = '', sign = '', value = ''] = pair.exec(text) ?? []
    if (key === '' || !(/[=:]/.test(sign) || schemas.has(key))) return undefined
    args.set(key, readValue(value, schemas.get(key)))
  }
  return Object.fromEntries(args)
}

/** Quoted texts and values of string parameters are texts; all other values are parsed as JSON. */
function readValue(text: string, schema: unknown): Json {
  const quoted = /^(["'`])([\s\S]*)\1$/.exec(text)?.[2]
  if (quoted !== undefined) return (text.startsWith('"') ? jsonIn(text) : undefined) ?? quoted
  return isJsonObject(schema) && schema.type === 'string' ? text : (jsonIn(text) ?? text)
}
