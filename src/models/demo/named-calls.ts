import { jsonIn } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { matchAt } from './phrase.ts'
import { excerpt, type Plan } from './plans.ts'

/** A call that a request spells out, and where its text ends. */
export interface NamedCall {
  tool: string
  args: JsonObject
  end: number
}

const verb = /(?:please\s+)?(?:call|invoke|run|execute|use|try)\s+(?:the\s+)?(?:tool\s+|function\s+)?/iy
const joint =
  /(?:\s+tool|\s+function)?(?:\s*[:,]|\s+(?:with|for|on|using|passing|given))?(?:\s+(?:the\s+)?(?:arguments?|args|parameters?|params|input))?\s*:?\s*/iy
/** What may follow a call: the end, or another clause. */
const boundary = /[.?!;,]?\s*$|[.;,!?]\s|\s*\n|\s*,?\s*(?:and|then)\b/iy
const single = /(?:"[^"\n]+"|'[^'\n]+'|`[^`\n]+`|[^\s,;]+?)(?=[.?!]*(?:\s*$|\s*[;,\n]|\s+(?:and|then)\b))/iy

/**
 * Reads the call that begins at `at`: `call weather with {"city":"Oslo"}`, `weather(city="Oslo", days=2)`, `read_file path=a.ts`,
 * `use the weather tool with city Oslo`. Undefined unless it is a tool on offer and all of it is read.
 */
export function readNamedCall(text: string, at: number, tools: readonly ToolDefinition[]): NamedCall | undefined {
  const call = readCall(text, at, tools)
  return call !== undefined && matchAt(boundary, text, call.end) !== undefined ? call : undefined
}

function readCall(text: string, from: number, tools: readonly ToolDefinition[]): NamedCall | undefined {
  const lead = matchAt(verb, text, from)?.[0] ?? ''
  const start = from + lead.length + (/[`"']/.test(text.charAt(from + lead.length)) ? 1 : 0)
  const named = tools.find(({ function: { name } }) => {
    const isNamed = text.slice(start, start + name.length).toLowerCase() === name.toLowerCase()
    return isNamed && !/[\w$-]/.test(text.charAt(start + name.length))
  })
  if (named === undefined) return undefined
  const { name } = named.function
  const nameEnd = start + name.length + (/[`"']/.test(text.charAt(start + name.length)) ? 1 : 0)
  const at = nameEnd + (matchAt(joint, text, nameEnd)?.[0].length ?? 0)
  const end = /[({]/.test(text.charAt(at)) ? bracketEnd(text, at) : undefined
  if (end !== undefined) {
    const inside = text.charAt(at) === '{' ? text.slice(at, end) : text.slice(at + 1, end - 1).trim()
    const args = inside === '' ? {} : inside.startsWith('{') ? jsonIn(inside) : readValues(inside, 0, named, end)?.args
    return isJsonObject(args) ? { tool: name, args, end } : undefined
  }
  const isCommand = lead !== '' || name.includes('_')
  // A bare name is a word like any other unless a verb or its spelling says that it is a tool's.
  if (isCommand && matchAt(boundary, text, at) !== undefined) return { tool: name, args: {}, end: at }
  const values = readPairs(text, at, named) ?? (isCommand ? readValues(text, at, named) : undefined)
  return values && { tool: name, ...values }
}

/** Pairs, or the one value that the tool needs: `read_file README.md`. With `whole`, all of the text has to be that. */
function readValues(text: string, at: number, tool: ToolDefinition, whole?: number): { args: JsonObject; end: number } | undefined {
  const pairs = readPairs(text, at, tool)
  if (pairs !== undefined) return whole === undefined || text.slice(pairs.end).trim() === '' ? pairs : undefined
  const value = whole === undefined ? matchAt(single, text, at)?.[0] : text
  const properties = propertiesOf(tool)
  const required: unknown = tool.function.parameters?.required
  const key = Array.isArray(required) && typeof required[0] === 'string' ? required[0] : [...properties.keys()][0]
  if (value === undefined || key === undefined || (whole !== undefined && /[=:]/.test(text))) return undefined
  return { args: { [key]: readValue(value, properties.get(key)) }, end: at + value.length }
}

/** Where the bracket at `open` closes, brackets inside strings aside. */
function bracketEnd(text: string, open: number): number | undefined {
  let depth = 0
  let quote = ''
  for (let at = open; at < text.length; at++) {
    const char = text.charAt(at)
    if (quote !== '') {
      if (char === '\\') at++
      else if (char === quote) quote = ''
    } else if (char === '"' || char === '`' || (char === "'" && !/\w/.test(text.charAt(at - 1)))) quote = char
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char) && --depth === 0) return at + 1
  }
  return undefined
}

const pair =
  /\s*(?:,|and\b|;)?\s*["'`]?([A-Za-z_][\w-]*)["'`]?(\s*[=:]\s*|\s+(?:is|of|as|to)\s+|\s+)("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|\[[^\]]*\]|\{[^}]*\}|[^\s,;()]+)/giy

/** `city="Oslo", days=2` and `city Oslo and days 2`; without a sign between, only names the tool has count. */
function readPairs(text: string, from: number, tool: ToolDefinition): { args: JsonObject; end: number } | undefined {
  const properties = propertiesOf(tool)
  const args = new Map<string, Json>()
  let end = from
  for (;;) {
    const [whole, key = '', sign = '', value = ''] = matchAt(pair, text, end) ?? []
    const bare = /^["'`[{]/.test(value) ? value : value.replace(/[.!?]+$/, '')
    if (whole === undefined || bare === '' || !(/[=:]/.test(sign) || properties.has(key))) break
    args.set(key, readValue(bare, properties.get(key)))
    end += whole.length - (value.length - bare.length)
  }
  return end === from ? undefined : { args: Object.fromEntries(args), end }
}

/** The schemas of the tool's arguments; none for one that does not list them. */
function propertiesOf(tool: ToolDefinition): Map<string, unknown> {
  const found = tool.function.parameters?.properties
  return new Map(typeof found === 'object' && found !== null ? Object.entries(found) : [])
}

/** A value as it was typed: quoted text is text; what the tool takes as text stays text; anything else that is JSON is read as such. */
function readValue(text: string, schema: unknown): Json {
  const quoted = /^(["'`])([\s\S]*)\1$/.exec(text)?.[2]
  const isText = isJsonObject(schema) && schema.type === 'string'
  const parsed = quoted === undefined ? (isText ? undefined : jsonIn(text)) : text.startsWith('"') ? jsonIn(text) : quoted
  return parsed ?? quoted ?? text
}

const maxShown = 4_000

/** Makes the call, and tells what it gave: short results in one line, a text with lines as it is. */
export function makeCall({ tool, args }: NamedCall): Plan {
  return (desk) => {
    const text = desk.text(tool, args)
    const value = jsonIn(text)
    const fields = isJsonObject(value) ? Object.entries(value) : []
    const isFlat = fields.length > 0 && fields.every(([, field]) => typeof field !== 'object')
    const inner = isJsonObject(value) && typeof value.text === 'string' ? value.text : value === undefined ? text : ''
    const flat = isFlat ? `${fields.map(([key, field]) => `${key}: ${String(field)}`).join(', ')}.` : text
    const shown = inner.includes('\n') ? `\n${inner.slice(0, maxShown).trimEnd()}` : excerpt(flat, maxShown)
    const given = Object.entries(args).map(([key, item]) => `${key}: ${JSON.stringify(item)}`)
    const number = fields.find(([key, field]) => key === 'result' && /^-?[\d.]+$/.test(String(field)))?.[1]
    return { text: `${tool}(${excerpt(given.join(', '), 300)}) → ${shown}`, ...(number === undefined ? {} : { number: String(number) }) }
  }
}
