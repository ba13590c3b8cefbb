import type { JsonObject } from '../../core/messages.ts'
import { changedLines } from '../../core/text/line-diff.ts'
import { editsIn } from '../../core/text/text-edits.ts'
import { visible } from '../../core/text/visible.ts'
import { rowsOf } from './approvals/shown-arguments.ts'
import { plural } from './render.ts'
import { diffLinesOf, linesOf, parsedJson } from './result-preview.ts'
import type { Terminal } from './terminal.ts'

/** Maximum number of stored calls, and maximum number of lines to show of a result. */
const mostCalls = 200
const mostLines = 1_000

/** A call in a chat. The arguments contain no secrets. */
export interface ShownCall {
  tool: string
  args: JsonObject
  /** How the call ended, in a few words. Absent while the call runs. */
  ending?: string
  result?: string
}

/** Stores the latest calls of a chat by number, starting with 1. */
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

  /** Shows a call completely. If `number` is undefined, shows the last call. */
  show(number: number | undefined, terminal: Terminal): void {
    const call = this.#calls.get(number ?? this.#last)
    const from = this.#last > mostCalls ? `from ${this.#last - mostCalls + 1} ` : ''
    if (call !== undefined) for (const line of rowsOfCall(call, number ?? this.#last, terminal)) terminal.row(line)
    else
      terminal.note(this.#last === 0 ? 'no calls yet' : `expected the number of a call, ${from}${from === '' ? 'up ' : ''}to ${this.#last}`)
  }
}

function* rowsOfCall({ tool, args, ending = 'running', result }: ShownCall, number: number, terminal: Terminal): Iterable<string> {
  yield terminal.paint('cyan', `${number} ${visible(tool)} · ${ending}`)
  const { edits, others } = editsIn(args)
  if (edits.length === 0 || Object.keys(others).length > 0) yield* rowsOf(others, terminal.columns)
  for (const { before, after } of edits) {
    for (const line of changedLines(linesOf(before), linesOf(after))) yield terminal.diffLine(line)
  }
  if (result === undefined) return
  const json = parsedJson(result)
  const lines = json === undefined ? diffLinesOf(result) : rowsOf(json, terminal.columns).map((text) => ({ kind: 'same' as const, text }))
  yield terminal.paint('dim', `result: ${plural(lines.length, 'line')}`)
  const isDiff = lines.some(({ kind }) => kind !== 'same')
  for (const line of lines.slice(0, mostLines)) yield isDiff ? terminal.diffLine(line) : line.text
  if (lines.length > mostLines) yield terminal.paint('dim', `… ${plural(lines.length - mostLines, 'more line')}`)
}
