import type { ToolDefinition } from '../tools/tool.ts'
import type { DeclaredTools } from './declared-tools.ts'
import type { Cursor } from './reader/cursor.ts'

/** A part of a model's text: text without calls, a call, or a call that can't be parsed. */
export type TextToolEvent =
  | { type: 'text'; text: string }
  /** A complete call. `repairs` lists what had to be corrected to parse the call. Absent if nothing was corrected. */
  | { type: 'call'; name: string; arguments: Record<string, unknown>; repairs?: string[] }
  /**
   * Text that was meant as a call but can't be parsed. `reason` is an explanation for the model. The same text is not also reported as a
   * `text` event.
   */
  | { type: 'reject'; raw: string; reason: string }

/** A call that was read from text. */
export interface TextToolCall {
  name: string
  arguments: Record<string, unknown>
  repairs?: string[]
}

/**
 * Receives the output of a parser. The strings passed to the four methods, joined in order, are identical to the input.
 *
 * Contract: methods are called synchronously and in order. They must not throw, and are not awaited.
 */
export interface TextToolSink {
  text(text: string): void
  /** `raw` is the markup that the call was read from. */
  call(call: TextToolCall, raw: string): void
  reject(raw: string, reason: string): void
  /** Called for wrappers and stray closing tags. Also called for a tool result that the model made up, and for all text after it. */
  skipped?(raw: string): void
}

/** How the response ended. After `'length'`, an unclosed call is never reported as a call. */
export type EndReason = 'stop' | 'length'

/** Reads the calls in one response as it arrives. */
export interface TextToolParser {
  /** Reads the next chunk and returns the events that the chunk completed. Never throws. */
  push(chunk: string): TextToolEvent[]
  /** Ends the response (default: `'stop'`). The parser can't be used afterwards. */
  end(reason?: EndReason): TextToolEvent[]
}

/** An earlier call, as a dialect renders it. */
export interface PastCall {
  name: string
  arguments: Record<string, unknown>
}

/** A tool's result, as a dialect renders it. */
export interface PastResult {
  name: string
  content: string
  isError?: boolean
}

/** Reads characters that may arrive in several chunks. `feed` is called with each new chunk until it returns true. */
export interface Wait {
  feed(cursor: Cursor): boolean
}

/**
 * How a reading ended. `'done'`: the characters read since the last call or rejection are skipped. `'text'`: these characters are passed on
 * as text. Parsing continues at the cursor, so a reader that has read too far must move the cursor back.
 */
export type ReadingEnd = 'done' | 'text'

/**
 * A generator that reads a call. It yields a `Wait` for more characters, and is resumed once they have been read or the response has ended.
 * A reading that it returns continues at the cursor.
 */
export interface Reading extends Generator<Wait, ReadingEnd | Reading, void> {}

/** The context that is passed to a body reader. */
export interface CallReading {
  readonly cursor: Cursor
  readonly tools: DeclaredTools
  /** The opening marker of the call. `''` if the call has no marker. */
  readonly opener: string
  /**
   * Whether the call is at the start of a line, after a colon, or after another call. False if other words precede the call on its line.
   */
  readonly alone: boolean
  /** Whether the response was cut off at its length limit. Unfinished calls must then not be reported. */
  readonly cut: boolean
  call(call: TextToolCall): void
  reject(reason: string): void
}

/**
 * Reads the body of a call, after its opening marker.
 *
 * Contract: the function returns a generator, synchronously. It must not throw, because an error would reach the caller of `push`.
 */
export type ReadBody = (reading: CallReading) => Reading

/** Markers that start a call, and the reader for the text after them. */
export interface Envelope {
  readonly open: readonly string[]
  /** Closing markers to skip after a call. `read` itself handles the closing markers that are part of the call. */
  readonly close?: readonly string[]
  readonly read: ReadBody
  /** Whether the opening marker counts only at the start of a line, possibly after blanks. */
  readonly lineStart?: true
  /** Whether the opening marker also counts inside a code fence and after a backtick. Used for markers that are code fences themselves. */
  readonly inFence?: true
  /**
   * Whether the opening marker also counts if the text before it announces an example. Special tokens, such as `<|tool_call|>`, always
   * count.
   */
  readonly inExample?: true
}

/**
 * A form of calls without a marker. `read` is tried at each character of `starts` outside code, even in the middle of a line. Default: at
 * each line outside code fences that starts like the name of a declared tool.
 */
export interface BareForm {
  readonly starts?: readonly string[]
  readonly read: ReadBody
}

/**
 * Defines how a model without native tool calls writes calls as text: the markers to look for, and the prompt for the model. Consists of
 * data and pure functions.
 *
 * Contract: the functions are synchronous and must not throw.
 */
export interface Dialect {
  readonly name: string
  readonly envelopes: readonly Envelope[]
  readonly bare?: readonly BareForm[]
  /** Reads a call whose opening tag is the name of a declared tool: `<get_weather>`. */
  readonly nameTag?: ReadBody
  /**
   * Markers that start a tool result. If the model writes such a marker after a call, it has made up the result, so the rest of the
   * response is dropped.
   */
  readonly resultMarkers: readonly string[]
  /** Describes the tools and how to call them, for the system prompt. */
  prompt(tools: readonly ToolDefinition[]): string
  /** Renders earlier calls as the model would have written them. Parsing the rendered text returns the same calls. */
  renderCalls(calls: readonly PastCall[]): string
  /** Renders earlier results in the order of their calls. Markup inside the results is escaped. */
  renderResults(results: readonly PastResult[]): string
}
