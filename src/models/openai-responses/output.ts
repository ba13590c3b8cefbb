import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text-buffer.ts'
import type { ModelSink } from '../chat-model.ts'
import type { ToolCallAccumulator } from '../streaming/accumulator.ts'
import type { LayoutPiece } from '../streaming/response-layout.ts'
import { callerOf, callIdOf, customEnd, customStart, escaped } from './items.ts'

/** A text of an item, as far as it has come. */
interface Part {
  text: TextBuffer
  fields: JsonObject
}

/** `item`: as it was when it was done. */
type OpenItem =
  | { kind: 'message'; item: JsonObject; parts: Map<number, Part> }
  | { kind: 'call'; item: JsonObject; number: number; isCustom: boolean; input: TextBuffer; isClosed: boolean }
  | { kind: 'reasoning'; item: JsonObject; isWhole: boolean; parts: Map<string, Part> }
  /** Not ours to read: what the provider's own tools did, and what is not known yet. */
  | { kind: 'kept'; item: JsonObject; isWhole: boolean }

/** Where an event belongs. Some servers number no items, or all alike, and some change an item's id from one event to the next. */
export interface ItemPlace {
  output_index?: Json
  item_id?: Json
}

/**
 * The output items of a response, in order, as they arrive: text and reasoning go to the sink, calls to the accumulator, and the rest is
 * kept. What an item is when it is done counts only for what had not come in pieces before.
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
  readonly #reasoning = new TextBuffer()
  #last: OpenItem | undefined
  #refused = false
  #waiting = false

  /** `toolNames`: the tools of the request. */
  constructor(calls: ToolCallAccumulator, sink: ModelSink | undefined, toolNames: ReadonlySet<string>) {
    this.#calls = calls
    this.#sink = sink
    this.#toolNames = toolNames
  }

  get text(): string {
    const parts = this.#all.flatMap((item) => (item.kind === 'message' ? [...item.parts.values()] : []))
    return parts.map(({ text }) => text.toString()).join('')
  }

  get reasoning(): string {
    return this.#reasoning.toString()
  }

  /** Whether the provider waits for what can't be given here; known after `layout`, whose warnings name it. */
  get isWaiting(): boolean {
    return this.#waiting
  }

  get isRefusal(): boolean {
    return this.#refused
  }

  open({ output_index: index }: ItemPlace, item: JsonObject): void {
    if (this.#byId.get(idOf(item)) === undefined) this.#open(index, item)
  }

  /** The item as it is in the end. */
  close({ output_index: index }: ItemPlace, item: JsonObject): void {
    this.#close(this.#find(item.id, index) ?? this.#open(index, item), item)
  }

  /** All items as they are in the end. Of a stream these are the ones that have come already. */
  closeAll(items: readonly Json[]): void {
    for (const [at, item] of items.entries()) {
      if (!isJsonObject(item)) continue
      const there = this.#all[at]
      const sameKind = there?.item.type === item.type ? there : undefined
      this.#close(this.#byId.get(idOf(item)) ?? sameKind ?? this.#open(at, item), item)
    }
  }

  #close(open: OpenItem, item: JsonObject): void {
    switch (open.kind) {
      case 'message':
        open.item = item
        for (const [at, part] of objectsIn(item.content).entries()) this.#closePart(open, at, part)
        return
      case 'call':
        this.#closeCall(open, item)
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
    if (item.kind !== 'message' || typeof delta !== 'string') return
    this.#say(this.#part(item, content, isRefusal), delta)
  }

  /** `part`: which of its summaries or texts. */
  addReasoning(place: ItemPlace, part: string, delta: Json | undefined): void {
    const item = this.#at(place) ?? this.#open(place.output_index, { type: 'reasoning' })
    if (item.kind === 'reasoning') this.#think(item, part, delta, false)
  }

  addArguments(place: ItemPlace, delta: Json | undefined): void {
    const item = this.#at(place)
    if (item?.kind !== 'call' || item.isClosed || typeof delta !== 'string' || delta === '') return
    item.input.add(delta)
    this.#calls.add({ index: item.number, arguments: item.isCustom ? escaped(delta) : delta }, this.#sink)
  }

  /**
   * `calls`: the number of each call's item, in the order of the calls. `isStored`: the provider keeps the response, so that its reasoning
   * may go back by its id alone.
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
    // An item's id says which reasoning it came from: without all of that it would be refused, and without any it says nothing.
    return keeps && isComplete ? pieces.flat() : pieces.flat().map(withoutIds)
  }

  #pieces(
    item: OpenItem,
    calls: readonly (number | undefined)[],
    { answered, isStored, isFollowed }: { answered: ReadonlySet<Json | undefined>; isStored: boolean; isFollowed: boolean },
  ): LayoutPiece[] {
    switch (item.kind) {
      case 'message': {
        const { type: _t, role: _r, content: _c, ...fields } = item.item
        return [...item.parts.values()].flatMap(({ text, fields: part }) => {
          const { length } = text.toString()
          return length === 0 ? [] : [{ text: length, ...fieldsOf(Object.keys(part).length === 0 ? fields : { ...fields, part }) }]
        })
      }
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
        // What an own call of the provider's came to is in no item, and without that it would not be taken back.
        if (!item.isWhole || item.item.type === 'custom_tool_call') return []
        const awaited = awaitedBy(item.item, answered)
        if (awaited === undefined) return [{ block: item.item }]
        const warning = `An item of type \`${String(item.item.type)}\` was not kept: it waits for ${awaited} that can't be given here`
        if (!this.warnings.includes(warning)) this.warnings.push(warning)
        this.#waiting = true
        return []
      }
    }
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
    if (opened.kind === 'call') this.#startCall(opened, item)
    return opened
  }

  #opened(item: JsonObject): OpenItem {
    switch (item.type) {
      case 'message':
        return { kind: 'message', item, parts: new Map() }
      case 'function_call':
        return { kind: 'call', item, number: this.#all.length, isCustom: false, input: new TextBuffer(), isClosed: false }
      case 'custom_tool_call':
        // Some providers tell of what their own tools have done in this way.
        if (typeof item.name === 'string' && !this.#toolNames.has(item.name)) return { kind: 'kept', item, isWhole: false }
        return { kind: 'call', item, number: this.#all.length, isCustom: true, input: new TextBuffer(), isClosed: false }
      case 'reasoning':
        return { kind: 'reasoning', item, isWhole: false, parts: new Map() }
      default:
        return { kind: 'kept', item, isWhole: false }
    }
  }

  #startCall(call: OpenItem & { kind: 'call' }, item: JsonObject): void {
    const id = callIdOf(item)
    // An id that is used twice would make one call of two.
    const isRepeated = this.#callIds.has(id)
    this.#callIds.add(id)
    const name = typeof item.name === 'string' ? item.name : null
    const start = call.isCustom ? { arguments: customStart } : {}
    this.#calls.add({ index: call.number, id: isRepeated ? null : id, name, extra: { item: call.number }, ...start }, this.#sink)
  }

  #closeCall(call: OpenItem & { kind: 'call' }, item: JsonObject): void {
    if (call.isClosed) return
    const whole = call.isCustom ? item.input : item.arguments
    // Some servers send a call whole, some without its last pieces, and some its arguments as a value.
    const rest = typeof whole === 'string' ? restOf(call.input, whole) : call.input.isEmpty ? whole : undefined
    call.item = item
    call.isClosed = true
    const end = item.status === 'incomplete' ? '' : customEnd
    const json = call.isCustom ? `${typeof rest === 'string' ? escaped(rest) : ''}${end}` : rest
    const name = typeof item.name === 'string' ? item.name : null
    if (typeof whole !== 'string' || rest !== undefined) this.#calls.add({ index: call.number, name, arguments: json ?? null }, this.#sink)
    else this.#calls.correct(call.number, call.isCustom ? `${customStart}${escaped(whole)}${end}` : whole, this.#sink)
  }

  #part(item: OpenItem & { kind: 'message' }, content: Json | undefined, isRefusal: boolean): Part {
    const at = typeof content === 'number' ? content : 0
    let part = item.parts.get(at)
    if (part === undefined) {
      part = { text: new TextBuffer(), fields: isRefusal ? { type: 'refusal' } : {} }
      item.parts.set(at, part)
    }
    return part
  }

  #closePart(
    item: OpenItem & { kind: 'message' },
    at: number,
    { type, text, refusal, annotations, logprobs: _, ...rest }: JsonObject,
  ): void {
    const isRefusal = type === 'refusal'
    const whole = isRefusal ? refusal : text
    if (typeof whole !== 'string') return
    const part = this.#part(item, at, isRefusal)
    const more = restOf(part.text, whole)
    if (more === undefined) this.#contradict(part, whole)
    else this.#say(part, more)
    const kept: JsonObject = Array.isArray(annotations) && annotations.length > 0 ? { annotations } : {}
    part.fields = { ...part.fields, ...rest, ...kept }
  }

  #say(part: Part, delta: string): void {
    if (delta === '') return
    if (part.fields.type === 'refusal') this.#refused = true
    part.text.add(delta)
    this.#sink?.text?.(delta)
  }

  /** The text is another in the end than the one that was streamed: what was shown can't be taken back. */
  #contradict(part: Part, whole: string): void {
    const warning = 'The text at the end of the response is not the one that was streamed'
    if (!this.warnings.includes(warning)) this.warnings.push(warning)
    if (this.#sink?.text !== undefined) return
    part.text = new TextBuffer()
    part.text.add(whole)
  }

  /** Texts of reasoning are paragraphs of one. */
  #think(item: OpenItem & { kind: 'reasoning' }, name: string, text: Json | undefined, isWhole: boolean): void {
    const part = item.parts.get(name) ?? { text: new TextBuffer(), fields: {} }
    item.parts.set(name, part)
    const delta = typeof text !== 'string' ? '' : isWhole ? restOf(part.text, text) : text
    if (delta === undefined || delta === '') return
    const piece = part.text.isEmpty && !this.#reasoning.isEmpty ? `\n\n${delta}` : delta
    part.text.add(delta)
    this.#reasoning.add(piece)
    this.#sink?.reasoning?.(piece)
  }
}

function idOf({ id }: JsonObject): string {
  return typeof id === 'string' ? id : ''
}

/** What has not been streamed of a whole text; undefined where that is not how the text goes on. */
function restOf(streamed: TextBuffer, whole: string): string | undefined {
  const begun = streamed.toString()
  if (whole.startsWith(begun)) return whole.slice(begun.length)
  return begun.startsWith(whole) ? '' : undefined
}

/** What an item waits for; undefined for one that is done. `answered`: the calls whose result the provider has. */
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

/** Without what tells an item from others of the same response. */
function withoutIds(piece: LayoutPiece): LayoutPiece {
  if ('block' in piece || piece.fields === undefined) return piece
  const { id: _i, status: _s, ...rest } = piece.fields
  return 'text' in piece ? { text: piece.text, ...fieldsOf(rest) } : { call: piece.call, ...fieldsOf(rest) }
}

function objectsIn(list: Json | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}
