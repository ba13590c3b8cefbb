import type { ToolDefinition } from '../tools/tool.ts'
import type { DeclaredTools } from './declared-tools.ts'
import type { Cursor } from './reader/cursor.ts'

/** What a parser found in a model's text, in order. Text never holds markup of a call. */
export type TextToolEvent =
  | { type: 'text'; text: string }
  /** A whole call. `repairs` names what had to be put right to read it; absent when nothing had to. */
  | { type: 'call'; name: string; arguments: Record<string, unknown>; repairs?: string[] }
  /** What was meant as a call and can't be read; `reason` is written for the model. It was not given out as text. */
  | { type: 'reject'; raw: string; reason: string }

/** A call that was read from text. */
export interface TextToolCall {
  name: string
  arguments: Record<string, unknown>
  repairs?: string[]
}

/**
 * Where a parser puts what it finds, synchronously and in order; nothing is allocated for plain text. The texts of all four methods,
 * joined in the order of the calls, are the input, so that a held call can be given out as text in its place. A sink must not throw.
 */
export interface TextToolSink {
  text(text: string): void
  /** `raw` is the markup the call was read from. */
  call(call: TextToolCall, raw: string): void
  reject(raw: string, reason: string): void
  /** Markup without meaning of its own (wrappers, stray closing tags), and all that follows a tool result the model made up. */
  skipped?(raw: string): void
}

/** How the response ended. After `'length'` a call that was not closed is never reported as a call. */
export type EndReason = 'stop' | 'length'

/** Reads the calls in one response while it arrives. */
export interface TextToolParser {
  /** Reads one piece and returns what it completed. Never throws. */
  push(chunk: string): TextToolEvent[]
  /** Ends the response (default `'stop'`). The parser can't be used afterwards. */
  end(reason?: EndReason): TextToolEvent[]
}

/** A call of the past as a dialect writes it. */
export interface PastCall {
  name: string
  arguments: Record<string, unknown>
}

/** A tool's result as a dialect writes it. */
export interface PastResult {
  name: string
  content: string
  isError?: boolean
}

/** Waits for characters: takes what it can from the cursor, and is fed again with the next piece until it returns true. */
export interface Wait {
  feed(cursor: Cursor): boolean
}

/**
 * `'done'`: what was read since the last call or rejection has no meaning of its own. `'text'`: it was no call, and goes out as text.
 * Reading goes on at the cursor either way, so a reader gives back what it took too much of.
 */
export type ReadingEnd = 'done' | 'text'

/**
 * A reader is plain sequential code: it yields what it waits for and is resumed when that has come, or the response has ended.
 * It may return another reading, which then goes on in its place.
 */
export interface Reading extends Generator<Wait, ReadingEnd | Reading, void> {}

/** What a body reader works with. */
export interface CallReading {
  readonly cursor: Cursor
  readonly tools: DeclaredTools
  /** The marker at which this reading began; `''` for an unmarked one. */
  readonly opener: string
  /** What is read began at a line's head, behind a colon, or behind another call; otherwise words stand before it in its line. */
  readonly alone: boolean
  /** True once the response has ended by its length limit: what is still open then must not be called. */
  readonly cut: boolean
  call(call: TextToolCall): void
  reject(reason: string): void
}

/** Reads the body of a call, from behind its opening marker. */
export type ReadBody = (reading: CallReading) => Reading

/** Markers that start a call, and how what follows them is read. */
export interface Envelope {
  readonly open: readonly string[]
  /** Markers that may be left over after a call; they are then swallowed. A body reader that needs closing markers is given them itself. */
  readonly close?: readonly string[]
  readonly read: ReadBody
  /** The opening marker counts only at a line's start (blanks before it aside). */
  readonly lineStart?: true
  /** The opening marker counts also in a code fence and after a backtick: it is one. */
  readonly inFence?: true
  /** The opening marker counts also where the text announces an example, as each does that is a control token. */
  readonly inExample?: true
}

/**
 * A form without a marker. With `starts` it is tried wherever one of these characters stands outside code, `alone` or in a line of words;
 * without, where a line outside code fences begins like the name of a declared tool.
 */
export interface BareForm {
  readonly starts?: readonly string[]
  readonly read: ReadBody
}

/**
 * How a model without native calls writes a call as text: what to look for, and what to show the model. Everything is data or a pure function.
 */
export interface Dialect {
  readonly name: string
  readonly envelopes: readonly Envelope[]
  readonly bare?: readonly BareForm[]
  /** Reads a call whose opening tag is the name of a declared tool: `<get_weather>`. */
  readonly nameTag?: ReadBody
  /** What a tool result begins with. Written by the model itself after a call, it is made up, and the rest of the response is dropped. */
  readonly resultMarkers: readonly string[]
  /** Tells a model, in its system prompt, which tools there are and how to call one. */
  prompt(tools: readonly ToolDefinition[]): string
  /** Writes calls of the past as the model would have. Reading it back gives the same calls. */
  renderCalls(calls: readonly PastCall[]): string
  /** Writes results of the past, in the calls' order; markup in their content is defused. */
  renderResults(results: readonly PastResult[]): string
}
