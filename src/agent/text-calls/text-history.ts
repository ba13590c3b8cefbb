import { syncText } from '../../core/callbacks/callbacks.ts'
import { jsonIn } from '../../core/json.ts'
import {
  type AssistantToolCallMessage,
  type ChatMessage,
  type Content,
  type ContentPart,
  hasToolCalls,
  isJsonObject,
  isToolResult,
  type StandardChatMessage,
  type ToolCall,
  type ToolResultMessage,
  textOf,
} from '../../core/messages.ts'
import type { Dialect, PastCall, PastResult } from '../../dialects/index.ts'

/** The name of a call that could not be read. Its arguments are the unread text. */
export const unreadableCall = 'unreadable_call'

/** The calls and results of a turn, written as an assistant message and a user message. */
interface WrittenRound {
  results: readonly ToolResultMessage[]
  messages: readonly [assistant: ChatMessage, answers?: UserMessage]
}

type UserMessage = Extract<StandardChatMessage, { role: 'user' }>

/**
 * Writes conversations for a model without native calls: earlier calls and results in its dialect, and `prompt` at the end of the system
 * message. Written messages are cached.
 */
export class TextHistory {
  readonly #dialect: Dialect
  readonly #rounds = new WeakMap<AssistantToolCallMessage, WrittenRound>()
  readonly #joined = new WeakMap<UserMessage, { answers: UserMessage; message: ChatMessage }>()
  #system: { from: ChatMessage | undefined; prompt: string; message: ChatMessage } | undefined

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  write(messages: readonly ChatMessage[], prompt: string): ChatMessage[] {
    const [first] = messages
    const system = first?.role === 'system' ? first : undefined
    const written: ChatMessage[] = []
    if (prompt !== '') written.push(this.#withPrompt(system, prompt))
    for (let at = prompt !== '' && system !== undefined ? 1 : 0; at < messages.length; at++) {
      const message = messages[at]
      if (message === undefined) continue
      if (!hasToolCalls(message)) {
        written.push(message)
        continue
      }
      const results: ToolResultMessage[] = []
      for (let next = messages[at + 1]; next !== undefined && isToolResult(next); next = messages[++at + 1]) results.push(next)
      const [assistant, answers] = this.#round(message, results)
      written.push(assistant)
      if (answers === undefined) continue
      const next = messages[at + 1]
      if (next?.role === 'user') at++
      written.push(next?.role === 'user' ? this.#join(answers, next) : answers)
    }
    return written
  }

  #withPrompt(system: ChatMessage | undefined, prompt: string): ChatMessage {
    const known = this.#system
    if (known !== undefined && known.from === system && known.prompt === prompt) return known.message
    const instructions = system === undefined ? '' : textOf(system.content)
    const content = instructions === '' ? prompt : `${instructions}\n\n${prompt}`
    const message: ChatMessage = Object.freeze({ ...system, role: 'system', content })
    this.#system = { from: system, prompt, message }
    return message
  }

  /**
   * Joins results and the user's message that follows them, because many custom models accept only alternating user and assistant messages.
   */
  #join(answers: UserMessage, next: UserMessage): ChatMessage {
    const known = this.#joined.get(next)
    if (known?.answers === answers) return known.message
    const content: Content =
      typeof answers.content === 'string' && typeof next.content === 'string'
        ? `${answers.content}\n\n${next.content}`
        : [...partsOf(answers.content), ...partsOf(next.content)]
    const message = Object.freeze({ ...next, content })
    this.#joined.set(next, { answers, message })
    return message
  }

  #round(message: AssistantToolCallMessage, results: readonly ToolResultMessage[]): WrittenRound['messages'] {
    const known = this.#rounds.get(message)
    if (known?.results.length === results.length && known.results.every((result, at) => result === results[at])) return known.messages
    const { toolCalls, ...rest } = message
    const content = [rest.content.trimEnd(), writeCalls(toolCalls, this.#dialect)].filter((text) => text !== '').join('\n')
    const assistant: ChatMessage = Object.freeze({ ...rest, content })
    const written: WrittenRound['messages'] =
      results.length === 0
        ? [assistant]
        : [assistant, Object.freeze({ role: 'user', content: writeResults(message, results, this.#dialect) })]
    this.#rounds.set(message, { results, messages: written })
    return written
  }
}

function partsOf(content: Content): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function writeCalls(calls: readonly ToolCall[], dialect: Dialect): string {
  const texts: string[] = []
  let row: PastCall[] = []
  const endRow = () => {
    if (row.length > 0) texts.push(syncText('renderCalls', dialect.renderCalls(row)))
    row = []
  }
  for (const { function: call } of calls) {
    if (call.name === unreadableCall) {
      endRow()
      // The model must see the original text to which the result refers.
      texts.push(call.arguments)
    } else row.push({ name: call.name, arguments: readArguments(call.arguments) })
  }
  endRow()
  return texts.join('\n')
}

/**
 * Arguments that are not a JSON object are replaced, because not every dialect can write them. The result of the call describes the
 * problem.
 */
function readArguments(json: string): PastCall['arguments'] {
  const value = jsonIn(json)
  return isJsonObject(value) ? value : {}
}

/** Writes all results of a turn as one message. Images and files follow the text, because dialects support only text. */
function writeResults({ toolCalls }: AssistantToolCallMessage, results: readonly ToolResultMessage[], dialect: Dialect): Content {
  const called = new Map(toolCalls.map((call) => [call.id, call.function.name]))
  const past = results.map(({ name, content, toolCallId, isError }): PastResult => {
    return { name: name ?? called.get(toolCallId) ?? '', content: textOf(content), ...(isError ? { isError } : {}) }
  })
  const text = syncText('renderResults', dialect.renderResults(past))
  const parts = results.flatMap(({ content }) => (typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text')))
  return parts.length === 0 ? text : [{ type: 'text', text }, ...parts]
}
