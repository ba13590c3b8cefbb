import type { JsonObject } from '../../core/messages.ts'

export type AgUiEvent = { type: string } & Record<string, unknown>

interface ShownCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

interface ShownMessage extends Record<string, unknown> {
  id: string
  role: 'assistant' | 'reasoning' | 'tool'
  content: string
  toolCalls?: ShownCall[]
}

/**
 * The messages that a client has: those it had when it requested the run, and those it builds from the events. AG-UI can only remove
 * messages with a `MESSAGES_SNAPSHOT` that contains all the others. https://docs.ag-ui.com/concepts/events#messagessnapshot
 */
export class ShownMessages {
  readonly #before: readonly JsonObject[]
  #messages: ShownMessage[] = []
  /** The messages that are not finished, by id. */
  readonly #byId = new Map<string, ShownMessage>()
  readonly #calls = new Map<string, ShownCall>()
  /** Number of messages at the start of the step. */
  #beforeStep = 0

  /** `before` holds the messages that the client had when it requested the run. */
  constructor(before: readonly JsonObject[]) {
    this.#before = before
  }

  beginStep(): void {
    this.#beforeStep = this.#messages.length
  }

  /** Applies an event in the same way as the client. */
  add(event: AgUiEvent): void {
    const { type, messageId, toolCallId, toolCallName, parentMessageId, delta, content } = event as Record<string, string>
    switch (type) {
      case 'TEXT_MESSAGE_START':
        this.#open(messageId, 'assistant')
        break
      case 'REASONING_MESSAGE_START':
        this.#open(messageId, 'reasoning')
        break
      case 'TEXT_MESSAGE_CONTENT':
      case 'REASONING_MESSAGE_CONTENT':
        this.#open(messageId, 'assistant').content += delta
        break
      case 'TOOL_CALL_START': {
        const message = this.#open(parentMessageId, 'assistant')
        message.toolCalls ??= []
        const call: ShownCall = { id: toolCallId ?? '', type: 'function', function: { name: toolCallName ?? '', arguments: '' } }
        message.toolCalls.push(call)
        this.#calls.set(call.id, call)
        break
      }
      case 'TOOL_CALL_ARGS': {
        const written = this.#calls.get(toolCallId ?? '')
        if (written !== undefined) written.function.arguments += delta
        break
      }
      case 'TOOL_CALL_RESULT':
        this.#messages.push({ id: messageId ?? '', role: 'tool', toolCallId, content: content ?? '' })
    }
  }

  /** Removes the current step. Returns all other messages. */
  discardStep(): JsonObject[] {
    const discarded = this.#messages.splice(this.#beforeStep)
    for (const { id, toolCalls = [] } of discarded) {
      this.#byId.delete(id)
      for (const call of toolCalls) this.#calls.delete(call.id)
    }
    const kept = [...this.#before, ...this.#messages] as JsonObject[]
    // A client keeps its reasoning if a snapshot contains no reasoning. Discarded reasoning is therefore included as empty messages.
    if (kept.some(({ role }) => role === 'reasoning')) return kept
    const emptied = discarded.filter(({ role }) => role === 'reasoning').map(({ id, role }) => ({ id, role, content: '' }))
    return [...kept, ...emptied]
  }

  #open(id = '', role: ShownMessage['role']): ShownMessage {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    const opened: ShownMessage = { id, role, content: '' }
    this.#messages.push(opened)
    this.#byId.set(id, opened)
    return opened
  }
}
