import { isJsonObject, type Json, type JsonObject, type ToolCall } from '../../core/messages.ts'

/**
 * A piece of a response's layout, in order. Text and calls are only referenced, because the message itself contains them. A text is
 * represented by its number of characters, and a call by its position. Additional fields that arrived with a text or a call are stored with
 * it. All other pieces (thoughts, blocks of the provider's own tools) are kept verbatim, because they must be sent back unchanged. A gap is
 * the number of separating characters that toolloop has added between two texts.
 */
export type LayoutPiece =
  | { text: number; fields?: JsonObject }
  | { gap: number }
  | { call: number; fields?: JsonObject }
  | { block: JsonObject }

/** Creates the blocks of a message from the pieces of its layout. */
export interface BlockMaker {
  text(text: string, fields?: JsonObject): JsonObject[]
  call(call: ToolCall, fields?: JsonObject): JsonObject
}

/** Whether the layout is only a text followed by calls, and need not be stored. */
export function isPlain(layout: readonly LayoutPiece[]): boolean {
  return layout.every((piece) => ('text' in piece || 'call' in piece) && piece.fields === undefined)
}

export function layoutJson(layout: readonly LayoutPiece[]): Json {
  return layout.map((piece) => ({ ...piece }))
}

/** Reads the layout from provider data, which may come from a store. Drops invalid pieces. */
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

/** Returns a message's blocks in the layout of the response. Undefined if the layout does not fit, because the message was edited. */
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

/** Returns the blank line between two separate texts, or `''` if white space or punctuation already separates them. */
export function gapBetween(before: string, next: string): string {
  const isApart = before === '' || /\s$/.test(before) || /^[\s.,;:!?)\]}]/.test(next)
  return isApart ? '' : '\n\n'
}
