/**
 * `toolloop/dialects`: text tool calls. Describes tools in the prompt of models without native calls, and parses the calls that these
 * models write as text.
 */

import { handleRejectionOf } from '../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, messageOf } from '../core/errors.ts'
import { type AnyTool, definitionsOf, type ToolDefinition } from '../tools/tool.ts'
import type { Dialect, EndReason, TextToolEvent, TextToolParser, TextToolSink } from './dialect.ts'
import { dialects } from './dialects.ts'
import { dialectNames } from './names.ts'
import { DialectParser, type ParserOptions } from './reader/parser.ts'

/** The options of `createTextToolParser`. */
export interface TextToolParserOptions extends Omit<ParserOptions, 'tools'> {
  /** The tools that were offered, as tools or as definitions: see `ParserOptions`. */
  tools?: readonly (AnyTool | ToolDefinition)[]
  /** A dialect or its name. Default: `'tool-action'`. */
  dialect?: Dialect | string
}

const optionNames: OptionNames<TextToolParserOptions> = { dialect: true, tools: true, fencedTags: true }

export { dialectNames }

/** Returns the dialect with a name. If a dialect is passed, returns it unchanged. Throws `invalid_option` for an unknown name. */
export function findDialect(dialect: Dialect | string = 'tool-action'): Dialect {
  if (typeof dialect !== 'string') return dialect
  const found = dialects.find(({ name }) => name === dialect)
  if (found === undefined) throw new InvalidOptionError('dialect', `one of ${dialectNames.join(', ')}, or a Dialect`, dialect)
  return found
}

/** Wraps a sink whose functions may be async, contrary to their types. A rejection is emitted as a process warning. */
function heardSink(sink: TextToolSink): TextToolSink {
  const warn = (error: unknown) => process.emitWarning(messageOf(error), { type: 'ToolloopSinkFailure' })
  return {
    text: (text) => handleRejectionOf(sink.text(text), warn),
    call: (call, raw) => handleRejectionOf(sink.call(call, raw), warn),
    reject: (raw, reason) => handleRejectionOf(sink.reject(raw, reason), warn),
    skipped: (raw) => handleRejectionOf(sink.skipped?.(raw), warn),
  }
}

/** Creates a parser that reports to `sink` instead of returning events. Used by the agent loop. */
export function openTextToolParser(options: TextToolParserOptions, sink: TextToolSink): DialectParser {
  const { dialect, tools, ...rest } = options
  return new DialectParser(findDialect(dialect), heardSink(sink), tools === undefined ? rest : { ...rest, tools: definitionsOf(tools) })
}

/**
 * Creates a parser that reads the calls in one response of a model as it arrives:
 *
 * ```ts
 * const parser = createTextToolParser({ dialect: 'hermes', tools })
 * for await (const delta of response) for (const event of parser.push(delta)) …
 * for (const event of parser.end()) …
 * ```
 *
 * Text is returned immediately. A call is returned by the `push` that completes it. Events are in the order of the response. The result
 * does not depend on how the response is split into chunks, except that text may be split into several events.
 */
export function createTextToolParser(options: TextToolParserOptions = {}): TextToolParser {
  checkOptionNames(options, optionNames, 'a parser')
  let events: TextToolEvent[] = []
  const parser = openTextToolParser(options, {
    text: (text) => events.push({ type: 'text', text }),
    call: (call) => events.push({ type: 'call', ...call }),
    reject: (raw, reason) => events.push({ type: 'reject', raw, reason }),
  })
  const take = (): TextToolEvent[] => {
    const taken = events
    events = []
    return taken
  }
  return {
    push(chunk: string): TextToolEvent[] {
      parser.push(chunk)
      return take()
    },
    end(reason?: EndReason): TextToolEvent[] {
      parser.end(reason)
      return take()
    },
  }
}

/** Parses a complete response. Adjacent texts become one event. */
export function parseToolCalls(text: string, options: TextToolParserOptions = {}): TextToolEvent[] {
  const parser = createTextToolParser(options)
  const events: TextToolEvent[] = []
  for (const event of [...parser.push(text), ...parser.end()]) {
    const last = events.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text += event.text
    else events.push(event)
  }
  return events
}

/** Describes tools and how to call them, for the system prompt. Accepts tools or their definitions. Default dialect: `'tool-action'`. */
export function generateToolPrompt(tools: readonly (AnyTool | ToolDefinition)[], dialect?: Dialect | string): string {
  return findDialect(dialect).prompt(definitionsOf(tools))
}

export { jsonBody } from './bodies/json/json-body.ts'
export { pythonBody } from './bodies/python/python-body.ts'
export type {
  BareForm,
  CallReading,
  Dialect,
  EndReason,
  Envelope,
  PastCall,
  PastResult,
  ReadBody,
  TextToolCall,
  TextToolEvent,
  TextToolParser,
  TextToolSink,
} from './dialect.ts'
export { DialectParser, type ParserOptions } from './reader/parser.ts'
export { defuse, describeTools, describeToolsAsJson, renderTaggedResults, writeJson } from './render.ts'
