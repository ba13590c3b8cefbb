import { createTextToolParser, type EndReason, type TextToolEvent, type TextToolParserOptions } from '../../src/dialects/index.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'

/** A tool whose parameters have these JSON types. `string?` is optional. */
export function tool(name: string, parameters: Record<string, string> = {}): ToolDefinition {
  const properties = Object.fromEntries(Object.entries(parameters).map(([key, type]) => [key, { type: type.replace('?', '') }]))
  const required = Object.keys(parameters).filter((key) => !parameters[key]?.endsWith('?'))
  return { type: 'function', function: { name, description: `Does ${name}.`, parameters: { type: 'object', properties, required } } }
}

export const tools: ToolDefinition[] = [
  tool('get_weather', { city: 'string', days: 'integer?' }),
  tool('search', { query: 'string', limit: 'integer?', tags: 'array?', exact: 'boolean?', filter: 'object?' }),
  tool('write_file', { path: 'string', content: 'string' }),
  tool('ping'),
]

export interface Result {
  text: string
  calls: { name: string; arguments: Record<string, unknown> }[]
  repairs: string[]
  rejected: { raw: string; reason: string }[]
  /** `text`, `call:name` and `reject`, with adjacent texts joined. */
  order: string[]
}

export interface ReadOptions extends TextToolParserOptions {
  reason?: EndReason
}

/** Reads text, in pieces or complete. */
export function read(pieces: string | readonly string[], options: ReadOptions = {}): Result {
  const { reason, ...rest } = options
  const parser = createTextToolParser({ tools, ...rest })
  const list = typeof pieces === 'string' ? [pieces] : pieces
  return summarize([...list.flatMap((piece) => parser.push(piece)), ...parser.end(reason)])
}

export function summarize(events: readonly TextToolEvent[]): Result {
  const result: Result = { text: '', calls: [], repairs: [], rejected: [], order: [] }
  for (const event of events) {
    switch (event.type) {
      case 'text':
        result.text += event.text
        if (result.order.at(-1) !== 'text') result.order.push('text')
        break
      case 'call':
        result.calls.push({ name: event.name, arguments: event.arguments })
        result.repairs.push(...(event.repairs ?? []))
        result.order.push(`call:${event.name}`)
        break
      case 'reject':
        result.rejected.push({ raw: event.raw, reason: event.reason })
        result.order.push('reject')
        break
    }
  }
  return result
}

/** Every way to split a text in two, and into single characters. */
export function cuts(text: string): string[][] {
  const all: string[][] = [[...text]]
  for (let at = 1; at < text.length; at++) all.push([text.slice(0, at), text.slice(at)])
  return all
}
