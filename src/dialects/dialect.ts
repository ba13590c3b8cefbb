import type { ToolDefinition } from '../tools/tool.ts'
import type { DeclaredTools } from './declared-tools.ts'
import type { Cursor } from './reader/cursor.ts'

/** What a parser found in a model's text, in order. Text never contains markup of a call. */
export type TextToolEvent =
  | { type: 'text'; text: string }
  /** A complete call. `repairs` says what had to be repaired to read it; absent if nothing had to be. */
  | { type: 'call'; name: string; arguments: Record<string, unknown>; repairs?: string[] }
  /** Text that was meant as a call but can't be read, with the reason for the model. It is not also reported as text. */
  | { type: 'reject'; raw: string; reason: string }

/** A call that was read from text. */
export interface TextToolCall {
  name: string
  arguments: Record<string, unknown>
  repairs?: string[]
}

/**
 * Receives what a parser finds. The texts of all four methods, joined in order, are the input, so a held call can be shown as text instead.
 *
 * Contract: methods are called synchronously and in order. They must not throw, and are not awaited.
 */
export interface TextToolSink {
  text(text: string): void
  /** `raw` is the markup that the call was read from. */
  call(call: TextToolCall, raw: string): void
  reject(raw: string, reason: string): void
  /** Markup without content (wrappers, stray closing tags), and everything after a tool result that the model made up. */
  skipped?(raw: string): void
}

/** How the response ended. After `'length'`, an unclosed call is never reported as a call. */
export type EndReason = 'stop' | 'length'

/** Reads the calls in one response as it arrives. */
export interface TextToolParser {
  /** Reads one piece and returns the events that it completed. Never throws. */
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

/** Waits for characters. Takes what it can from the cursor, and is fed again with the next piece until it returns true. */
export interface Wait {
  feed(cursor: Cursor): boolean
}

/**
 * The outcome of a reading. `'done'`: what was read since the last call or rejection is skipped. `'text'`: it was not a call, and is passed
 * on as text. Reading continues at the cursor, so a reader moves the cursor back if it has read too much.
 */
export type ReadingEnd = 'done' | 'text'

/**
 * A reader, written as sequential code: it yields what it waits for, and is resumed when that has arrived or the response has ended. It may
 * return another reading, which then takes its place.
 */
export interface Reading extends Generator<Wait, ReadingEnd | Reading, void> {}

/** What a body reader works with. */
export interface CallReading {
  readonly cursor: Cursor
  readonly tools: DeclaredTools
  /** The marker that started this reading; `''` for an unmarked one. */
  readonly opener: string
  /** Whether the reading started at the start of a line, after a colon, or after another call. Otherwise words precede it in its line. */
  readonly alone: boolean
  /** True once the response has ended by its length limit. Unfinished calls must then not be reported. */
  readonly cut: boolean
  call(call: TextToolCall): void
  reject(reason: string): void
}

/**
 * Reads the body of a call, after its opening marker.
 *
 * Contract: returns a generator, synchronously. Must not throw: an error reaches the caller of `push`.
 */
export type ReadBody = (reading: CallReading) => Reading

/** Markers that start a call, and the reader of what follows. */
export interface Envelope {
  readonly open: readonly string[]
  /** Markers that may be left over after a call and are then skipped. A body reader that needs closing markers has its own. */
  readonly close?: readonly string[]
  readonly read: ReadBody
  /** Whether the opening marker counts only at the start of a line, possibly after blanks. */
  readonly lineStart?: true
  /** Whether the opening marker also counts inside a code fence and after a backtick. For markers that are a fence. */
  readonly inFence?: true
  /** Whether the opening marker also counts if the text announces an example. Control tokens always do. */
  readonly inExample?: true
}

/**
 * A call without a marker. With `starts`, it is tried at each of these characters outside code, `alone` or not. Without, it is tried at a
 * line outside code fences that begins like the name of a declared tool.
 */
export interface BareForm {
  readonly starts?: readonly string[]
  readonly read: ReadBody
}

/**
 * How a model without native calls writes calls as text: what to look for, and what to show the model. Consists of data and pure functions.
 */
export interface Dialect {
  readonly name: string
  readonly envelopes: readonly Envelope[]
  readonly bare?: readonly BareForm[]
  /** Reads a call whose opening tag is the name of a declared tool: `<get_weather>`. */
  readonly nameTag?: ReadBody
  /** The start of a tool result. If the model writes one itself after a call, it is made up, and the rest of the response is dropped. */
  readonly resultMarkers: readonly string[]
  /** Describes the tools and how to call them, for the system prompt. */
  prompt(tools: readonly ToolDefinition[]): string
  /** Renders earlier calls as the model would have written them. Reading the text gives the same calls. */
  renderCalls(calls: readonly PastCall[]): string
  /** Renders earlier results in the order of their calls. Markup in their content is made harmless. */
  renderResults(results: readonly PastResult[]): string
}
