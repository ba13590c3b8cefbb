import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { visible } from '../../core/text/visible.ts'
import { rowsOf } from './approvals/shown-arguments.ts'
import { type DiffLine, diffLines } from './line-diff.ts'
import { plural } from './render.ts'
import type { Terminal } from './terminal.ts'

/** Maximum number of stored calls, and of shown lines per result. */
const mostCalls = 200
const mostLines = 1_000

/** A call in a chat. Its arguments contain no secrets. */
export interface ShownCall {
  tool: string
  args: JsonObject
  /** How it ended, in a few words, and the text for the model. Absent while it runs. */
  ending?: string
  result?: string
}

/** The latest calls of a chat by number, from 1. */
export class ShownCalls {
  readonly #calls = new Map<number, ShownCall>()
  #last = 0

  /** Adds a call. Returns its number. */
  add(call: ShownCall): number {
    this.#calls.set(++this.#last, call)
    this.#calls.delete(this.#last - mostCalls)
    return this.#last
  }

  end(number: number, ending: string, result: string): void {
    const call = this.#calls.get(number)
    if (call !== undefined) this.#calls.set(number, { ...call, ending, result })
  }

  /** Shows a call completely; the last one if `number` is undefined. */
  show(number: number | undefined, terminal: Terminal): void {
    const call = this.#calls.get(number ?? this.#last)
    const from = this.#last > mostCalls ? `from ${this.#last - mostCalls + 1} ` : ''
    if (call !== undefined) for (const line of linesOf(call, number ?? this.#last, terminal)) terminal.row(line)
    else
      terminal.note(this.#last === 0 ? 'no calls yet' : `expected the number of a call, ${from}${from === '' ? 'up ' : ''}to ${this.#last}`)
  }
}

function* linesOf({ tool, args, ending = 'running', result }: ShownCall, number: number, terminal: Terminal): Iterable<string> {
  yield terminal.paint('cyan', `${number} ${visible(tool)} · ${ending}`)
  const { edits, others } = editsIn(args)
  if (edits.length === 0 || Object.keys(others).length > 0) yield* rowsOf(others, terminal.columns)
  for (const { before, after } of edits) {
    for (const line of diffLines(shownLines(before), shownLines(after))) yield terminal.diffLine(line)
  }
  if (result === undefined) return
  const lines = shownLines(result)
  yield terminal.paint('dim', `result: ${plural(lines.length, 'line')}`)
  const isDiff = /^(diff --git |--- |Index: )|^@@ /m.test(result)
  for (const text of lines.slice(0, mostLines)) yield isDiff ? terminal.diffLine(diffLineOf(text)) : text
  if (lines.length > mostLines) yield terminal.paint('dim', `… ${plural(lines.length - mostLines, 'more line')}`)
}

function shownLines(text: string): string[] {
  return text.split('\n').map((line) => visible(line.replaceAll('\t', '    ')))
}

function diffLineOf(text: string): DiffLine {
  if (/^\+(?!\+\+ )/.test(text)) return { kind: 'added', text: text.slice(1) }
  return /^-(?!-- )/.test(text) ? { kind: 'removed', text: text.slice(1) } : { kind: 'same', text }
}

/** Argument names that editing tools use for a text and its replacement. */
const editNames = [
  ['old_string', 'new_string'],
  ['oldText', 'newText'],
  ['old_str', 'new_str'],
  ['old_text', 'new_text'],
] as const

interface Edit {
  before: string
  after: string
}

/** The edits in a call's arguments, if they have one of these names, also in a list of `edits`; and the other arguments. */
function editsIn(args: JsonObject): { edits: Edit[]; others: JsonObject } {
  const { edits: list, ...fields } = args
  if (!Array.isArray(list)) return editIn(args)
  const own = editIn(fields)
  const listed = list.map((one) => editIn(isJsonObject(one) ? one : {}))
  const isShown = listed.every(({ edits, others }) => edits.length > 0 && Object.keys(others).length === 0)
  return {
    edits: [...own.edits, ...listed.flatMap(({ edits }) => edits)],
    // Other content of an edit must not be hidden.
    others: isShown ? own.others : { ...own.others, edits: list },
  }
}

function editIn(fields: JsonObject): { edits: Edit[]; others: JsonObject } {
  const others = { ...fields }
  const edits: Edit[] = []
  for (const [old, fresh] of editNames) {
    const [before, after] = [fields[old], fields[fresh]]
    if (typeof before !== 'string' || typeof after !== 'string') continue
    edits.push({ before, after })
    delete others[old]
    delete others[fresh]
  }
  return { edits, others }
}
