import {
  type ChatMessage,
  type ContentPart,
  type FilePart,
  hasToolCalls,
  type ImagePart,
  type JsonObject,
  legalName,
  type ToolCall,
  withoutUndefined,
} from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { type FittedTool, fitParameters } from '../conversion/tool-parameters.ts'
import { argumentsObject, fitCallId } from '../conversion/wire.ts'
import { laidOut, readLayout } from '../streaming/response-layout.ts'
import { googlePart, googleResultPart } from './parts.ts'
import type { GoogleQuirks } from './quirks.ts'
import { geminiJsonSchema, openAPISchema } from './schema.ts'

type CallNames = ReadonlyMap<string, string>

export interface WireMessage {
  /** The results of a turn (`results`) are sent together, in a separate `Content` with the role `user`. */
  kind: 'system' | 'user' | 'model' | 'results'
  parts: JsonObject[]
  /** The tool name that is sent for each call of this message, keyed by call id. */
  callNames?: CallNames | undefined
}

/** The API documents no limits for ids. The ids that the API itself and other providers generate fit this rule. */
const callId = { pattern: /^[a-zA-Z0-9_.:-]{1,64}$/, length: 32 }

const jsonSchemaRules = { takesNarrowing: true }

/**
 * Converts messages and tools to the generateContent format. Adds a warning for each detail that is lost. Format:
 * https://ai.google.dev/api/generate-content
 */
export class GoogleWire {
  readonly #provider: string
  readonly #quirks: GoogleQuirks
  readonly #fitted = new WeakMap<object, FittedTool>()

  constructor(provider: string, quirks: GoogleQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  tool({ function: tool }: ToolDefinition, warnings: Set<string>): JsonObject {
    const name = wireName(tool.name)
    if (tool.strict !== undefined) warnings.add(`\`strict\` of tool \`${tool.name}\` was left out: ${this.#provider} does not support it`)
    const isJsonSchema = this.#quirks.toolSchema === 'json-schema'
    const fitted = this.#fitted.get(tool) ?? fitParameters(tool, this.#provider, isJsonSchema ? jsonSchemaRules : undefined)
    this.#fitted.set(tool, fitted)
    for (const warning of fitted.warnings) warnings.add(warning)
    const { words, parameters } = fitted
    if (tool.parameters === undefined) return { name, ...words }
    if (isJsonSchema) return { name, ...words, parametersJsonSchema: geminiJsonSchema(parameters) }
    const openAPI = openAPISchema(parameters)
    return { name, ...words, ...withoutUndefined({ parameters: openAPI }) }
  }

  /** `callNames`: the tool names that were sent for earlier calls, keyed by call id. */
  message(message: ChatMessage, callNames: CallNames | undefined, warnings: Set<string>): WireMessage {
    switch (message.role) {
      case 'system':
        return { kind: 'system', parts: textPart(message.content) }
      case 'user': {
        const parts = this.#contentParts(message.content, warnings)
        // The API refuses an empty message. Leaving the message out would merge its neighbors.
        return { kind: 'user', parts: parts.length > 0 ? parts : [{ text: '[empty message]' }] }
      }
      case 'tool':
        return { kind: 'results', parts: [this.#result(message, callNames, warnings)] }
      case 'assistant': {
        const calls = hasToolCalls(message) ? message.toolCalls : []
        const data = message.providerData?.provider === this.#provider ? message.providerData.data : {}
        const toPart = (call: ToolCall, fields?: JsonObject): JsonObject => ({ ...this.#callPart(call), ...fields })
        // If the message was edited after it arrived, the positions of its parts are unknown.
        const parts = laidOut(message.content, calls, readLayout(data.layout), { text: textPart, call: toPart }) ?? [
          ...textPart(message.content),
          ...calls.map((call) => toPart(call)),
        ]
        const names = calls.length === 0 ? undefined : new Map(calls.map(({ id, function: { name } }) => [id, wireName(name)]))
        return { kind: 'model', parts: this.#signed(parts), callNames: names }
      }
    }
  }

  /** The API accepts only an object as arguments, so `{}` is sent if the model wrote any other value. */
  #callPart({ id, function: { name, arguments: json } }: ToolCall): JsonObject {
    return { functionCall: { ...this.#id(id), name: wireName(name), args: argumentsObject(json) } }
  }

  /**
   * Adds a placeholder signature to the first call of a message, because the API requires a signature. Not needed if the model signed the
   * call or a part before it: https://ai.google.dev/gemini-api/docs/thought-signatures
   */
  #signed(parts: JsonObject[]): JsonObject[] {
    const { missingSignature } = this.#quirks
    const first = parts.findIndex(({ functionCall }) => functionCall !== undefined)
    const isSigned = parts.slice(0, first + 1).some(({ thoughtSignature }) => thoughtSignature !== undefined)
    if (missingSignature === null || first === -1 || isSigned) return parts
    return parts.map((part, at) => (at === first ? { ...part, thoughtSignature: missingSignature } : part))
  }

  /** Converts a result to the object with `output` or `error` that the API expects: https://ai.google.dev/api/caching#FunctionResponse */
  #result(
    { toolCallId, name, content, isError }: ChatMessage & { role: 'tool' },
    callNames: CallNames | undefined,
    warnings: Set<string>,
  ): JsonObject {
    const texts: string[] = []
    const parts: JsonObject[] = []
    for (const part of typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content) {
      if (part.type === 'text') texts.push(part.text)
      else {
        const inline = this.#quirks.resultParts.includes(part.type) ? googleResultPart(part) : undefined
        if (inline === undefined) texts.push(this.#standIn(part, warnings))
        else parts.push(inline)
      }
    }
    return {
      functionResponse: {
        ...this.#id(toolCallId),
        name: callNames?.get(toolCallId) ?? wireName(name ?? ''),
        response: { [isError === true ? 'error' : 'output']: texts.join('\n') },
        ...(parts.length === 0 ? {} : { parts }),
      },
    }
  }

  /** Whether a part of a tool result has to be sent in a user message. Models before Gemini 3 accept only text in results. */
  movesPart(part: ImagePart | FilePart): boolean {
    const { contentParts, resultParts } = this.#quirks
    if (!contentParts.includes(part.type) || resultParts.includes(part.type)) return false
    // A part with a URL is not moved, because the service accepts URLs only from some servers.
    return googleResultPart(part) !== undefined
  }

  #contentParts(content: string | readonly ContentPart[], warnings: Set<string>): JsonObject[] {
    if (typeof content === 'string') return textPart(content)
    return content.flatMap((part) => {
      if (part.type === 'text') return textPart(part.text)
      return this.#quirks.contentParts.includes(part.type) ? [googlePart(part)] : textPart(this.#standIn(part, warnings))
    })
  }

  #standIn({ type }: ContentPart, warnings: Set<string>): string {
    warnings.add(`A part of type '${type}' was replaced by a note: ${this.#provider} does not support it there`)
    return `[${type} not shown]`
  }

  #id(id: string): JsonObject {
    return this.#quirks.callIds ? { id: fitCallId(id, callId) } : {}
  }
}

/** A function's name must start with a letter or an underscore: https://ai.google.dev/api/caching#FunctionDeclaration */
export function wireName(name: string): string {
  const legal = legalName(name)
  return /^[a-zA-Z_]/.test(legal) ? legal : `_${legal}`.slice(0, 64)
}

function textPart(text: string, fields?: JsonObject): JsonObject[] {
  // A part with empty text is sent if it carries a signature.
  return text === '' && fields === undefined ? [] : [{ text, ...fields }]
}
