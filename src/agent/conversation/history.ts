import { type MessageInput, toChatMessages } from '../../core/message-input.ts'
import {
  asChecked,
  type ChatMessage,
  type Content,
  hasToolCalls,
  isToolResult,
  type ToolCall,
  type ToolResultMessage,
  toolMessage,
} from '../../core/messages.ts'
import { noResultText } from '../run-texts.ts'
import { type Compaction, compacted, noCompaction } from './compaction.ts'

/** The numbers of repairs made to a conversation that was passed in. All are zero if the conversation was valid. */
export interface Healing {
  /** Calls without a result that got a substitute result. */
  answeredCalls: number
  /** Results that were left out because they had no call, or because their call already had a result. */
  droppedResults: number
  /** Results that were moved to follow their call. */
  movedResults: number
  /** Calls whose id was missing or already in use. */
  renamedCalls: number
}

/**
 * The conversation of a run. Every call has a unique id and exactly one result. The results directly follow the message with the calls, in
 * the order of the calls. Messages are frozen copies, so callers can't change them.
 */
export class History {
  readonly #messages: ChatMessage[] = []
  /** The list to send. It is `#messages` itself until the conversation is compacted. */
  #visible = this.#messages
  #compaction = noCompaction
  readonly #ids = new Set<string>()
  /** For each id in use: the lowest suffix that may still be free. */
  readonly #freeNumbers = new Map<string, number>()
  /** Calls of the last assistant message that have no result yet, by id. */
  readonly #open = new Map<string, ToolCall>()
  readonly healing: Healing = { answeredCalls: 0, droppedResults: 0, movedResults: 0, renamedCalls: 0 }
  #prefix: number
  #earlier = 0

  /**
   * `instructions` becomes the first message, unless the conversation already begins with it. The first `earlier` messages of `given` are
   * older than the run. Throws `invalid_message`.
   */
  constructor(given: readonly MessageInput[] = [], instructions?: string, earlier = 0) {
    const conversation = toChatMessages(given)
    const [first] = conversation
    const own = instructions === undefined ? undefined : instructionsMessage(instructions)
    const isThere = first?.role === 'system' && first.content === own?.content
    if (own !== undefined && !isThere) this.#push(own)
    this.#prefix = this.#messages.length
    this.#load(conversation, earlier)
  }

  /**
   * The number of messages that are older than the run, without the instructions. Differs from the constructor's `earlier` if the messages
   * were repaired.
   */
  get earlier(): number {
    return this.#earlier
  }

  /** The list to send to a model. The list grows with the run. When the conversation is compacted, a shorter list replaces it. */
  get messages(): readonly ChatMessage[] {
    return this.#visible
  }

  /** All messages, including the instructions and the messages that are left out when the conversation is sent. */
  get whole(): readonly ChatMessage[] {
    return this.#messages
  }

  /** Determines which messages of `whole` are left out of `messages`. Its positions refer to `whole`. */
  get compaction(): Compaction {
    return this.#compaction
  }

  compact(compaction: Compaction): void {
    this.#compaction = compaction
    this.#visible = compacted(this.#messages, compaction).map((message) => asChecked(message))
  }

  get length(): number {
    return this.#messages.length - this.#prefix
  }

  get healed(): boolean {
    return Object.values(this.healing).some((count) => count > 0)
  }

  /** The messages from position `from` on, without the instructions, in a new list. */
  slice(from = 0): ChatMessage[] {
    return this.#messages.slice(this.#prefix + from)
  }

  instruct(instructions: string | undefined): void {
    const first = instructions === undefined ? [] : [instructionsMessage(instructions)]
    const shift = first.length - this.#prefix
    this.#messages.splice(0, this.#prefix, ...first)
    this.#prefix = first.length
    const { from, shortenBefore } = this.#compaction
    if (this.#visible !== this.#messages) {
      this.compact({ ...this.#compaction, from: Math.max(0, from + shift), shortenBefore: Math.max(0, shortenBefore + shift) })
    }
  }

  /** Appends a message that is not a result, and freezes it. First gives each open call a substitute result, so the list stays valid. */
  append(message: ChatMessage): void {
    if (this.#open.size > 0) this.closeOpenCalls(noResultText)
    if (hasToolCalls(message)) {
      for (const call of message.toolCalls) {
        this.#ids.add(call.id)
        this.#open.set(call.id, call)
      }
    }
    this.#push(message)
  }

  /** Replaces the last message, which has no calls. */
  replaceLast(message: ChatMessage): void {
    this.#messages.pop()
    if (this.#visible !== this.#messages) this.#visible.pop()
    this.append(message)
  }

  replaceResult(result: ToolResultMessage): void {
    const at = this.#messages.findLastIndex((message) => message.role === 'tool' && message.toolCallId === result.toolCallId)
    if (at === -1) return
    this.#messages[at] = asChecked(result)
    this.#showAgain()
  }

  /**
   * Removes the model's last message if it is an answer: it has no calls, or only calls of the tool `answering`. If it also calls other
   * tools, removes nothing and returns the calls of `answering`.
   */
  dropAnswer(answering: string | undefined): ToolCall[] {
    const at = this.#messages.findLastIndex(({ role }) => role === 'assistant')
    const last = this.#messages[at]
    if (last === undefined) return []
    const calls = hasToolCalls(last) ? last.toolCalls : []
    const answers = calls.filter((call) => call.function.name === answering)
    if (answers.length < calls.length) return answers
    this.#messages.length = at
    this.#showAgain()
    return []
  }

  /** Rebuilds the visible list after earlier messages have changed. */
  #showAgain(): void {
    if (this.#visible !== this.#messages) this.compact(this.#compaction)
  }

  /** Appends messages of any kind. Repairs these messages in the same way as the constructor. */
  extend(messages: readonly MessageInput[]): void {
    this.#load(toChatMessages(messages), 0)
  }

  /** Appends the result of an open call. Returns false and appends nothing if there is no such call. */
  appendResult(result: ToolResultMessage): boolean {
    if (!this.#open.delete(result.toolCallId)) return false
    this.#push(result)
    return true
  }

  /** Gives `content` as the result to every open call whose id is not in `except`. */
  closeOpenCalls(content: Content, except: ReadonlySet<string> = new Set()): void {
    for (const {
      id,
      function: { name },
    } of [...this.#open.values()]) {
      if (!except.has(id)) this.appendResult(toolMessage({ id, name }, content, false))
    }
  }

  /** Replaces call ids that are missing, illegal or already used in this conversation. The same calls always get the same ids. */
  withUniqueIds<Call extends ToolCall>(calls: readonly Call[]): Call[] {
    const taken: TakenIds = new Map()
    const unique: Call[] = []
    for (const [index, call] of calls.entries()) {
      const id = this.#uniqueId(taken, call.id, index)
      unique.push(id === call.id ? call : { ...call, id })
    }
    return unique
  }

  /** Returns a function that assigns ids to the calls of one response. */
  uniqueIds(): (given: string, index: number) => string {
    const taken: TakenIds = new Map()
    return (given, index) => this.#uniqueId(taken, given, index)
  }

  #uniqueId(taken: TakenIds, given: string, index: number): string {
    const wanted = given === '' ? `call_${this.#messages.length}_${index}` : given
    let id = wanted
    if (this.#ids.has(id) || taken.has(id)) {
      let n = taken.get(wanted) ?? this.#freeNumber(wanted)
      do id = `${wanted}_${n++}`
      while (this.#ids.has(id) || taken.has(id))
      taken.set(wanted, n)
    }
    taken.set(id, undefined)
    return id
  }

  /** The lowest suffix that makes `wanted` unique in this conversation. */
  #freeNumber(wanted: string): number {
    let n = this.#freeNumbers.get(wanted) ?? 2
    while (this.#ids.has(`${wanted}_${n}`)) n++
    this.#freeNumbers.set(wanted, n)
    return n
  }

  #push(given: ChatMessage): void {
    const message = asChecked(given)
    this.#messages.push(message)
    if (this.#visible !== this.#messages) this.#visible.push(message)
  }

  #load(conversation: readonly ChatMessage[], given: number): void {
    const results = new ResultIndex(conversation)
    const countEarlier = (position: number) => {
      if (position < given) this.#earlier = this.length
    }
    conversation.forEach((message, position) => {
      if (isToolResult(message)) return
      if (!hasToolCalls(message)) {
        this.append(message)
        countEarlier(position)
        return
      }
      const calls = this.withUniqueIds(message.toolCalls)
      const renamed = calls.some((call, index) => call !== message.toolCalls[index])
      this.append(renamed ? asChecked({ ...message, toolCalls: calls }) : message)
      countEarlier(position)
      message.toolCalls.forEach((given, index) => {
        const call = calls[index] ?? given
        if (call !== given) this.healing.renamedCalls++
        const found = results.take(given.id, position, index)
        if (found === undefined) {
          this.healing.answeredCalls++
          this.appendResult(toolMessage({ id: call.id, name: call.function.name }, noResultText, false))
          return
        }
        if (found.moved) this.healing.movedResults++
        this.appendResult(call.id === found.message.toolCallId ? found.message : asChecked({ ...found.message, toolCallId: call.id }))
        countEarlier(found.position)
      })
    })
    this.healing.droppedResults = results.left
  }
}

function instructionsMessage(instructions: string): ChatMessage {
  return asChecked({ role: 'system', content: instructions })
}

/** The ids assigned to the calls of one response so far. Each value is the next suffix to try for the id. */
type TakenIds = Map<string, number | undefined>

/** All calls and results with the same id, in order. `nextCall` and `nextResult`: the indexes of the next unread call and result. */
interface IdUses {
  calls: number[]
  nextCall: number
  results: { message: ToolResultMessage; position: number }[]
  nextResult: number
}

/**
 * Finds the result of a call, because ids may repeat in a conversation. The result of a call precedes the next call with the same id. A
 * result that precedes all calls with its id belongs to the first of them. Calls must be looked up in order.
 */
class ResultIndex {
  readonly #byId = new Map<string, IdUses>()
  readonly #conversation: readonly ChatMessage[]
  left = 0

  constructor(conversation: readonly ChatMessage[]) {
    this.#conversation = conversation
    conversation.forEach((message, position) => {
      if (isToolResult(message)) {
        this.#of(message.toolCallId).results.push({ message, position })
        this.left++
      } else if (hasToolCalls(message)) for (const { id } of message.toolCalls) this.#of(id).calls.push(position)
    })
  }

  take(id: string, callPosition: number, callIndex: number): { message: ToolResultMessage; position: number; moved: boolean } | undefined {
    const uses = this.#of(id)
    const from = uses.calls[0] === callPosition ? -1 : callPosition
    while ((uses.calls[uses.nextCall] ?? Number.POSITIVE_INFINITY) <= callPosition) uses.nextCall++
    while ((uses.results[uses.nextResult]?.position ?? Number.POSITIVE_INFINITY) <= from) uses.nextResult++
    const nextUse = uses.calls[uses.nextCall] ?? Number.POSITIVE_INFINITY
    const found = uses.results[uses.nextResult]
    if (found === undefined || found.position >= nextUse) return undefined
    uses.nextResult++
    this.left--
    return { ...found, moved: found.position !== this.#expectedPosition(callPosition, callIndex) }
  }

  /** The position that the result of the call has in a valid conversation. NaN if the message at this position is not a result. */
  #expectedPosition(callPosition: number, callIndex: number): number {
    const expected = callPosition + 1 + callIndex
    return this.#conversation[expected]?.role === 'tool' ? expected : Number.NaN
  }

  #of(id: string): IdUses {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    const uses: IdUses = { calls: [], nextCall: 0, results: [], nextResult: 0 }
    this.#byId.set(id, uses)
    return uses
  }
}
