import type { RunEvent } from '../../core/events.ts'

/** An event that is a piece of a text. */
export type Delta = Extract<RunEvent, { type: 'TEXT_DELTA' | 'REASONING_DELTA' | 'TOOL_INPUT_DELTA' }>

export function isDelta(event: RunEvent): event is Delta {
  return event.type === 'TEXT_DELTA' || event.type === 'REASONING_DELTA' || event.type === 'TOOL_INPUT_DELTA'
}

/** Whether two pieces are of one text. The deltas of one kind in one turn share their meta. */
export function continues(last: RunEvent, delta: Delta): boolean {
  if (last.type !== delta.type || last.meta.runId !== delta.meta.runId || last.meta.iteration !== delta.meta.iteration) return false
  return last.type !== 'TOOL_INPUT_DELTA' || delta.type !== 'TOOL_INPUT_DELTA' || last.index === delta.index
}

export function pieceOf(delta: Delta): string {
  return delta.type === 'TOOL_INPUT_DELTA' ? delta.json : delta.text
}

/** The delta with another piece of its text. */
export function withPiece(delta: Delta, piece: string): Delta {
  return delta.type === 'TOOL_INPUT_DELTA' ? { ...delta, json: piece } : { ...delta, text: piece }
}
