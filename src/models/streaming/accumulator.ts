import { jsonIn } from '../../core/json.ts'
import type { JsonObject, ToolCall } from '../../core/messages.ts'
import { isPartOf, isSameJson } from './json-end.ts'
import { clear, isComplete, joined, joinNames, type OpenCall, sameArguments, stateOf, type ToolCallSink } from './open-call.ts'

/** A piece of a call, in the loose form in which servers send it: any field may be missing, empty, null, late, or repeated. */
export interface ToolCallDelta {
  index?: number | null
  id?: string | number | null
  name?: string | null
  /** Text to append, or the complete arguments as a value. */
  arguments?: unknown
  /** Data that the provider attached to the call. It is returned in `extras`. */
  extra?: JsonObject
}

/**
 * Assembles calls from deltas of any shape. A delta belongs to the call with the delta's id, otherwise to the call with its index,
 * otherwise to the last open call. Each of these rules is needed for some server:
 * - A new id at a used index is a new call, unless it has no name and the call there is unfinished (some servers send a new id with each
 *   chunk).
 * - The first non-empty id and name are used. A call is announced to the sink once its name is known, in the order of the calls.
 * - A name may arrive in fragments, or each piece may repeat the name so far. Pieces are joined if the result is a tool's name or the start
 *   of one.
 * - `{}` before the real arguments is a placeholder. Repeated arguments count once. If different arguments follow complete arguments, they
 *   are appended, so that parsing fails and nothing is guessed.
 */
export class ToolCallAccumulator {
  /** Irregularities that were corrected. */
  readonly warnings: string[] = []
  /** The `extra` of each call, by position. `finish` fills this list. */
  extras: (JsonObject | undefined)[] = []
  #calls: OpenCall[] = []
  #startedCalls = 0
  readonly #toolNames: ReadonlySet<string>
  readonly #byId = new Map<string, OpenCall>()
  readonly #byIndex = new Map<number, OpenCall>()
  #last: OpenCall | undefined

  constructor(toolNames: ReadonlySet<string> = new Set()) {
    this.#toolNames = toolNames
  }

  /** Whether no delta has arrived. */
  get isEmpty(): boolean {
    return this.#calls.length === 0
  }

  /** Whether `name` continues the name of the call at `index`. False if the call already has a complete tool name. */
  isNamePiece(index: number, name: string): boolean {
    const call = this.#byIndex.get(index)
    return call !== undefined && !this.#toolNames.has(call.name) && this.#joinedName(call, name, false) !== undefined
  }

  add(delta: ToolCallDelta, sink?: ToolCallSink): void {
    const last = this.#last
    // The fast path, because nearly every delta is only the next piece of the current call.
    if (last !== undefined && continues(last, delta)) {
      append(last, delta.arguments)
      flow(last, sink)
      return
    }
    const id = typeof delta.id === 'number' ? String(delta.id) : typeof delta.id === 'string' ? delta.id : ''
    const name = typeof delta.name === 'string' ? delta.name : ''
    const index = typeof delta.index === 'number' ? delta.index : undefined
    const json = textOf(delta.arguments)
    const call = this.#repeatOf(this.#route(id, name, index, json), id, name, json)
    if (id !== '') {
      if (call.id === '') call.id = id
      this.#byId.set(id, call)
    }
    if (index !== undefined) {
      call.index ??= index
      this.#byIndex.set(index, call)
    }
    const whole = call.name === '' ? name : this.#joinedName(call, name, true)
    if (whole !== undefined && whole !== '') {
      call.name = whole
      call.mayGrow = this.#mayGrow(whole)
    }
    call.extra ??= delta.extra
    if (json !== '') append(call, json)
    this.#last = call
    if (call.repeats !== undefined && stateOf(call) === 'complete') this.#resolve(call, sink)
    if (call.position >= 0) flow(call, sink)
    else this.#start(sink, false)
  }

  /**
   * Applies the final arguments of a call. They replace the streamed arguments if the sink has received none of these, or if the streamed
   * arguments only lack some parts. In other cases both are kept, so that parsing fails. A call never runs with arguments other than those
   * that were shown.
   *
   * If an id is given instead of an index, complete arguments are not changed.
   */
  correct(indexOrId: number | string, json: string, sink?: ToolCallSink): void {
    const call = typeof indexOrId === 'number' ? this.#byIndex.get(indexOrId) : this.#byId.get(indexOrId)
    const before = call && joined(call)
    if (call === undefined || before === undefined || isSameJson(before, json)) return
    const isWhole = jsonIn(before) !== undefined
    if (isWhole && typeof indexOrId === 'string') return
    const isPart = !isWhole && isPartOf(before, json)
    this.warnings.push(`Tool call \`${call.name}\` came with ${isPart ? 'pieces missing' : 'two different sets of arguments'}`)
    const isSeen = call.sent > 0 && sink?.toolCallDelta !== undefined
    if (isPart || !isSeen) clear(call)
    append(call, json)
    // A sink that has received incomplete arguments gets no correction, because pieces can't be taken back.
    call.sent = isPart && isSeen ? call.pieces.length : Math.min(call.sent, call.pieces.length - 1)
    if (call.position >= 0) flow(call, sink)
  }

  /** Returns the complete calls, and passes the held-back pieces to the sink. Called once, after the last delta. */
  finish(sink?: ToolCallSink): ToolCall[] {
    for (const call of [...this.#calls]) if (call.repeats !== undefined) this.#resolve(call, sink)
    const kept = this.#calls.filter((call) => call.name !== '' || call.length > 0)
    const dropped = this.#calls.length - kept.length
    if (dropped > 0) this.warnings.push(`Dropped ${dropped} tool call(s) that had neither a name nor arguments`)
    this.#calls = kept
    this.#start(sink, true)
    for (const call of kept) {
      call.flowing = true
      flow(call, sink)
    }
    const whole: ToolCall[] = []
    for (const call of this.#ordered()) {
      this.extras.push(call.extra)
      whole.push({ id: call.id, type: 'function', function: { name: call.name, arguments: call.pieces.join('') } })
    }
    return whole
  }

  /** Whether the last call's arguments are incomplete. If so, the response was cut off, even if its finish reason says otherwise. */
  isCut(): boolean {
    const last = this.#calls.at(-1)
    // Checks the last character (125 is `}`) first, because scanning is slower.
    return last !== undefined && last.length > 0 && last.lastCode !== 125 && stateOf(last) === 'open'
  }

  #route(id: string, name: string, index: number | undefined, json: string): OpenCall {
    const known = id === '' ? undefined : this.#byId.get(id)
    if (known !== undefined) {
      const call = settled(known)
      const elsewhere = name !== '' && index !== undefined && call.index !== undefined && index !== call.index
      return elsewhere && (name !== call.name || isComplete(call)) ? this.#open(undefined) : call
    }
    let at = index === undefined ? this.#last : this.#byIndex.get(index)
    // If the last call has no index yet, the delta belongs to it, because an index may arrive late.
    if (at === undefined && id === '' && name === '' && this.#last?.index === undefined) at = this.#last
    if (at === undefined) return this.#open(undefined)
    at = settled(at)
    if (name !== '') {
      if (at.name === '' && (id === '' || at.id === '')) return at
      if (this.#joinedName(at, name, false) !== undefined && (id === '' || at.id === '' || !this.#toolNames.has(name))) return at
      if (id !== '' && at.id !== '') return this.#open(at)
      if (name !== at.name || (id !== '' && isComplete(at))) return this.#open(at)
      return at
    }
    if (id === '' || at.id === '') return at
    if (json === '') return this.#open(at)
    // Removes calls that have only an id, because some servers send a new id with each chunk.
    while (at.before !== undefined && at.name === '' && at.length === 0) {
      this.#remove(at)
      at = settled(at.before)
    }
    return isComplete(at) ? this.#open(at) : at
  }

  /**
   * Returns the call that receives the delta. If the arguments seem to start again, a new call collects them until it is clear whether they
   * are a repetition.
   */
  #repeatOf(call: OpenCall, id: string, name: string, json: string): OpenCall {
    if (call.lastCode !== 125) return call
    // Without ids, a delta with only a name may start a second call, or only repeat the name of the first.
    const header = json === '' && name !== '' && id === '' && call.name !== ''
    if (!header && !json.trimStart().startsWith('{')) return call
    if (!isComplete(call)) return call
    if (!call.flowing && /^\s*\{\s*\}\s*$/.test(joined(call))) {
      if (!header) clear(call)
      return call
    }
    const repeat = this.#open(undefined)
    repeat.repeats = call
    repeat.named = name !== ''
    repeat.name = call.name
    repeat.id = call.id
    repeat.index = call.index
    if (call.id !== '') this.#byId.set(call.id, repeat)
    if (call.index !== undefined) this.#byIndex.set(call.index, repeat)
    return repeat
  }

  #resolve(repeat: OpenCall, sink: ToolCallSink | undefined): void {
    const first = repeat.repeats
    if (first === undefined) return
    repeat.repeats = undefined
    const again = repeat.length === 0 || sameArguments(first, repeat)
    if (!again && repeat.named) return
    this.#remove(repeat)
    repeat.mergedInto = first
    first.extra ??= repeat.extra
    if (again) return
    this.warnings.push(`Tool call \`${first.name}\` came with two different sets of arguments`)
    append(first, joined(repeat))
    if (first.position >= 0) flow(first, sink)
  }

  #open(before: OpenCall | undefined): OpenCall {
    const call: OpenCall = {
      id: '',
      name: '',
      mayGrow: false,
      index: undefined,
      extra: undefined,
      pieces: [],
      length: 0,
      lastCode: 0,
      end: undefined,
      scanned: 0,
      joinedPieces: 0,
      sent: 0,
      flowing: false,
      position: -1,
      before,
      repeats: undefined,
      named: false,
      mergedInto: undefined,
    }
    this.#calls.push(call)
    return call
  }

  #mayGrow(name: string): boolean {
    for (const tool of this.#toolNames) if (tool.length > name.length && tool.startsWith(name)) return true
    return false
  }

  /** Appends a piece to the call's name. Undefined if the result can't be a tool's name, or if the call was already announced. */
  #joinedName({ name, position }: OpenCall, piece: string, isSameCall: boolean): string | undefined {
    return piece === '' || position >= 0 ? undefined : joinNames(name, piece, this.#toolNames, isSameCall)
  }

  #remove(call: OpenCall): void {
    const at = this.#calls.lastIndexOf(call)
    if (at !== -1) this.#calls.splice(at, 1)
  }

  /** Announces calls in order, up to the first call whose name is not known yet. At the end, announces all calls. */
  #start(sink: ToolCallSink | undefined, atEnd: boolean): void {
    for (let call = this.#calls[this.#startedCalls]; call !== undefined; call = this.#calls[this.#startedCalls]) {
      const isNamed = call.name !== '' && (!call.mayGrow || (call.length > 0 && this.#toolNames.has(call.name)))
      if (!atEnd && (!isNamed || call.repeats !== undefined)) return
      call.position = this.#startedCalls++
      sink?.toolCallStart?.(call.position, call.id, call.name)
      flow(call, sink)
    }
  }

  /** Sorts the calls by index if the provider numbers them. Otherwise keeps the order of arrival. */
  #ordered(): OpenCall[] {
    if (this.#calls.length < 2) return this.#calls
    const indexes = new Set<number | undefined>()
    for (const call of this.#calls) indexes.add(call.index)
    if (indexes.has(undefined) || indexes.size < this.#calls.length) return this.#calls
    return this.#calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
  }
}

function continues(call: OpenCall, delta: ToolCallDelta): delta is ToolCallDelta & { arguments: string } {
  const { id, name, index, extra, arguments: json } = delta
  if (id || name || extra !== undefined || typeof json !== 'string' || json === '' || (index !== call.index && index !== null)) return false
  // After `}` (125), the next delta may repeat the arguments.
  return call.flowing && call.position >= 0 && call.lastCode !== 125 && call.repeats === undefined && call.mergedInto === undefined
}

/** Returns the call into which `call` was merged, otherwise `call` itself. */
function settled(call: OpenCall): OpenCall {
  let at = call
  while (at.mergedInto !== undefined) at = at.mergedInto
  return at
}

function append(call: OpenCall, json: string): void {
  call.pieces.push(json)
  call.length += json.length
  const written = json.trimEnd()
  if (written !== '') call.lastCode = written.charCodeAt(written.length - 1)
  if (!call.flowing) call.flowing = !/^[\s{}]*$/.test(json)
}

/** The number of pieces to collect before they are joined. */
const mostPieces = 512

/** Joins pieces that the sink has received, because keeping many small strings is slow. Waits until the scanner has finished with them. */
function tidy(call: OpenCall): void {
  const { pieces, joinedPieces, scanned } = call
  if (pieces.length - joinedPieces < mostPieces || (scanned > joinedPieces && scanned < pieces.length)) return
  const wasRead = scanned === pieces.length
  pieces.push(pieces.splice(joinedPieces).join(''))
  call.joinedPieces = pieces.length
  call.sent = pieces.length
  if (wasRead) call.scanned = pieces.length
}

/** Passes new pieces to the sink. */
function flow(call: OpenCall, sink: ToolCallSink | undefined): void {
  if (!call.flowing || call.sent === call.pieces.length) return
  if (sink?.toolCallDelta !== undefined) {
    const fresh = call.sent === call.pieces.length - 1 ? call.pieces[call.sent] : call.pieces.slice(call.sent).join('')
    if (fresh !== undefined) sink.toolCallDelta(call.position, fresh)
  }
  call.sent = call.pieces.length
  tidy(call)
}

/** Some servers send the arguments as an object instead of text. */
function textOf(given: unknown): string {
  if (typeof given === 'string') return given
  return given === undefined || given === null ? '' : JSON.stringify(given)
}
