import type { JsonObject } from '../../messages.ts'
import type { Kind } from './reading/kinds.ts'

/*
 * What a request is read into: plain data, made from the words alone. It says what is wanted, never what was found; the same conversation
 * is read into the same intents at every step, which is what lets the demo go on without remembering anything.
 * `turn` is the user message an intent comes from, counted from 0: its results are looked for there.
 */

/** What can be measured of a file. `modified` is a point in time, the others are numbers. */
export type Measure = 'lines' | 'bytes' | 'words' | 'characters' | 'modified'
export type Order = 'asc' | 'desc'

/** Bounds are inclusive. */
export interface Bounds {
  least?: number
  most?: number
  /** As it is said: `more than 100 lines`. */
  text: string
}

/** What a file has to measure. */
export interface Condition extends Bounds {
  measure: 'lines' | 'bytes'
}

/** The first few of an order: `the 3 longest`, `the second largest`. */
export interface Top {
  measure: 'lines' | 'bytes' | 'modified' | 'name'
  order: Order
  /** How many come before. */
  skip: number
  most: number
  /** As it is said: `longest`. */
  word: string
}

/** A text, and where it is searched for. */
export interface Search {
  turn: number
  query: string
  regex: boolean
  ignoreCase: boolean
  /** Or a file. */
  folder: string
  isFile: boolean
  kinds: Kind[]
}

/** Files (or folders) in one place, of some kinds. */
export interface FileSet {
  turn: number
  /** Relative to the workspace; `.` is all of it. */
  folder: string
  /** None: of every kind. */
  kinds: Kind[]
  without: Kind[]
  conditions: Condition[]
  /** All of them hold. */
  mentions: { search: Search; negated: boolean }[]
  top?: Top
  /** Only what is also in that set: `how many of those 3 …`. */
  within?: FileSet
  recursive: boolean
  what: 'file' | 'folder'
}

/** One file: the first of a set, or the one that was named. */
export type FileRef =
  | { by: 'set'; set: FileSet }
  | { by: 'name'; name: string; set: FileSet }
  | { by: 'comparison'; files: FileRef[]; measure: Measure; order: Order }

/** Something that is a number. */
export type Quantity =
  | { of: 'literal'; value: number; text: string }
  | { of: 'count'; set: FileSet }
  | { of: 'total' | 'average'; set: FileSet; measure: 'lines' | 'bytes' }
  | { of: 'file'; file: FileRef; measure: Measure }
  | { of: 'search'; search: Search; unit: 'times' | 'lines' | 'files' }
  | { of: 'page'; page: Page; measure: 'words' | 'characters' | 'lines' | 'bytes' }
  | { of: 'call'; call: ToolRequest }
  | { of: 'sum'; items: Quantity[] }
  | { of: 'formula'; formula: Formula }

/** An arithmetic expression: signs and brackets as text, operands as quantities. */
export interface Formula {
  turn: number
  parts: (string | Quantity)[]
  /** Said as a percentage. */
  percent?: boolean
}

/** A page of the web. */
export interface Page {
  turn: number
  url: string
}

/** A tool the request names itself. */
export interface ToolRequest {
  turn: number
  tool: string
  args: JsonObject
}

/** Lines of a file, from 1, both ends included; `last` counts from the end. */
export type Range = { from: number; to: number } | { last: number }

export type ClockAspect = 'time' | 'date' | 'weekday' | 'year' | 'month'

/** One thing a request asks. */
export type Question =
  | { ask: 'number'; quantity: Quantity }
  | { ask: 'exists'; set: FileSet }
  | { ask: 'rank'; set: FileSet }
  | { ask: 'list'; set: FileSet; show: ('lines' | 'bytes' | 'modified')[] }
  | { ask: 'check'; quantity: Quantity; bounds: Bounds }
  | { ask: 'compare'; sides: Quantity[]; wants: 'more' | 'less' | 'same' | 'any'; form: 'which' | 'yes-no' | 'difference'; word: string }
  | { ask: 'search'; search: Search; form: 'files' | 'places' | 'yes-no' }
  | { ask: 'read'; file: FileRef; range?: Range }
  | { ask: 'modified'; file: FileRef }
  | { ask: 'clock'; zone?: string; place?: string; aspects: ClockAspect[] }
  | { ask: 'page'; page: Page; aspects: ('title' | 'status' | 'type' | 'text')[] }
  | { ask: 'call'; call: ToolRequest }
  | { ask: 'talk'; topic: 'hello' | 'thanks' | 'who' | 'what' }
  | { ask: 'unknown'; text: string; why?: string }
