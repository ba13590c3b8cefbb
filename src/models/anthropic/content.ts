import { isJsonObject, type JsonObject, type ProviderData, type ToolCall, withoutUndefined } from '../../core/messages.ts'
import { isPlain, type LayoutPiece, laidOut, layoutJson, readLayout } from '../streaming/response-layout.ts'

/**
 * Returns the `providerData` of a response: thinking, and the blocks of tools that the provider runs, each with its position in the
 * response. Undefined if the response is only a text followed by calls.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
export function layoutData(provider: string, layout: readonly LayoutPiece[], container: string | undefined): ProviderData | undefined {
  if (isPlain(layout) && container === undefined) return undefined
  return { provider, data: { layout: layoutJson(layout), ...withoutUndefined({ container }) } }
}

/**
 * Returns the content blocks of an assistant message, in their original order. If the message was edited after it arrived, only the
 * thinking at its start is kept.
 */
export function blocksOf(
  text: string,
  calls: readonly ToolCall[],
  data: JsonObject,
  toBlock: (call: ToolCall) => JsonObject,
): JsonObject[] {
  const layout = readLayout(data.layout)
  const blocks = laidOut(text, calls, layout, { text: textBlock, call: (call, fields) => ({ ...toBlock(call), ...fields }) })
  return blocks ?? [...openingThoughts(layout), ...textBlock(text), ...calls.map(toBlock)]
}

/** Returns the names of the tools found by the provider's tool search. Undefined if the message contains no search. */
export function foundTools(data: JsonObject): string[] | undefined {
  const blocks = readLayout(data.layout).flatMap((piece) => ('block' in piece && isSearchBlock(piece.block) ? [piece.block] : []))
  if (blocks.length === 0) return undefined
  return blocks.flatMap(({ content }) => {
    const references = isJsonObject(content) && Array.isArray(content.tool_references) ? content.tool_references : []
    return references.filter(isJsonObject).map(({ tool_name: name }) => String(name))
  })
}

/** Removes the tool search from the data. The API refuses a search if the request does not define every tool that it found. */
export function withoutSearch({ layout, ...data }: JsonObject): JsonObject {
  const kept = readLayout(layout).filter((piece) => !('block' in piece && isSearchBlock(piece.block)))
  return { ...data, layout: layoutJson(kept) }
}

/** Removes thinking without a signature. Compatible servers send such thinking, and interrupted responses contain it. */
export function withoutUnsigned({ layout, ...data }: JsonObject): JsonObject {
  const kept = readLayout(layout).filter((piece) => !('block' in piece && piece.block.type === 'thinking' && !piece.block.signature))
  return { ...data, layout: layoutJson(kept) }
}

function isSearchBlock({ type, name }: JsonObject): boolean {
  return type === 'tool_search_tool_result' || (type === 'server_tool_use' && String(name).startsWith('tool_search_tool_'))
}

/** Returns no block for blank text, which the API refuses. */
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
