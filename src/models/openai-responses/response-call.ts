import { jsonIn } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { ToolCallAccumulator } from '../streaming/accumulator.ts'
import type { ToolCallSink } from '../streaming/open-call.ts'
import { customEnd, customStart, escaped } from './items.ts'

/**
 * A call of a response. Its arguments arrive in pieces, and then three times as a whole: in a separate event, in the finished item, and in
 * the finished response. Some servers omit some of these repetitions, or the last pieces.
 */
export class ResponseCall {
  readonly kind = 'call'
  /** The latest state of the item. */
  item: JsonObject
  /** The position of the item in the response. */
  readonly number: number
  /** Whether the call is for a custom tool, whose input is a text. */
  readonly isCustom: boolean
  readonly #calls: ToolCallAccumulator
  readonly #sink: ToolCallSink | undefined
  #input = new TextBuffer()
  #hasId = false
  #hasName = false
  /** Whether the arguments are known to be complete. */
  #isWhole = false
  #isEnded = false

  constructor(item: JsonObject, number: number, calls: ToolCallAccumulator, sink: ToolCallSink | undefined) {
    this.item = item
    this.number = number
    this.isCustom = item.type === 'custom_tool_call'
    this.#calls = calls
    this.#sink = sink
  }

  /** `id`: the id of the item. Null if the item has no id, or if another call of the response has the same id. */
  start(id: string | null): void {
    this.#hasId = id !== null
    this.#hasName = nameOf(this.item) !== null
    this.#add({ id, name: nameOf(this.item), extra: { item: this.number }, ...(this.isCustom ? { arguments: customStart } : {}) })
  }

  addPiece(piece: Json | undefined): void {
    if (this.#isWhole || typeof piece !== 'string' || piece === '') return
    this.#input.add(piece)
    this.#add({ arguments: this.isCustom ? escaped(piece) : piece })
  }

  /** Applies the final state of the item. Uses `id` if the call has no id yet. May be called repeatedly. */
  close(item: JsonObject, id: string | null): void {
    this.item = item
    const late = { ...(this.#hasId ? {} : { id }), ...(this.#hasName ? {} : { name: nameOf(item) }) }
    if (late.id || late.name) this.#add(late)
    this.complete(this.isCustom ? item.input : item.arguments, item.status === 'incomplete')
  }

  /** Applies the complete arguments. They may contain more than the pieces that have arrived. */
  complete(whole: Json | undefined, isCut = false): void {
    // Keeps the pieces, because some servers omit the arguments in a finished item.
    const hasSome = !this.isCustom && !noArguments.test(this.#input.toString())
    if (hasSome && typeof whole === 'string' && noArguments.test(whole)) return
    if (!isCut) this.#isWhole = true
    if (typeof whole === 'string') this.#completeText(whole)
    else if (whole !== undefined && whole !== null && this.#input.isEmpty) {
      this.#input.add(JSON.stringify(whole))
      this.#add({ arguments: whole })
    }
  }

  /** Returns whether the arguments are complete. Called once, at the end of the response. */
  end(): boolean {
    if (!this.isCustom) return this.#isWhole || jsonIn(this.#input.toString()) !== undefined
    if (this.#isWhole) this.#endText()
    return this.#isWhole
  }

  #completeText(whole: string): void {
    const rest = restOf(this.#input, whole)
    if (rest === undefined) {
      this.#endText()
      this.#input = new TextBuffer()
      this.#input.add(whole)
      this.#calls.correct(this.number, this.isCustom ? `${customStart}${escaped(whole)}${customEnd}` : whole, this.#sink)
    } else if (rest !== '') {
      this.#input.add(rest)
      this.#add({ arguments: this.isCustom ? escaped(rest) : rest })
    }
  }

  #endText(): void {
    if (this.isCustom && !this.#isEnded) this.#add({ arguments: customEnd })
    this.#isEnded = true
  }

  #add(delta: { id?: string | null; name?: string | null; arguments?: Json; extra?: JsonObject }): void {
    this.#calls.add({ index: this.number, ...delta }, this.#sink)
  }
}

const noArguments = /^\s*(?:\{\s*\}\s*)?$/

function nameOf({ name }: JsonObject): string | null {
  return typeof name === 'string' ? name : null
}

/** Returns the part of a complete text that was not streamed. Undefined if the complete text contradicts the streamed text. */
export function restOf(streamed: TextBuffer, whole: string): string | undefined {
  const begun = streamed.toString()
  if (whole.startsWith(begun)) return whole.slice(begun.length)
  return begun.startsWith(whole) ? '' : undefined
}
