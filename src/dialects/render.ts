import { isJsonObject, setField } from '../core/messages.ts'
import type { ToolDefinition } from '../tools/tool.ts'
import type { Dialect, PastCall, PastResult } from './dialect.ts'

/** Lists the tools for a prompt: names, descriptions, and each parameter's name, type, description and whether it is required. */
export function describeTools(tools: readonly ToolDefinition[]): string {
  if (tools.length === 0) return noTools
  return ['# Available tools', ...tools.map(({ function: tool }) => describeTool(tool))].join('\n\n')
}

/** Lists the tools as JSON for a prompt, one per line. */
export function describeToolsAsJson(tools: readonly ToolDefinition[]): string {
  if (tools.length === 0) return noTools
  return `# Available tools\n\n<tools>\n${tools.map((tool) => JSON.stringify(tool)).join('\n')}\n</tools>`
}

/** Creates a dialect's prompt: the tools and, if there are any, how to call them. */
export function promptWith(describe: (tools: readonly ToolDefinition[]) => string, instructions: string): Dialect['prompt'] {
  return (tools) => (tools.length === 0 ? noTools : `${describe(tools)}\n\n${instructions}`)
}

const noTools = '# Available tools\n\n(none)\n\nNo tool is available.'

function describeTool({ name, description, parameters }: ToolDefinition['function']): string {
  const lines = [`## ${name}`]
  if (description) lines.push(description)
  const properties = isJsonObject(parameters?.properties) ? Object.entries(parameters.properties) : []
  const required = Array.isArray(parameters?.required) ? parameters.required : []
  lines.push(properties.length === 0 ? 'Parameters: none' : 'Parameters:')
  for (const [key, value] of properties) {
    const schema = isJsonObject(value) ? value : {}
    const about = typeof schema.description === 'string' ? `: ${schema.description}` : ''
    const choice = Array.isArray(schema.enum) ? `, one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')}` : ''
    const inner = isJsonObject(schema.properties) || isJsonObject(schema.items) ? `, schema ${JSON.stringify(schema)}` : ''
    lines.push(`- ${key} (${typeName(schema)}, ${required.includes(key) ? 'required' : 'optional'}${choice}${inner})${about}`)
  }
  return lines.join('\n')
}

function typeName(schema: Record<string, unknown>): string {
  if (typeof schema.type === 'string') return schema.type
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : schema.oneOf
  if (Array.isArray(branches)) return branches.map((branch) => (isJsonObject(branch) ? typeName(branch) : 'any')).join(' or ')
  return Array.isArray(schema.enum) ? typeof schema.enum[0] : 'any'
}

/** Arguments for an example call: values for the tool's required parameters, or for its first parameter. */
export function exampleValues({ function: { parameters } }: ToolDefinition): Record<string, unknown> {
  const properties = isJsonObject(parameters?.properties) ? parameters.properties : {}
  const required = Array.isArray(parameters?.required) ? parameters.required.filter((one): one is string => typeof one === 'string') : []
  const keys = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  const values: Record<string, unknown> = {}
  for (const key of keys) setField(values, key, exampleValue(Object.hasOwn(properties, key) ? properties[key] : undefined))
  return values
}

function exampleValue(schema: unknown): unknown {
  if (!isJsonObject(schema)) return '…'
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return true
    case 'array':
      return []
    case 'object':
      return {}
    default:
      return '…'
  }
}

/** Writes a value as text: strings verbatim, all other values as JSON. */
export function writeText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
}

/** Returns every marker that a dialect reads or writes. */
export function markersOf(dialect: Dialect): string[] {
  const markers = dialect.envelopes.flatMap(({ open, close = [] }) => [...open, ...close])
  // `resultMarkers` contains only opening tags.
  const closing = dialect.resultMarkers.map((marker) => (/^[<[]/.test(marker) ? `${marker.charAt(0)}/${marker.slice(1)}` : marker))
  return [...new Set([...markers, ...dialect.resultMarkers, ...closing])]
}

/** Writes JSON that contains no marker of the dialect. The first character of a marker in a string is escaped. */
export function writeJson(value: unknown, dialect: Dialect): string {
  let text = JSON.stringify(value) ?? 'null'
  for (const marker of markersOf(dialect)) {
    if (jsonMarker.test(marker))
      text = text.replaceAll(marker, `\\u${marker.charCodeAt(0).toString(16).padStart(4, '0')}${marker.slice(1)}`)
  }
  return text
}

/** Matches a marker that can occur in JSON only inside a string. */
const jsonMarker = /^[^[{"\d]|^\[[A-Z_/]/

/**
 * Escapes the dialect's markers in a text that a tool returned. The text can then neither end the element around it, nor become a call if
 * the model copies it.
 */
export function defuse(text: string, dialect: Dialect): string {
  let safe = text
  for (const marker of markersOf(dialect)) {
    if (!safe.includes(marker)) continue
    const first = marker.charAt(0)
    safe = safe.replaceAll(marker, `${harmless[first] ?? `${first}\u200b`}${marker.slice(1)}`)
  }
  return safe
}

const harmless: Readonly<Record<string, string>> = { '<': '&lt;', '[': '&#91;', '`': '&#96;' }

/** Renders results as elements: `<tag name="…">content</tag>`. */
export function renderTaggedResults(dialect: Dialect, results: readonly PastResult[], tag: string): string {
  return results
    .map(({ name, content, isError }) => `<${tag} name="${name}"${isError ? ' error="true"' : ''}>\n${defuse(content, dialect)}\n</${tag}>`)
    .join('\n')
}

export function renderTextResults(dialect: Dialect, results: readonly PastResult[]): string {
  return results
    .map(({ content, isError }) => `<tool_response>\n${isError ? 'Error: ' : ''}${defuse(content, dialect)}\n</tool_response>`)
    .join('\n')
}

export function renderJsonResults(dialect: Dialect, results: readonly PastResult[]): string {
  return results
    .map(({ name, content, isError }) => {
      const body = writeJson({ name, ...(isError ? { error: content } : { content }) }, dialect)
      return `<tool_response>\n${body}\n</tool_response>`
    })
    .join('\n')
}

export function renderJsonCalls(dialect: Dialect, calls: readonly PastCall[]): string {
  return calls.map((call) => renderJsonCall(dialect, call)).join('\n')
}

export function renderJsonCall(dialect: Dialect, { name, arguments: args }: PastCall): string {
  return `<tool_call>\n${writeJson({ name, arguments: args }, dialect)}\n</tool_call>`
}

/**
 * Returns a call's arguments as strings, for formats without escapes. Returns undefined if an argument contains a marker or doesn't fit the
 * format. The call must then be written as JSON.
 */
export function plainTexts(
  dialect: Dialect,
  { arguments: args }: PastCall,
  tags: readonly string[],
  fits: (key: string, text: string) => boolean,
): [key: string, text: string][] | undefined {
  const texts = Object.entries(args).map(([key, value]): [string, string] => [key, writeText(value)])
  const markers = [...markersOf(dialect), ...tags]
  const isPlain = (text: string): boolean => !markers.some((marker) => text.includes(marker))
  return texts.every(([key, text]) => fits(key, text) && isPlain(key) && isPlain(text)) ? texts : undefined
}

/** Matches a key that can be written in a tag without escapes. */
export const plainKey: RegExp = /^[^<>\s"'=]+$/
