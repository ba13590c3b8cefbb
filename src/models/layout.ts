import { isJsonObject, type Json, type JsonObject, type ProviderData, type ToolCall } from '../messages.ts'

/**
 * A piece of a response's layout, in order. What our messages hold themselves, text and calls, is only pointed at: so many characters
 * of the text, the call at that position. Everything else (thinking, what the provider's own tools did) is kept verbatim, as it has to
 * go back; so are the fields beside a text or a call.
 */
export type LayoutPiece = { text: number; fields?: JsonObject } | { call: number; fields?: JsonObject } | { block: JsonObject }

/** How a driver writes what a layout points at. */
export interface LayoutWriter {
  text(text: string, fields?: JsonObject): JsonObject[]
  call(call: ToolCall): JsonObject
  /** Whether a block may stand at the beginning of a message that was changed since. */
  isOpening(block: JsonObject): boolean
}

/**
 * What a driver keeps of a response in `providerData`: its layout, and fields of the driver's own. Nothing is kept of a response whose
 * layout is plain, its text and then its calls.
 */
export function layoutData(provider: string, layout: readonly LayoutPiece[], own: JsonObject = {}): ProviderData | undefined {
  const isPlain = layout.every((piece) => !('block' in piece) && piece.fields === undefined)
  if (isPlain && Object.keys(own).length === 0) return undefined
  return { provider, data: { layout: layout.map((piece) => ({ ...piece })), ...own } }
}

/**
 * The content of an assistant message as the response had it. A message that was changed since keeps no more than the blocks it may begin
 * with: where the rest belonged is no longer known.
 */
export function laidOut(text: string, calls: readonly ToolCall[], data: JsonObject, write: LayoutWriter): JsonObject[] {
  const layout = readLayout(data.layout)
  const characters = layout.reduce((sum, piece) => sum + ('text' in piece ? piece.text : 0), 0)
  const positions = layout.flatMap((piece) => ('call' in piece ? [piece.call] : []))
  const isAsItWas = characters === text.length && positions.length === calls.length && positions.every((at) => calls[at] !== undefined)
  if (!isAsItWas) return [...opening(layout, write), ...write.text(text), ...calls.map((call) => write.call(call))]
  let from = 0
  return layout.flatMap((piece): JsonObject[] => {
    if ('block' in piece) return [piece.block]
    if ('text' in piece) {
      const part = text.slice(from, from + piece.text)
      from += piece.text
      return write.text(part, piece.fields)
    }
    const call = calls[piece.call]
    return call === undefined ? [] : [{ ...write.call(call), ...piece.fields }]
  })
}

function opening(layout: readonly LayoutPiece[], { isOpening }: LayoutWriter): JsonObject[] {
  const blocks: JsonObject[] = []
  for (const piece of layout) {
    if (!('block' in piece) || !isOpening(piece.block)) break
    blocks.push(piece.block)
  }
  return blocks
}

/** Provider data may come from a store; a piece that is none is left out, so that the rest no longer fits and is not used. */
function readLayout(layout: Json | undefined): LayoutPiece[] {
  if (!Array.isArray(layout)) return []
  return layout.flatMap((piece): LayoutPiece[] => {
    if (!isJsonObject(piece)) return []
    const fields = isJsonObject(piece.fields) ? { fields: piece.fields } : {}
    if (typeof piece.text === 'number') return [{ text: piece.text, ...fields }]
    if (typeof piece.call === 'number') return [{ call: piece.call, ...fields }]
    return isJsonObject(piece.block) ? [{ block: piece.block }] : []
  })
}
