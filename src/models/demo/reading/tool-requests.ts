import { isJsonObject, type Json, type JsonObject } from '../../../messages.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'

/** A tool the request calls by name, and the part of the text that does. */
export interface NamedCall {
  tool: string
  args: JsonObject
  /** What the call lacks or has too much of, in words; it is then not made. */
  problem?: string
  start: number
  end: number
}

const verb = /\b(?:call|invoke|run|execute|use|try)\s+(?:the\s+)?(?:tool\s+|function\s+)?/giy

/**
 * Finds the tools a request calls by name: `call weather with {"city":"Oslo"}`, `weather(city="Oslo", days=2)`, `use the weather tool with
 * city Oslo`, `call now and weather("Oslo")`. Only names of tools on offer count.
 */
export function readNamedCalls(text: string, tools: readonly ToolDefinition[]): NamedCall[] {
  if (tools.length === 0) return []
  const names = [...tools].sort((a, b) => b.function.name.length - a.function.name.length)
  const calls: NamedCall[] = []
  for (let at = 0; at < text.length; at++) {
    if (at > 0 && /[\w$.-]/.test(text.charAt(at - 1))) continue
    verb.lastIndex = at
    const lead = verb.exec(text)?.[0] ?? (startsChain(text, at, calls.at(-1)) ? '' : undefined)
    const call = callAt(text, at + (lead?.length ?? 0), names, lead !== undefined)
    if (call === undefined) continue
    calls.push({ ...call, start: at })
    at = call.end - 1
  }
  return calls
}

/** `call a and b`: right behind a call, a name needs no verb of its own. */
function startsChain(text: string, at: number, last: NamedCall | undefined): boolean {
  return last !== undefined && /^\s*(?:,|and|then|,\s*and)+\s*(?:then\s+)?(?:the\s+)?$/.test(text.slice(last.end, at))
}

/** The call whose tool is named at `from`. Without brackets only behind a verb: a name is a word like any other. */
function callAt(text: string, from: number, tools: readonly ToolDefinition[], isCommanded: boolean): Omit<NamedCall, 'start'> | undefined {
  const quote = /[`"']/.test(text.charAt(from)) ? 1 : 0
  const at = from + quote
  const tool = tools.find(
    ({ function: { name } }) =>
      text.slice(at, at + name.length).toLowerCase() === name.toLowerCase() && !/[\w$-]/.test(text.charAt(at + name.length)),
  )
  if (tool === undefined) return undefined
  const name = tool.function.name
  const end = at + name.length + quote
  const brackets = /^\s?\(/.exec(text.slice(end))
  if (brackets) {
    const close = closingBracket(text, end + brackets[0].length - 1)
    if (close === undefined) return undefined
    const inside = text.slice(end + brackets[0].length, close)
    return { tool: name, ...readArguments(inside, tool), end: close + 1 }
  }
  if (!isCommanded) return undefined
  const joint =
    /^(?:\s+tool|\s+function)?(?:\s*[:,]|\s+(?:with|for|on|using|passing|given))?(?:\s+(?:the\s+)?(?:arguments?|args|parameters?|params|input))?\s*:?\s*/i.exec(
      text.slice(end),
    )?.[0] ?? ''
  const start = end + joint.length
  const json = text.charAt(start) === '{' ? closingBracket(text, start) : undefined
  if (json !== undefined) return { tool: name, ...readArguments(text.slice(start, json + 1), tool), end: json + 1 }
  const pairs = readPairs(text, start, tool)
  if (pairs !== undefined) return { tool: name, args: pairs.args, end: pairs.end }
  const bare = joint.trim() === '' || /^(tool|function)$/i.test(joint.trim())
  // `use weather data`: the name is a word among others; a call without arguments ends here or goes on with `and`.
  if (
    !bare ||
    !/^\s*(?:$|[.,;!?)]|and\b|then\b|to\b|,)/i.test(text.slice(end + (/^\s+(?:tool|function)/i.exec(text.slice(end))?.[0].length ?? 0)))
  )
    return undefined
  return { tool: name, args: {}, end: end + joint.trimEnd().length }
}

/** Where the bracket at `open` closes, brackets inside strings aside. */
function closingBracket(text: string, open: number): number | undefined {
  let depth = 0
  let quote = ''
  for (let at = open; at < text.length; at++) {
    const char = text.charAt(at)
    if (quote !== '') {
      if (char === '\\') at++
      else if (char === quote) quote = ''
    } else if (char === '"' || char === '`' || (char === "'" && !/\w/.test(text.charAt(at - 1)))) quote = char
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char) && --depth === 0) return at
  }
  return undefined
}

/** What stands in brackets or braces: JSON, pairs, or the one value of a tool that needs one. */
function readArguments(inside: string, tool: ToolDefinition): { args: JsonObject; problem?: string } {
  const text = inside.trim()
  if (text === '') return { args: {} }
  if (text.startsWith('{')) {
    const parsed = parse(text)
    return isJsonObject(parsed) ? { args: parsed } : { args: {}, problem: `its arguments are not a JSON object: ${text}` }
  }
  const pairs = readPairs(text, 0, tool)
  if (pairs !== undefined && text.slice(pairs.end).trim() === '') return { args: pairs.args }
  const [first] = required(tool)
  if (first !== undefined && !/[=:]/.test(text)) return { args: { [first]: readValue(text, typeOf(tool, first)) } }
  return { args: {}, problem: `its arguments are neither JSON nor name=value: ${text}` }
}

const pair =
  /\s*(?:,|and\b|;)?\s*["'`]?([A-Za-z_][\w-]*)["'`]?(\s*[=:]\s*|\s+(?:is|of|as|to)\s+|\s+)("(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|\[[^\]]*\]|\{[^}]*\}|[^\s,;()]+)/giy

/** `city="Oslo", days=2` and `city Oslo and days 2`; without a sign between, only names the tool has count. */
function readPairs(text: string, from: number, tool: ToolDefinition): { args: JsonObject; end: number } | undefined {
  const args: JsonObject = {}
  let end = from
  for (;;) {
    pair.lastIndex = end
    const found = pair.exec(text)
    if (found === null) break
    const [whole, key = '', sign = '', value = ''] = found
    const isKnown = Object.hasOwn(properties(tool), key)
    if (!/[=:]/.test(sign) && !isKnown) break
    const bare = /^["'`[{]/.test(value) ? value : value.replace(/[.!?]+$/, '')
    if (bare === '') break
    Object.defineProperty(args, key, { value: readValue(bare, typeOf(tool, key)), enumerable: true, configurable: true, writable: true })
    end += whole.length - (value.length - bare.length)
  }
  return end === from ? undefined : { args, end }
}

/** The properties of the tool's parameters; none for a schema that does not list them. */
function properties(tool: ToolDefinition): Record<string, unknown> {
  const found = tool.function.parameters?.properties
  return typeof found === 'object' && found !== null ? { ...found } : {}
}

/** The names a call has to give, or all when none is marked. */
function required(tool: ToolDefinition): string[] {
  const names = Object.keys(properties(tool))
  const list: unknown = tool.function.parameters?.required
  const needed = Array.isArray(list) ? list.filter((name) => typeof name === 'string') : []
  return needed.length > 0 ? needed : names
}

function typeOf(tool: ToolDefinition, name: string): string | undefined {
  const property = properties(tool)[name]
  const type: unknown = typeof property === 'object' && property !== null && 'type' in property ? property.type : undefined
  return typeof type === 'string' ? type : undefined
}

/** A value as it was typed: quoted text is text; what the tool takes as text stays text; anything else that is JSON is read as such. */
function readValue(text: string, type: string | undefined): Json {
  const quoted = /^(["'`])([\s\S]*)\1$/.exec(text)
  if (quoted) {
    const parsed = text.startsWith('"') ? parse(text) : undefined
    return typeof parsed === 'string' ? parsed : (quoted[2] ?? '')
  }
  const parsed = type === 'string' ? undefined : parse(text)
  return parsed === undefined ? text : parsed
}

function parse(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    // Not JSON: then it is text, or the caller says what is wrong with it.
    return undefined
  }
}
