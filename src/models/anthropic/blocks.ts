import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import type { ModelSink } from '../chat-model.ts'
import type { ToolCallAccumulator } from '../streaming/accumulator.ts'
import { gapBetween, type LayoutPiece } from '../streaming/response-layout.ts'

type OpenBlock =
  /** `gap`: the number of characters that toolloop inserted between this text and the previous text. */
  | { kind: 'text'; gap: number; length: number; citations: Json[] }
  | { kind: 'call'; number: number; hasInput: boolean; isClosed: boolean; fields: JsonObject }
  | { kind: 'thinking'; thinking: string; signature: string | undefined; rest: JsonObject }
  /** A block that is kept unchanged and sent back: a block of the provider's own tools, redacted thinking, or an unknown block. */
  | { kind: 'kept'; block: JsonObject; json: string; isWhole: boolean }

/**
 * Collects the content blocks of a response as they arrive. Text and reasoning go to the sink, calls go to the accumulator, and all other
 * blocks are kept. A delta belongs to the block with the delta's index, or to the last block if the delta has no index.
 */
export class AnthropicBlocks {
  readonly warnings: string[] = []
  readonly #calls: ToolCallAccumulator
  readonly #sink: ModelSink | undefined
  readonly #all: OpenBlock[] = []
  readonly #byIndex = new Map<number, OpenBlock>()
  readonly #callsById = new Map<string, OpenBlock>()
  #last: OpenBlock | undefined
  #text = ''
  #reasoning = ''

  constructor(calls: ToolCallAccumulator, sink: ModelSink | undefined) {
    this.#calls = calls
    this.#sink = sink
  }

  get text(): string {
    return this.#text
  }

  get reasoning(): string {
    return this.#reasoning
  }

  open(index: Json | undefined, block: JsonObject): void {
    const opened = this.#open(block, true)
    if (typeof index === 'number') this.#byIndex.set(index, opened)
    this.#last = opened
  }

  add(index: Json | undefined, delta: JsonObject): void {
    const block = this.#at(index)
    if (block === undefined) {
      this.#addWithoutBlock(index, delta)
      return
    }
    switch (delta.type) {
      case 'text_delta':
        if (block.kind === 'text') this.#addText(block, delta.text)
        return
      case 'input_json_delta':
        this.#addInput(block, delta.partial_json)
        return
      case 'thinking_delta':
        if (block.kind === 'thinking') this.#addThinking(block, delta.thinking)
        return
      case 'signature_delta':
        if (block.kind === 'thinking' && typeof delta.signature === 'string') block.signature = (block.signature ?? '') + delta.signature
        return
      case 'citations_delta':
        if (block.kind === 'text' && delta.citation !== undefined) block.citations.push(delta.citation)
        return
      case 'compaction_delta':
        if (block.kind === 'kept' && typeof delta.content === 'string') {
          const { content } = block.block
          block.block = { ...block.block, content: `${typeof content === 'string' ? content : ''}${delta.content}` }
        }
        return
      default:
        // The content of an unknown delta is lost. The block is then incomplete and must not be sent back.
        if (block.kind === 'kept') block.isWhole = false
    }
  }

  close(index: Json | undefined): void {
    const block = this.#at(index)
    if (block !== undefined) closeBlock(block, this.#calls, this.#sink)
  }

  /** Adds a block of a complete message, or of the message at the start of a stream. */
  addWhole(block: JsonObject): void {
    this.#last = this.#open(block, false)
  }

  /** Closes the blocks that the provider has left open. Called at the end of the response. */
  closeAll(): void {
    for (const block of this.#all) closeBlock(block, this.#calls, this.#sink)
  }

  /** Adds the explanation of a refusal, which is not in a block. */
  addText(text: string): void {
    if (text === '') return
    const block: OpenBlock = { kind: 'text', gap: 0, length: 0, citations: [] }
    this.#all.push(block)
    this.#addText(block, text)
  }

  /** Resets the indexes, because the next message counts its blocks from 0. */
  endMessage(): void {
    this.#byIndex.clear()
    this.#last = undefined
  }

  /**
   * Returns the layout of the response. `calls`: for each call, the number of its block. `continues`: whether the provider is still running
   * its own tools.
   */
  layout(calls: readonly (number | undefined)[], continues: boolean): LayoutPiece[] {
    const answered = new Set(this.#all.map((block) => (block.kind === 'kept' ? block.block.tool_use_id : undefined)))
    const piecesOf = (block: OpenBlock): LayoutPiece[] => {
      switch (block.kind) {
        case 'text': {
          const { gap, length, citations } = block
          if (length === 0) return []
          const text = { text: length, ...(citations.length === 0 ? {} : { fields: { citations } }) }
          return gap === 0 ? [text] : [{ gap }, text]
        }
        case 'call': {
          const call = calls.indexOf(block.number)
          return call === -1 ? [] : [{ call, ...(Object.keys(block.fields).length === 0 ? {} : { fields: block.fields }) }]
        }
        case 'thinking': {
          const { rest, thinking, signature } = block
          if (thinking === '' && !signature) return []
          return [{ block: { ...rest, thinking, ...withoutUndefined({ signature }) } }]
        }
        case 'kept': {
          if (!block.isWhole) {
            this.#warn(`A block of type \`${String(block.block.type)}\` was not kept: it came in a form that is not known`)
            return []
          }
          // The API refuses a call of a provider's tool without its result, unless the provider is still running the tool.
          const isOrphan = block.block.type === 'server_tool_use' && !answered.has(block.block.id)
          return isOrphan && !continues ? [] : [{ block: block.block }]
        }
      }
    }
    return this.#all.flatMap(piecesOf)
  }

  #open(block: JsonObject, mayBeKnown: boolean): OpenBlock {
    const { type, id } = block
    if (type === 'tool_use') {
      const known = typeof id === 'string' ? this.#callsById.get(id) : undefined
      // The message at the start of a stream may already contain the call. The stream then repeats the call's start.
      if (mayBeKnown && known !== undefined && ![...this.#byIndex.values()].includes(known)) return known
      return this.#openCall(block, known !== undefined)
    }
    let opened: OpenBlock
    if (type === 'text') {
      const { citations } = block
      opened = { kind: 'text', gap: 0, length: 0, citations: Array.isArray(citations) ? [...citations] : [] }
      this.#addText(opened, block.text)
    } else if (type === 'thinking') {
      const { thinking, signature, ...rest } = block
      opened = { kind: 'thinking', thinking: '', signature: typeof signature === 'string' ? signature : undefined, rest }
      this.#addThinking(opened, thinking)
    } else opened = { kind: 'kept', block, json: '', isWhole: true }
    this.#all.push(opened)
    return opened
  }

  #openCall({ type: _, id, name, input, ...rest }: JsonObject, isRepeated: boolean): OpenBlock {
    const number = this.#all.length
    const hasInput = !isEmpty(input)
    const fields = isDirect(rest.caller) ? without(rest, 'caller') : rest
    const block: OpenBlock = { kind: 'call', number, hasInput, isClosed: false, fields }
    this.#all.push(block)
    if (typeof id === 'string') this.#callsById.set(id, block)
    this.#calls.add(
      {
        index: number,
        // A second call with the same id gets no id, because otherwise the two calls would be merged.
        id: isRepeated ? null : typeof id === 'string' || typeof id === 'number' ? id : null,
        name: typeof name === 'string' ? name : null,
        arguments: hasInput ? input : null,
        extra: { block: number },
      },
      this.#sink,
    )
    return block
  }

  #at(index: Json | undefined): OpenBlock | undefined {
    return typeof index === 'number' ? this.#byIndex.get(index) : this.#last
  }

  /** Opens a block for a delta, because some servers omit the start of a text block. */
  #addWithoutBlock(index: Json | undefined, delta: JsonObject): void {
    if (delta.type === 'text_delta') this.open(index, { type: 'text', text: delta.text ?? '' })
    else if (delta.type === 'thinking_delta') this.open(index, { type: 'thinking', thinking: delta.thinking ?? '' })
  }

  #addText(block: OpenBlock & { kind: 'text' }, delta: Json | undefined): void {
    if (typeof delta !== 'string' || delta === '') return
    if (block.length === 0 && this.#follows(block)) {
      const gap = gapBetween(this.#text, delta)
      block.gap = gap.length
      this.#text += gap
      if (gap !== '') this.#sink?.text?.(gap)
    }
    block.length += delta.length
    this.#text += delta
    this.#sink?.text?.(delta)
  }

  /**
   * Whether another kind of block precedes this text. Between adjacent text blocks nothing is inserted, because they are one text that
   * citations have split.
   */
  #follows(block: OpenBlock): boolean {
    const at = this.#all.indexOf(block)
    const before = this.#all.at(at === -1 ? -1 : at - 1)
    return at !== 0 && before !== undefined && before.kind !== 'text'
  }

  #addThinking(block: OpenBlock & { kind: 'thinking' }, delta: Json | undefined): void {
    if (typeof delta !== 'string' || delta === '') return
    block.thinking += delta
    this.#reasoning += delta
    this.#sink?.reasoning?.(delta)
  }

  #addInput(block: OpenBlock, json: Json | undefined): void {
    if (block.kind === 'kept' && typeof json === 'string') block.json += json
    if (block.kind !== 'call' || json === '' || json === undefined || json === null) return
    block.hasInput = true
    this.#calls.add({ index: block.number, arguments: json }, this.#sink)
  }

  #warn(warning: string): void {
    if (!this.warnings.includes(warning)) this.warnings.push(warning)
  }
}

function closeBlock(block: OpenBlock, calls: ToolCallAccumulator, sink: ModelSink | undefined): void {
  if (block.kind === 'call' && !block.isClosed) {
    block.isClosed = true
    // The call has no arguments: no piece arrived, or only an empty piece.
    if (!block.hasInput) calls.add({ index: block.number, arguments: '{}' }, sink)
  }
  if (block.kind === 'kept') closeKept(block)
}

/** Parses the input of a call to one of the provider's tools. Like the arguments of other calls, it arrives in pieces. */
function closeKept(block: OpenBlock & { kind: 'kept' }): void {
  if (block.json === '') return
  try {
    block.block = { ...block.block, input: JSON.parse(block.json) }
  } catch {
    // The block was cut off in the middle, so it can't be sent back.
    block.isWhole = false
  }
  block.json = ''
}

/** Whether the model made the call itself. False if the call was made by code that the model wrote and the provider runs. */
function isDirect(caller: Json | undefined): boolean {
  return caller === undefined || caller === null || (isJsonObject(caller) && caller.type === 'direct')
}

/** Input that arrives in pieces starts as an empty object. */
function isEmpty(input: Json | undefined): boolean {
  if (isJsonObject(input)) return Object.keys(input).length === 0
  return input === undefined || input === null || input === ''
}

function without({ ...fields }: JsonObject, key: string): JsonObject {
  delete fields[key]
  return fields
}
