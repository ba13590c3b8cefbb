import type { JsonObject } from '../../core/messages.ts'
import type { ModelSink } from '../chat-model.ts'
import { isSameJson, JsonEnd, type JsonState } from './json-end.ts'

/** Told of calls while they arrive. */
export type ToolCallSink = Pick<ModelSink, 'toolCallStart' | 'toolCallDelta'>

/** A call that is arriving. */
export interface OpenCall {
  id: string
  name: string
  /** The name begins that of another tool, and more of it may come. */
  mayGrow: boolean
  index: number | undefined
  extra: JsonObject | undefined
  /** The arguments so far. Joined once, at the end: a rope that is looked into between two appends is flattened each time. */
  pieces: string[]
  length: number
  /** The last character of the arguments that is not white space. */
  lastCode: number
  end: JsonEnd | undefined
  scanned: number
  /** Pieces at the beginning that are joined ones. */
  joinedPieces: number
  /** Pieces the sink has had. */
  sent: number
  /** False while the arguments hold nothing but braces, and so may be a `{}` in place of the real ones. */
  flowing: boolean
  /** Its number for the sink; -1 before it was announced. */
  position: number
  /** The call that was open in the same place before, while this one has neither name nor arguments. */
  before: OpenCall | undefined
  /** The complete call whose arguments this may be sending again. */
  repeats: OpenCall | undefined
  /** A repeat that came with the function's name: a call of its own, if its arguments turn out to be others. */
  named: boolean
  /** Where a resolved repeat's further deltas belong. */
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

/** Reads only what was appended since it was last asked. */
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

/** The same text, or the same object written otherwise. Costs no more than the second one's length. */
export function sameArguments(first: OpenCall, second: OpenCall): boolean {
  if (first.length > 4 * second.length || second.length > 4 * first.length) return false
  return isSameJson(joined(first), joined(second))
}

/**
 * A name that has begun, with another piece of it; undefined if they make no tool's name, nor its beginning. `isSameCall` false: the piece may
 * be the name of another call, which it is if both are tools.
 */
export function joinNames(begun: string, piece: string, tools: ReadonlySet<string>, isSameCall: boolean): string | undefined {
  const begins = (name: string): boolean => tools.has(name) || [...tools].some((tool) => tool.startsWith(name))
  const isTool = tools.has(begun)
  if (begins(begun + piece) && !(isTool && tools.has(piece))) return begun + piece
  // Some servers send all of the name they have so far.
  return piece !== begun && piece.startsWith(begun) && begins(piece) && (isSameCall || !isTool) ? piece : undefined
}
