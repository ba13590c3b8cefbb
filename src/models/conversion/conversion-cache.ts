import type { ChatMessage } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'

/** What messages were converted to: a frozen one is converted once, so that a long history costs each round no more than joining texts. */
export class ConvertedMessages<Wire> {
  readonly #known = new WeakMap<ChatMessage, Wire>()
  readonly #convert: (message: ChatMessage) => Wire

  constructor(convert: (message: ChatMessage) => Wire) {
    this.#convert = convert
  }

  of(message: ChatMessage): Wire {
    const known = this.#known.get(message)
    if (known !== undefined) return known
    const converted = this.#convert(message)
    if (Object.isFrozen(message)) this.#known.set(message, converted)
    return converted
  }
}

/** What tools were converted to: anew only when the list holds other definitions than the last time. */
export class ConvertedTools<Wire> {
  readonly #convert: (tools: readonly ToolDefinition[]) => Wire
  #last: { from: readonly ToolDefinition[]; wire: Wire } | undefined

  constructor(convert: (tools: readonly ToolDefinition[]) => Wire) {
    this.#convert = convert
  }

  of(tools: readonly ToolDefinition[]): Wire {
    const last = this.#last
    if (last !== undefined && last.from.length === tools.length && last.from.every((tool, at) => tool === tools[at])) return last.wire
    const wire = this.#convert(tools)
    this.#last = { from: [...tools], wire }
    return wire
  }
}
