import { isJsonObject, type Json, type JsonObject, type ToolCall } from '../../core/messages.ts'

/**
 * A piece of a response's layout, in order. What our messages hold themselves, text and calls, is only pointed at: so many characters
 * of the text, the call at that position, each with the fields it came with. Everything else (thoughts, what the provider's own tools
 * did) is kept verbatim, as it has to go back. A gap is the characters between two texts that are not the provider's.
 */
export type LayoutPiece =
  | { text: number; fields?: JsonObject }
  | { gap: number }
  | { call: number; fields?: JsonObject }
  | { block: JsonObject }

/** How the pieces of a message become blocks again. */
export interface BlockMaker {
  text(text: string, fields?: JsonObject): JsonObject[]
  call(call: ToolCall, fields?: JsonObject): JsonObject
}

/** Whether there is nothing to keep: the text, then the calls, and no more. */
export function isPlain(layout: readonly LayoutPiece[]): boolean {
  return layout.every((piece) => ('text' in piece || 'call' in piece) && piece.fields === undefined)
}

/** The layout as provider data holds it. */
export function layoutJson(layout: readonly LayoutPiece[]): Json {
  return layout.map((piece) => ({ ...piece }))
}

/** The layout in provider data, which may come from a store; a piece that is none is left out, so that the rest no longer fits and is not used. */
export function readLayout(layout: Json | undefined): LayoutPiece[] {
  if (!Array.isArray(layout)) return []
  return layout.flatMap((piece): LayoutPiece[] => {
    if (!isJsonObject(piece)) return []
    const fields = isJsonObject(piece.fields) ? { fields: piece.fields } : {}
    if (typeof piece.text === 'number') return [{ text: piece.text, ...fields }]
    if (typeof piece.gap === 'number') return [{ gap: piece.gap }]
    if (typeof piece.call === 'number') return [{ call: piece.call, ...fields }]
    return isJsonObject(piece.block) ? [{ block: piece.block }] : []
  })
}

/** A message's blocks, laid out as the response had them; undefined for a message that was changed since: where its parts belong is no longer known. */
export function laidOut(
  text: string,
  calls: readonly ToolCall[],
  layout: readonly LayoutPiece[],
  make: BlockMaker,
): JsonObject[] | undefined {
  const characters = layout.reduce((sum, piece) => sum + ('text' in piece ? piece.text : 'gap' in piece ? piece.gap : 0), 0)
  const positions = layout.flatMap((piece) => ('call' in piece ? [piece.call] : []))
  if (characters !== text.length || positions.length !== calls.length || positions.some((at) => calls[at] === undefined)) return undefined
  let from = 0
  return layout.flatMap((piece): JsonObject[] => {
    if ('block' in piece) return [piece.block]
    if ('gap' in piece) {
      from += piece.gap
      return []
    }
    if ('text' in piece) {
      const part = text.slice(from, from + piece.text)
      from += piece.text
      return make.text(part, piece.fields)
    }
    const call = calls[piece.call]
    return call === undefined ? [] : [make.call(call, piece.fields)]
  })
}

/** What keeps two texts apart that had something else between them, or were messages of their own. */
export function gapBetween(before: string, next: string): string {
  const isApart = before === '' || /\s$/.test(before) || /^[\s.,;:!?)\]}]/.test(next)
  return isApart ? '' : '\n\n'
}
