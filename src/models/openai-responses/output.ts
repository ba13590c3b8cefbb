import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { ModelSink } from '../chat-model.ts'
import type { ToolCallAccumulator } from '../streaming/accumulator.ts'
import type { LayoutPiece } from '../streaming/response-layout.ts'
import { callerOf, callIdOf } from './items.ts'
import { ResponseCall, restOf } from './response-call.ts'
import { ResponseMessage } from './response-message.ts'

type OpenItem =
  | ResponseMessage
  | ResponseCall
  | { kind: 'reasoning'; item: JsonObject; isWhole: boolean; parts: Map<string, TextBuffer> }
  /** An item that is kept unchanged and sent back: an item of the provider's own tools, or an unknown item. */
  | { kind: 'kept'; item: JsonObject; isWhole: boolean }

/**
 * The fields with which an event identifies its item. Some servers send no index, or the same index for all items. Others change an item's
 * id between events.
 */
export interface ItemPlace {
  output_index?: Json
  item_id?: Json
}

/**
 * Collects the output items of a response as they arrive. Text and reasoning go to the sink, calls go to the accumulator, and all other
 * items are kept. The final state of an item adds only the parts that have not arrived in pieces.
 */
export class ResponsesOutput {
  readonly warnings: string[] = []
  readonly #calls: ToolCallAccumulator
  readonly #sink: ModelSink | undefined
  readonly #toolNames: ReadonlySet<string>
  readonly #all: OpenItem[] = []
  readonly #byIndex = new Map<number, OpenItem>()
  readonly #byId = new Map<string, OpenItem>()
  readonly #callIds = new Set<string>()
  /** Items that were announced but not reported as done. */
  readonly #unfinished = new Set<OpenItem>()
  readonly #reasoning = new TextBuffer()
  #last: OpenItem | undefined
  #waiting = false

  constructor(calls: ToolCallAccumulator, sink: ModelSink | undefined, toolNames: ReadonlySet<string>) {
    this.#calls = calls
    this.#sink = sink
    this.#toolNames = toolNames
  }

  get text(): string {
    return this.#messages.map(({ gap, text }) => gap + text).join('')
  }

  /**
   * The text of the phase `final_answer`, or all text except commentary if that phase is missing. Undefined if the whole text is the answer
   * or the answer is empty.
   */
  get answer(): string | undefined {
    const spoken = this.#messages.filter(({ isEmpty }) => !isEmpty)
    const final = spoken.filter(({ item }) => item.phase === 'final_answer')
    const answers = final.length > 0 ? final : spoken.filter(({ item }) => item.phase !== 'commentary')
    if (answers.length === 0 || answers.length === spoken.length) return undefined
    return answers.map(({ gap, text }, at) => (at === 0 ? text : gap + text)).join('')
  }

  get #messages(): ResponseMessage[] {
    return this.#all.filter((item) => item.kind === 'message')
  }

  get reasoning(): string {
    return this.#reasoning.toString()
  }

  /** Whether the provider waits for an approval or a result that toolloop can't provide. Set by `layout`. */
  get isWaiting(): boolean {
    return this.#waiting
  }

  get isRefusal(): boolean {
    return this.#messages.some((message) => message.isRefusal)
  }

  /** Whether any item has arrived and all announced items are done. The stream may then end without an end mark. */
  get isFinished(): boolean {
    return this.#all.length > 0 && this.#unfinished.size === 0
  }

  open({ output_index: index }: ItemPlace, item: JsonObject): void {
    if (this.#byId.get(idOf(item)) === undefined) this.#unfinished.add(this.#open(index, item))
  }

  close({ output_index: index }: ItemPlace, item: JsonObject): void {
    this.#close(this.#find(item.id, index) ?? this.#open(index, item), item)
  }

  /** Applies the final state of all items. In a stream, the items have already arrived in earlier events. */
  closeAll(items: readonly Json[]): void {
    for (const [at, item] of items.entries()) {
      if (!isJsonObject(item)) continue
      const there = this.#all[at]
      const sameKind = there?.item.type === item.type ? there : undefined
      this.#close(this.#byId.get(idOf(item)) ?? sameKind ?? this.#open(at, item), item)
    }
  }

  #close(open: OpenItem, item: JsonObject): void {
    this.#unfinished.delete(open)
    switch (open.kind) {
      case 'message':
        open.item = item
        for (const [at, part] of objectsIn(item.content).entries()) this.#closeText(open, at, part)
        return
      case 'call':
        open.close(item, this.#claim(callIdOf(item)))
        return
      case 'reasoning':
        if (open.isWhole) return
        open.item = item
        open.isWhole = true
        for (const [list, texts] of [
          ['summary', item.summary],
          ['content', item.content],
        ] as const) {
          for (const [at, { text }] of objectsIn(texts).entries()) this.#think(open, `${list} ${at}`, text, true)
        }
        return
      case 'kept':
        open.item = item
        open.isWhole = true
    }
  }

  addText(place: ItemPlace, content: Json | undefined, delta: Json | undefined, isRefusal: boolean): void {
    const item = this.#at(place) ?? this.#open(place.output_index, { type: 'message' })
    if (item.kind === 'message' && typeof delta === 'string') item.add(numberOf(content), delta, isRefusal, () => this.text)
  }

  closeText(place: ItemPlace, content: Json | undefined, part: JsonObject): void {
    const item = this.#at(place) ?? this.#open(place.output_index, { type: 'message' })
    this.#unfinished.delete(item)
    if (item.kind === 'message') this.#closeText(item, numberOf(content), part)
  }

  /** `part`: identifies the summary or text within the reasoning item. */
  addReasoning(place: ItemPlace, part: string, delta: Json | undefined): void {
    const item = this.#at(place) ?? this.#open(place.output_index, { type: 'reasoning' })
    if (item.kind === 'reasoning') this.#think(item, part, delta, false)
  }

  addArguments(place: ItemPlace, delta: Json | undefined): void {
    this.#callAt(place)?.addPiece(delta)
  }

  closeArguments(place: ItemPlace, whole: Json | undefined): void {
    const call = this.#callAt(place)
    if (call === undefined || whole === undefined) return
    this.#unfinished.delete(call)
    call.complete(whole)
  }

  /** Returns whether the arguments of all calls are complete. Called once, at the end of the response. */
  endCalls(): boolean {
    return this.#all.map((item) => item.kind !== 'call' || item.end()).every(Boolean)
  }

  /**
   * `calls`: for each call, the position of its item. `isStored`: whether the provider stores the response. If so, reasoning can be sent
   * back by its id.
   */
  layout(calls: readonly (number | undefined)[], isStored: boolean): LayoutPiece[] {
    const answered = new Set(this.#all.flatMap(({ item }) => (isOutput(item) ? [item.call_id] : callerOf(item))))
    const pieces: LayoutPiece[][] = []
    let isFollowed = false
    let keeps = false
    let isComplete = true
    for (const item of this.#all.toReversed()) {
      const own = this.#pieces(item, calls, { answered, isStored, isFollowed })
      if (own.length > 0) isFollowed = true
      if (item.kind === 'reasoning' && own.length === 0) isComplete = false
      if (item.kind === 'reasoning' || item.kind === 'kept') keeps ||= own.length > 0
      pieces.unshift(own)
    }
    // The API refuses an item's id if part of the reasoning that preceded the item is missing.
    return keeps && isComplete ? pieces.flat() : pieces.flat().map(withoutIds)
  }

  #pieces(
    item: OpenItem,
    calls: readonly (number | undefined)[],
    { answered, isStored, isFollowed }: { answered: ReadonlySet<Json | undefined>; isStored: boolean; isFollowed: boolean },
  ): LayoutPiece[] {
    switch (item.kind) {
      case 'message':
        return item.layout()
      case 'call': {
        const call = calls.indexOf(item.number)
        const { type, call_id: _c, name: _n, arguments: _a, input: _i, ...fields } = item.item
        return call === -1 ? [] : [{ call, ...fieldsOf(item.isCustom ? { type: type ?? '', ...fields } : fields) }]
      }
      case 'reasoning': {
        const { encrypted_content: sealed, content } = item.item
        const canGoBack = isStored || (typeof sealed === 'string' && sealed !== '') || objectsIn(content).length > 0
        return item.isWhole && canGoBack && isFollowed ? [{ block: item.item }] : []
      }
      case 'kept': {
        // Leaves out a call of a provider's tool whose result is missing, because the API would refuse the call.
        if (!item.isWhole || item.item.type === 'custom_tool_call') return []
        const awaited = awaitedBy(item.item, answered)
        if (awaited === undefined) return [{ block: item.item }]
        this.#warn(`An item of type \`${String(item.item.type)}\` was not kept: it waits for ${awaited} that can't be given here`)
        this.#waiting = true
        return []
      }
    }
  }

  /** Returns the call that an event belongs to. Some servers don't announce a call before its arguments. */
  #callAt(place: ItemPlace): ResponseCall | undefined {
    const known = this.#at(place)
    if (known !== undefined) return known.kind === 'call' ? known : undefined
    const opened = this.#open(place.output_index, { type: 'function_call' })
    if (typeof place.item_id === 'string') this.#byId.set(place.item_id, opened)
    return opened.kind === 'call' ? opened : undefined
  }

  #at({ output_index: index, item_id: id }: ItemPlace): OpenItem | undefined {
    return this.#find(id, index) ?? (typeof index === 'number' ? undefined : this.#last)
  }

  #find(id: Json | undefined, index: Json | undefined): OpenItem | undefined {
    const known = typeof id === 'string' ? this.#byId.get(id) : undefined
    return known ?? (typeof index === 'number' ? this.#byIndex.get(index) : undefined)
  }

  #open(index: Json | undefined, item: JsonObject): OpenItem {
    const opened = this.#opened(item)
    this.#all.push(opened)
    this.#last = opened
    if (typeof index === 'number') this.#byIndex.set(index, opened)
    if (idOf(item) !== '') this.#byId.set(idOf(item), opened)
    if (opened.kind === 'call') opened.start(this.#claim(callIdOf(item)))
    return opened
  }

  #opened(item: JsonObject): OpenItem {
    switch (item.type) {
      case 'message':
        return new ResponseMessage(item, this.#sink)
      case 'function_call':
        return new ResponseCall(item, this.#all.length, this.#calls, this.#sink)
      case 'custom_tool_call':
        // Some providers report the calls of their own tools as custom tool calls.
        if (typeof item.name === 'string' && !this.#toolNames.has(item.name)) return { kind: 'kept', item, isWhole: false }
        return new ResponseCall(item, this.#all.length, this.#calls, this.#sink)
      case 'reasoning':
        return { kind: 'reasoning', item, isWhole: false, parts: new Map() }
      default:
        return { kind: 'kept', item, isWhole: false }
    }
  }

  /** Returns the id if no other call of the response has it, otherwise null. Two calls with the same id would be merged. */
  #claim(id: string): string | null {
    if (id === '' || this.#callIds.has(id)) return null
    this.#callIds.add(id)
    return id
  }

  #closeText(message: ResponseMessage, at: number, part: JsonObject): void {
    message.close(at, part, () => this.text)
    if (message.contradicts) this.#warn('The text at the end of the response is not the one that was streamed')
  }

  /** Adds text to the reasoning. Each summary or text of the item, identified by `name`, is a separate paragraph. */
  #think(item: OpenItem & { kind: 'reasoning' }, name: string, text: Json | undefined, isWhole: boolean): void {
    const part = item.parts.get(name) ?? new TextBuffer()
    item.parts.set(name, part)
    const delta = typeof text !== 'string' ? '' : isWhole ? restOf(part, text) : text
    if (delta === undefined || delta === '') return
    const piece = part.isEmpty && !this.#reasoning.isEmpty ? `\n\n${delta}` : delta
    part.add(delta)
    this.#reasoning.add(piece)
    this.#sink?.reasoning?.(piece)
  }

  #warn(warning: string): void {
    if (!this.warnings.includes(warning)) this.warnings.push(warning)
  }
}

function idOf({ id }: JsonObject): string {
  return typeof id === 'string' ? id : ''
}

function numberOf(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0
}

/**
 * Describes the approval or result that an item waits for. Undefined if the item waits for nothing. `answered`: the ids of the calls whose
 * results the provider has.
 */
function awaitedBy(item: JsonObject, answered: ReadonlySet<Json | undefined>): string | undefined {
  const { type, call_id: id, name, server_label: server } = item
  if (type === 'mcp_approval_request') return `an approval of \`${String(name)}\` of the MCP server \`${String(server)}\``
  const isCall = id !== undefined && id !== null && id !== '' && !isOutput(item)
  return isCall && !answered.has(id) ? 'a result' : undefined
}

function isOutput({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.endsWith('_output')
}

function fieldsOf(fields: JsonObject): { fields?: JsonObject } {
  return Object.keys(fields).length === 0 ? {} : { fields }
}

/** Removes the ids that the API assigned to a text or call. */
function withoutIds(piece: LayoutPiece): LayoutPiece {
  if (!('text' in piece || 'call' in piece) || piece.fields === undefined) return piece
  const { id: _i, status: _s, ...rest } = piece.fields
  return 'text' in piece ? { text: piece.text, ...fieldsOf(rest) } : { call: piece.call, ...fieldsOf(rest) }
}

function objectsIn(list: Json | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}
