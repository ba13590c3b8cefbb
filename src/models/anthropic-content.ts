import { isJsonObject, type Json, type JsonObject, type ProviderData, type ToolCall } from '../messages.ts'

/**
 * A piece of a response's layout, in order. What our messages hold themselves, text and calls, is only pointed at: so many characters
 * of the text, the call at that position. Everything else (thinking with its signature, redacted thinking, the blocks of tools the
 * provider runs itself) is kept verbatim, as it has to go back: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
export type LayoutPiece = { text: number; fields?: JsonObject } | { call: number; fields?: JsonObject } | { block: JsonObject }

/** What this driver keeps in `providerData`. Nothing is kept of a response whose layout is plain: its text, then its calls. */
export function layoutData(provider: string, layout: readonly LayoutPiece[], container: string | undefined): ProviderData | undefined {
  const isPlain = layout.every((piece) => !('block' in piece) && piece.fields === undefined)
  if (isPlain && container === undefined) return undefined
  return { provider, data: { layout: layout.map((piece) => ({ ...piece })), ...(container === undefined ? {} : { container }) } }
}

/**
 * The content blocks of an assistant message, as the response had them. A message that was changed since keeps no more than the thinking
 * it began with: where the rest belonged is no longer known.
 */
export function blocksOf(
  text: string,
  calls: readonly ToolCall[],
  data: JsonObject,
  toBlock: (call: ToolCall) => JsonObject,
): JsonObject[] {
  const layout = readLayout(data.layout)
  const characters = layout.reduce((sum, piece) => sum + ('text' in piece ? piece.text : 0), 0)
  const positions = layout.flatMap((piece) => ('call' in piece ? [piece.call] : []))
  const isAsItWas = characters === text.length && positions.length === calls.length && positions.every((at) => calls[at] !== undefined)
  if (!isAsItWas) return [...openingThoughts(layout), ...textBlock(text), ...calls.map(toBlock)]
  let from = 0
  return layout.flatMap((piece): JsonObject[] => {
    if ('block' in piece) return [piece.block]
    if ('text' in piece) {
      const part = text.slice(from, from + piece.text)
      from += piece.text
      return textBlock(part, piece.fields)
    }
    const call = calls[piece.call]
    return call === undefined ? [] : [{ ...toBlock(call), ...piece.fields }]
  })
}

/** The API refuses a text block without anything to read in it. */
export function textBlock(text: string, fields?: JsonObject): JsonObject[] {
  return text.trim() === '' ? [] : [{ type: 'text', text, ...fields }]
}

function openingThoughts(layout: readonly LayoutPiece[]): JsonObject[] {
  const thoughts: JsonObject[] = []
  for (const piece of layout) {
    if (!('block' in piece) || !isThought(piece.block)) break
    thoughts.push(piece.block)
  }
  return thoughts
}

export function isThought({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
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
