import type { JsonObject } from '../../core/messages.ts'
import type { ModelSink } from '../chat-model.ts'
import { isSameJson, JsonEnd, type JsonState } from './json-end.ts'

/** Receives calls as they arrive. */
export type ToolCallSink = Pick<ModelSink, 'toolCallStart' | 'toolCallDelta'>

/** A call that has not fully arrived. */
export interface OpenCall {
  id: string
  name: string
  /** Whether the name is also the start of another tool's name, so that more of the name may follow. */
  mayGrow: boolean
  index: number | undefined
  extra: JsonObject | undefined
  /** The arguments so far. They are not one string, because V8 would copy that string whenever it is read between two appends. */
  pieces: string[]
  length: number
  /** The last character of the arguments that is not white space. */
  lastCode: number
  end: JsonEnd | undefined
  scanned: number
  /** The number of leading pieces that are already joined. */
  joinedPieces: number
  /** The number of pieces that the sink has received. */
  sent: number
  /** False while the arguments contain only braces, because `{}` may be a placeholder for the real arguments. */
  flowing: boolean
  /** The index of the call, as passed to the sink; -1 until the call is announced. */
  position: number
  /** The previous call with the same index or id. Set while this call has neither a name nor arguments. */
  before: OpenCall | undefined
  /** The complete call that this call may be repeating. */
  repeats: OpenCall | undefined
  /** Whether a possible repetition arrived with a name. Different arguments then make it a separate call. */
  named: boolean
  /** The call into which this call was merged. Further deltas belong to that call. */
  mergedInto: OpenCall | undefined
}

export function clear(call: OpenCall): void {
  call.pieces = []
  call.length = 0
  call.lastCode = 0
  call.end = undefined
  call.scanned = 0
  call.joinedPieces = 0
}

/** Scans only the text that was appended since the last scan. */
export function stateOf(call: OpenCall): JsonState {
  call.end ??= new JsonEnd()
  while (call.scanned < call.pieces.length) call.end.push(call.pieces[call.scanned++] ?? '')
  return call.end.state
}

export function isComplete(call: OpenCall): boolean {
  return call.length > 0 && stateOf(call) === 'complete'
}

export function joined(call: OpenCall): string {
  return call.pieces.join('')
}

/**
 * Whether two calls have equal arguments, as text or as JSON values. The comparison takes time that is at most proportional to the length
 * of the second call's arguments.
 */
export function sameArguments(first: OpenCall, second: OpenCall): boolean {
  if (first.length > 4 * second.length || second.length > 4 * first.length) return false
  return isSameJson(joined(first), joined(second))
}

/**
 * Appends a piece to a partial name. Undefined if the result is not a tool's name or the start of one, or if the piece seems to be the name
 * of another call. `isSameCall`: whether the piece is known to belong to the same call.
 */
export function joinNames(begun: string, piece: string, tools: ReadonlySet<string>, isSameCall: boolean): string | undefined {
  const begins = (name: string): boolean => tools.has(name) || [...tools].some((tool) => tool.startsWith(name))
  const isTool = tools.has(begun)
  if (begins(begun + piece) && !(isTool && tools.has(piece))) return begun + piece
  // Some servers send the whole name so far instead of the next piece.
  return piece !== begun && piece.startsWith(begun) && begins(piece) && (isSameCall || !isTool) ? piece : undefined
}
