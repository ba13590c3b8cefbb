import { copyJson, isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { ModelSink } from '../chat-model.ts'
import { isPlain, type LayoutPiece, laidOut, layoutJson, readLayout } from '../streaming/response-layout.ts'
import type { OpenAIQuirks } from './quirks.ts'

/** Fields with reasoning text. If a server sends two of these fields, both contain the same text. */
const textFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const
/** Fields with blocks of reasoning. The first is OpenRouter's, the second LiteLLM's. */
const blockFields = ['reasoning_details', 'thinking_blocks'] as const
/** The field with Gemini's thought signature in responses of GitHub Copilot: https://github.com/anomalyco/opencode/pull/8900 */
const opaqueField = 'reasoning_opaque'
/** The types of content parts that are reasoning. They are used by Mistral, by Databricks, and by gateways to Claude. */
const partTypes: readonly unknown[] = ['thinking', 'reasoning', 'redacted_thinking']
/** The fields of a block whose text arrives in pieces. */
const growing: readonly string[] = ['text', 'thinking', 'summary', 'data']

/** The reasoning in `providerData`, which is sent back unchanged. */
export interface KeptReasoning {
  /** The text of a reasoning field, and the name of the field. */
  reasoning?: { field: string; text: string }
  /** The blocks in `reasoning_details`: https://openrouter.ai/docs/use-cases/reasoning-tokens */
  reasoningDetails?: JsonObject[]
  /** The blocks in `thinking_blocks`: https://docs.litellm.ai/docs/reasoning_content */
  thinkingBlocks?: JsonObject[]
  opaque?: string
  /** The parts of the content in order. Set if some of them are reasoning. */
  content?: Json
}

/** Collects the reasoning of a response from all fields, blocks and parts in which servers send it. */
export class OpenAIReasoning {
  readonly #sink: ModelSink | undefined
  readonly #fields = new Map<(typeof blockFields)[number], JsonObject[]>()
  readonly #layout: LayoutPiece[] = []
  /** How many characters of the response's text are already in the layout. */
  #laidOut = 0
  #text = ''
  /** The field or block type from which the reasoning text is read. Other sources are ignored, because they may repeat the same text. */
  #source: string | undefined
  #opaque: string | undefined
  #field: string | undefined

  constructor(sink: ModelSink | undefined) {
    this.#sink = sink
  }

  get text(): string {
    return this.#text
  }

  /** Reads the fields of a delta or of a complete message. */
  read(delta: JsonObject, isWhole: boolean): void {
    const field = textFields.find((name) => typeof delta[name] === 'string' && delta[name] !== '')
    if (field !== undefined) this.#add(String(delta[field]), 'field', field)
    const opaque = delta[opaqueField]
    if (typeof opaque === 'string' && opaque !== '') this.#opaque = opaque
    for (const name of blockFields) {
      const blocks = delta[name]
      if (!Array.isArray(blocks)) continue
      const kept = this.#fields.get(name) ?? []
      this.#fields.set(name, kept)
      for (const block of blocks) {
        if (!isJsonObject(block)) continue
        this.#add(textOf(block), name)
        if (isWhole || !continues(kept.at(-1), block)) kept.push(copyJson(block))
        else join(kept.at(-1), block)
      }
    }
  }

  /** Reads a content part that is reasoning. `before`: the current length of the response's text, in characters. */
  readPart(part: JsonObject, before: number, isWhole: boolean): void {
    this.#layOutText(before)
    const last = this.#layout.at(-1)
    const open = last !== undefined && 'block' in last ? last.block : undefined
    if (isWhole || !continues(open, part)) this.#layout.push({ block: copyJson(part) })
    else join(open, part)
    this.#add(textOf(part), 'content')
  }

  /** `length`: the length of the response's text, in characters. */
  kept(length: number): KeptReasoning {
    this.#layOutText(length)
    const details = this.#fields.get('reasoning_details') ?? []
    const thinking = (this.#fields.get('thinking_blocks') ?? []).filter((block) => !isUnfinished(block))
    const layout = this.#layout.filter((piece) => !('block' in piece && piece.block.type === 'reasoning' && isUnfinished(piece.block)))
    return {
      ...(this.#field === undefined ? {} : { reasoning: { field: this.#field, text: this.#text } }),
      ...(details.length === 0 ? {} : { reasoningDetails: details }),
      ...(thinking.length === 0 ? {} : { thinkingBlocks: thinking }),
      ...(this.#opaque === undefined ? {} : { opaque: this.#opaque }),
      ...(isPlain(layout) ? {} : { content: layoutJson(layout) }),
    }
  }

  #add(text: string, source: string, field?: string): void {
    if (text === '') return
    this.#source ??= source
    if (this.#source !== source) return
    this.#field ??= field
    this.#text += text
    this.#sink?.reasoning?.(text)
  }

  #layOutText(length: number): void {
    if (length > this.#laidOut) this.#layout.push({ text: length - this.#laidOut })
    this.#laidOut = length
  }
}

/** Returns the fields of an assistant message that contain its reasoning. */
export function reasoningFields(data: JsonObject = {}, { sendReasoningBack, missingReasoning }: OpenAIQuirks): JsonObject {
  const { reasoning, reasoningDetails, thinkingBlocks, opaque } = data
  const field = isJsonObject(reasoning) ? textFields.find((name) => name === reasoning.field) : undefined
  const blocks = {
    ...(Array.isArray(reasoningDetails) ? { reasoning_details: reasoningDetails } : {}),
    ...(Array.isArray(thinkingBlocks) ? { thinking_blocks: thinkingBlocks } : {}),
    ...(typeof opaque === 'string' ? { [opaqueField]: opaque } : {}),
  }
  if (!sendReasoningBack) return blocks
  if (isJsonObject(reasoning) && field !== undefined) return { ...blocks, [field]: reasoning.text ?? '' }
  return missingReasoning === null ? blocks : { ...blocks, reasoning_content: missingReasoning }
}

/**
 * Returns the content as parts if some of them were reasoning. If the message was edited after it arrived, only the reasoning at its start
 * is kept.
 */
export function contentWithReasoning(text: string, data: JsonObject = {}): { content?: JsonObject[] } {
  const layout = readLayout(data.content)
  if (layout.length === 0) return {}
  const firstText = layout.findIndex((piece) => !('block' in piece))
  const opening = layout.slice(0, firstText === -1 ? layout.length : firstText).flatMap((piece) => ('block' in piece ? [piece.block] : []))
  return { content: laidOut(text, [], layout, { text: textPart, call: () => ({}) }) ?? [...opening, ...textPart(text)] }
}

function textPart(text: string): JsonObject[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

export function isReasoningPart({ type, thinking }: JsonObject): boolean {
  return partTypes.includes(type) || Array.isArray(thinking)
}

/** Returns the text of a block, or of a piece of a block. The text is in a field or in nested parts. */
function textOf(block: JsonObject): string {
  const texts = [block.thinking, block.summary, block.text].flatMap((value) => (Array.isArray(value) ? value.map(ownText) : value))
  return texts.filter((text) => typeof text === 'string').join('')
}

function ownText(part: Json): Json | undefined {
  return isJsonObject(part) ? part.text : part
}

/** Whether a piece continues the previous block. A signature ends a block. */
function continues(last: JsonObject | undefined, piece: JsonObject): boolean {
  if (last === undefined || last.type !== piece.type) return false
  if (last.index !== undefined || piece.index !== undefined) return last.index === piece.index
  if (piece.data !== undefined) return false
  return textOf(piece) === '' || !isSigned(last)
}

function isSigned(block: JsonObject): boolean {
  if (typeof block.signature === 'string' && block.signature !== '') return true
  return Object.values(block).some((value) => {
    const last = Array.isArray(value) ? value.at(-1) : undefined
    return isJsonObject(last) && isSigned(last)
  })
}

/** Whether a block was cut off before its signature. The API would refuse such a block. */
function isUnfinished(block: JsonObject): boolean {
  if (block.signature === '' || block.signature === null) return true
  return Object.values(block).some((value) => Array.isArray(value) && value.some((part) => isJsonObject(part) && isUnfinished(part)))
}

function join(block: JsonObject | undefined, piece: JsonObject): void {
  if (block === undefined) return
  for (const [key, value] of Object.entries(piece)) {
    const before = block[key]
    if (Array.isArray(before) && Array.isArray(value)) joinParts(before, value)
    else if (growing.includes(key) && typeof before === 'string' && typeof value === 'string') block[key] = before + value
    else if (value !== null && value !== '') block[key] = copyJson(value)
  }
}

function joinParts(parts: Json[], pieces: readonly Json[]): void {
  for (const piece of pieces) {
    const last = parts.at(-1)
    const isMore = isJsonObject(last) && isJsonObject(piece) && typeof piece.text === 'string' && continues(last, piece)
    if (isMore) join(last, piece)
    else parts.push(copyJson(piece))
  }
}
