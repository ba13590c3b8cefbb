import { show, ToolloopError } from '../errors.ts'
import {
  type ChatMessage,
  type Content,
  copyJson,
  hasToolCalls,
  isJsonObject,
  isToolResult,
  type ToolCall,
  type ToolResultMessage,
} from '../messages.ts'
import { type Compaction, compacted, noCompaction } from './compaction.ts'

/** What had to be put right in a conversation that was handed in. All zero for a valid one. */
export interface Healing {
  /** Calls without a result that were given one. */
  answeredCalls: number
  /** Results without a call, or second results of one call, that were left out. */
  droppedResults: number
  /** Results that stood elsewhere and were moved behind their call. */
  movedResults: number
  /** Calls whose id was missing or already taken. */
  renamedCalls: number
}

const noResult = 'No result was recorded for this call.'

/**
 * The conversation of a run, and the one place that keeps its rule: every call has exactly one result, right behind the message that
 * made it, in the order of the calls; ids are unique. Messages are frozen copies, so what was handed in or out can't change it.
 */
export class History {
  readonly #messages: ChatMessage[] = []
  /** The same list as `#messages` while nothing is left out. */
  #visible = this.#messages
  #compaction = noCompaction
  readonly #ids = new Set<string>()
  /** Calls of the last assistant message that have no result yet, by id. */
  readonly #open = new Map<string, ToolCall>()
  readonly healing: Healing = { answeredCalls: 0, droppedResults: 0, movedResults: 0, renamedCalls: 0 }
  #prefix: number
  #earlier = 0

  /**
   * `instructions` becomes the first message, unless the conversation already begins with it. The first `given` messages of the
   * conversation are from earlier. Throws `invalid_message`.
   */
  constructor(conversation: readonly ChatMessage[] = [], instructions?: string, given = 0) {
    const [first] = conversation
    const isThere = first?.role === 'system' && first.content === instructions
    if (instructions !== undefined && !isThere) this.#push(adopt({ role: 'system', content: instructions }))
    this.#prefix = this.#messages.length
    this.#load(conversation, given)
  }

  /** How many messages of the list, without the instructions, are from earlier: not as many as were given, where those were healed. */
  get earlier(): number {
    return this.#earlier
  }

  /** The list to send to a model: grows as the run goes on, and is replaced by a shorter one when the conversation is compacted. */
  get messages(): readonly ChatMessage[] {
    return this.#visible
  }

  /** Every message, the instructions included, whatever is left out when it is sent. */
  get whole(): readonly ChatMessage[] {
    return this.#messages
  }

  /** What is left out of `messages`; positions are those of `whole`. */
  get compaction(): Compaction {
    return this.#compaction
  }

  compact(compaction: Compaction): void {
    this.#compaction = compaction
    this.#visible = [...compacted(this.#messages, compaction)]
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

  /** Other instructions in place of those there are. */
  instruct(instructions: string | undefined): void {
    const first = instructions === undefined ? [] : [adopt<ChatMessage>({ role: 'system', content: instructions })]
    const shift = first.length - this.#prefix
    this.#messages.splice(0, this.#prefix, ...first)
    this.#prefix = first.length
    const { from, shortenBefore } = this.#compaction
    if (this.#visible !== this.#messages) {
      this.compact({ ...this.#compaction, from: Math.max(0, from + shift), shortenBefore: Math.max(0, shortenBefore + shift) })
    }
  }

  /** Takes over a message that holds no result, and freezes it. Calls still open are answered first, so the list stays valid. */
  append(message: ChatMessage): void {
    this.closeOpenCalls(noResult)
    if (hasToolCalls(message)) {
      for (const call of message.toolCalls) {
        this.#ids.add(call.id)
        this.#open.set(call.id, call)
      }
    }
    this.#push(adopt(message))
  }

  /** Takes over messages of any kind, put in order like those a conversation begins with. */
  extend(messages: readonly ChatMessage[]): void {
    this.#load(messages, 0)
  }

  /** Takes over the result of an open call; false, and nothing appended, when there is no such call. */
  appendResult(result: ToolResultMessage): boolean {
    if (!this.#open.delete(result.toolCallId)) return false
    this.#push(adopt(result))
    return true
  }

  /** Gives every open call `content` as its result, but for those in `except`. */
  closeOpenCalls(content: Content, except: ReadonlySet<string> = new Set()): void {
    for (const {
      id,
      function: { name },
    } of [...this.#open.values()]) {
      if (!except.has(id)) this.appendResult({ role: 'tool', content, toolCallId: id, name, isError: true })
    }
  }

  /** The calls with ids that are there, legal and not yet used in this conversation. The same calls always get the same ids. */
  withUniqueIds<Call extends ToolCall>(calls: readonly Call[]): Call[] {
    const taken = new Set<string>()
    return calls.map((call, index) => {
      const wanted = call.id === '' ? `call_${this.#messages.length}_${index}` : call.id
      let id = wanted
      for (let n = 2; this.#ids.has(id) || taken.has(id); n++) id = `${wanted}_${n}`
      taken.add(id)
      return id === call.id ? call : { ...call, id }
    })
  }

  #push(message: ChatMessage): void {
    this.#messages.push(message)
    if (this.#visible !== this.#messages) this.#visible.push(message)
  }

  #load(conversation: readonly ChatMessage[], given: number): void {
    for (let i = 0; i < conversation.length; i++) checkMessage(conversation[i], i)
    const results = new ResultIndex(conversation)
    const countEarlier = (position: number) => {
      if (position < given) this.#earlier = this.length
    }
    conversation.forEach((message, position) => {
      if (isToolResult(message)) return
      if (!hasToolCalls(message)) {
        this.append(ownCopy(message))
        countEarlier(position)
        return
      }
      const calls = this.withUniqueIds(message.toolCalls)
      const renamed = calls.some((call, index) => call !== message.toolCalls[index])
      this.append(ownCopy(renamed ? { ...message, toolCalls: calls } : message))
      countEarlier(position)
      message.toolCalls.forEach((given, index) => {
        const call = calls[index] ?? given
        if (call !== given) this.healing.renamedCalls++
        const found = results.take(given.id, position, index)
        if (found === undefined) {
          this.healing.answeredCalls++
          this.appendResult({ role: 'tool', content: noResult, toolCallId: call.id, name: call.function.name, isError: true })
          return
        }
        if (found.moved) this.healing.movedResults++
        this.appendResult(ownCopy(call.id === found.message.toolCallId ? found.message : { ...found.message, toolCallId: call.id }))
        countEarlier(found.position)
      })
    })
    this.healing.droppedResults = results.left
  }
}

/**
 * Finds the result that belongs to a call: the first one with its id that stands behind it and before the id is used again. What stands
 * before every use of its id was misplaced, and still belongs to the first.
 */
class ResultIndex {
  readonly #byId = new Map<string, { message: ToolResultMessage; position: number }[]>()
  readonly #callPositions = new Map<string, number[]>()
  readonly #conversation: readonly ChatMessage[]
  left = 0

  constructor(conversation: readonly ChatMessage[]) {
    this.#conversation = conversation
    conversation.forEach((message, position) => {
      if (isToolResult(message)) {
        push(this.#byId, message.toolCallId, { message, position })
        this.left++
      } else if (hasToolCalls(message)) for (const { id } of message.toolCalls) push(this.#callPositions, id, position)
    })
  }

  take(id: string, callPosition: number, callIndex: number): { message: ToolResultMessage; position: number; moved: boolean } | undefined {
    const candidates = this.#byId.get(id)
    if (candidates === undefined) return undefined
    const uses = this.#callPositions.get(id) ?? []
    const nextUse = uses.find((position) => position > callPosition) ?? Number.POSITIVE_INFINITY
    const from = uses[0] === callPosition ? -1 : callPosition
    const at = candidates.findIndex(({ position }) => position > from && position < nextUse)
    const [found] = at === -1 ? [] : candidates.splice(at, 1)
    if (found === undefined) return undefined
    this.left--
    return { ...found, moved: found.position !== this.#expectedPosition(callPosition, callIndex) }
  }

  /** Where the result of the call at `callIndex` stands in a valid conversation. */
  #expectedPosition(callPosition: number, callIndex: number): number {
    const expected = callPosition + 1 + callIndex
    return this.#conversation[expected]?.role === 'tool' ? expected : Number.NaN
  }
}

function push<T>(map: Map<string, T[]>, key: string, item: T): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [item])
  else list.push(item)
}

const own = new WeakSet<ChatMessage>()

/** A frozen copy of a message; one that is already ours is used again as it is. */
function ownCopy<M extends ChatMessage>(message: M): M {
  return own.has(message) ? message : adopt(copyJson(message))
}

const maxLevels = 200
const maxValues = 1_000_000

/** How deep a value is nested, and how many values it has written out: what is referred to twice counts twice. */
interface Extent {
  levels: number
  values: number
}

const endless: Extent = { levels: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY }

/** Looks at each object once, however often it is referred to. One that holds itself, or lies too deep, is endless. */
function extentOf(value: unknown, measured = new Map<object, Extent>(), level = 0): Extent {
  if (typeof value !== 'object' || value === null) return { levels: 0, values: 1 }
  const known = measured.get(value)
  if (known !== undefined) return known
  if (level > maxLevels) return endless
  // Until it is measured: whoever meets it meanwhile is inside of it.
  measured.set(value, endless)
  const extent: Extent = { levels: 1, values: 1 }
  for (const item of Object.values(value)) {
    const { levels, values } = extentOf(item, measured, level + 1)
    extent.levels = Math.max(extent.levels, levels + 1)
    extent.values += values
  }
  measured.set(value, extent)
  return extent
}

function adopt<M extends ChatMessage>(message: M): M {
  own.add(message)
  return deepFreeze(message)
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool']
const partTypes: readonly unknown[] = ['text', 'image', 'file']

/** Whether it can be the content of a tool message. */
export function isContent(content: unknown): content is Content {
  return typeof content === 'string' || (Array.isArray(content) && content.every(isPart))
}

function isPart(part: unknown): boolean {
  return isJsonObject(part) && partTypes.includes(part.type) && (part.type !== 'text' || typeof part.text === 'string')
}

function checkMessage(message: unknown, position: number): void {
  const fail = (expected: string, got: unknown): never => {
    throw new ToolloopError('invalid_message', `Expected messages[${position}]${expected}, got \`${show(got)}\``)
  }
  if (!isJsonObject(message)) {
    fail(' to be a message', message)
    return
  }
  const { role, content, toolCallId, toolCalls } = message
  if (!roles.includes(role)) fail(".role to be 'system', 'user', 'assistant' or 'tool'", role)
  if (typeof content !== 'string' && !(Array.isArray(content) && (role === 'user' || role === 'tool'))) {
    fail('.content to be a string, or an array of parts in a user or tool message', content)
  }
  for (const part of Array.isArray(content) ? content : [])
    if (!isPart(part)) fail(".content to hold parts of type 'text', 'image' or 'file'", part)
  const { levels, values } = extentOf(message)
  // Not shown: writing it out may never end.
  if (levels > maxLevels) fail(` to be at most ${maxLevels} levels deep`, 'a message that is deeper, or holds itself')
  if (values > maxValues) fail(` to have at most ${maxValues} values`, `a message of ${values}`)
  if (role === 'tool' && typeof toolCallId !== 'string') fail('.toolCallId to be a string', toolCallId)
  if (toolCalls !== undefined && !Array.isArray(toolCalls)) fail('.toolCalls to be an array', toolCalls)
  for (const call of Array.isArray(toolCalls) ? toolCalls : []) {
    const body = isJsonObject(call) ? call.function : undefined
    if (
      !isJsonObject(call) ||
      typeof call.id !== 'string' ||
      !isJsonObject(body) ||
      typeof body.name !== 'string' ||
      typeof body.arguments !== 'string'
    ) {
      fail('.toolCalls to hold `{id, type, function: {name, arguments}}` with texts', call)
    }
  }
}
