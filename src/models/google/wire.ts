import {
  type ChatMessage,
  type ContentPart,
  convertOnce,
  hasToolCalls,
  isJsonObject,
  type JsonObject,
  legalName,
  type ToolCall,
} from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { argumentsObject, fitCallId, type Written } from '../conversion/wire.ts'
import { laidOut, readLayout } from '../streaming/response-layout.ts'
import { googlePart, googleResultPart } from './parts.ts'
import type { GoogleQuirks } from './quirks.ts'
import { openAPISchema } from './schema.ts'

type CallNames = ReadonlyMap<string, string>

/** A message's parts as JSON, joined by commas, and what was lost on the way. */
export interface WireMessage {
  /** `results` stand in a content of their own, with role `user`: all those of one turn together. */
  kind: 'system' | 'user' | 'model' | 'results'
  parts: string
  /** The names of its calls as they are sent, by the id of the call in our history. */
  callNames: CallNames | undefined
  warnings: readonly string[]
}

/** A tool as it is sent. */
export interface WireTool extends Written {
  /** The name it is sent under. */
  name: string
}

/** The API names no limits for ids; its own have fewer characters than other providers' limits. */
const callId = { pattern: /^[a-zA-Z0-9_.:-]{1,64}$/, length: 32 }

/**
 * Turns messages and tools into the generateContent format. Frozen messages are converted and serialised once.
 * Format: https://ai.google.dev/api/generate-content
 */
export class GoogleWire {
  /** `callNames`: those of the calls that a tool's result may answer. */
  readonly message: (message: ChatMessage, callNames: CallNames | undefined) => WireMessage = convertOnce((message, callNames) =>
    this.#convert(message, callNames),
  )
  readonly tool: (tool: ToolDefinition) => WireTool = convertOnce((tool) => this.#convertTool(tool))
  readonly #provider: string
  readonly #quirks: GoogleQuirks

  constructor(provider: string, quirks: GoogleQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  #convertTool({ function: { name: own, description, parameters, strict } }: ToolDefinition): WireTool {
    const name = wireName(own)
    const warnings = strict === undefined ? [] : [`\`strict\` of tool \`${own}\` was left out: ${this.#provider} does not take it`]
    const json = JSON.stringify({
      name,
      ...(description === undefined ? {} : { description }),
      ...(parameters === undefined ? {} : this.#parameters(parameters)),
    })
    return { json, name, warnings }
  }

  #parameters({ $schema: _, ...schema }: Readonly<Record<string, unknown>>): JsonObject {
    if (!isJsonObject(schema)) return {}
    if (this.#quirks.toolSchema === 'json-schema') return { parametersJsonSchema: schema }
    const parameters = openAPISchema(schema)
    return parameters === undefined ? {} : { parameters }
  }

  #convert(message: ChatMessage, callNames: CallNames | undefined): WireMessage {
    const warnings: string[] = []
    const plain = { callNames: undefined, warnings }
    switch (message.role) {
      case 'system':
        return { ...plain, kind: 'system', parts: listed(textPart(message.content)) }
      case 'user': {
        const parts = this.#contentParts(message.content, warnings)
        // A turn has to say something; leaving it out would join its neighbours.
        return { ...plain, kind: 'user', parts: listed(parts.length > 0 ? parts : [{ text: '[empty message]' }]) }
      }
      case 'tool':
        return { ...plain, kind: 'results', parts: JSON.stringify(this.#result(message, callNames, warnings)) }
      case 'assistant': {
        const calls = hasToolCalls(message) ? message.toolCalls : []
        const data = message.providerData?.provider === this.#provider ? message.providerData.data : {}
        const toPart = (call: ToolCall, fields?: JsonObject): JsonObject => ({ ...this.#callPart(call), ...fields })
        // Of a message that was changed since nothing is known to belong anywhere.
        const parts = laidOut(message.content, calls, readLayout(data.layout), { text: textPart, call: toPart }) ?? [
          ...textPart(message.content),
          ...calls.map((call) => toPart(call)),
        ]
        const names = calls.length === 0 ? undefined : new Map(calls.map(({ id, function: { name } }) => [id, wireName(name)]))
        return { kind: 'model', parts: listed(this.#signed(parts)), callNames: names, warnings }
      }
    }
  }

  /** The API takes only an object for arguments: what the model wrote instead stays in our records. */
  #callPart({ id, function: { name, arguments: json } }: ToolCall): JsonObject {
    return { functionCall: { ...this.#id(id), name: wireName(name), args: argumentsObject(json) } }
  }

  /** The first call of a message has to be signed: https://ai.google.dev/gemini-api/docs/thought-signatures */
  #signed(parts: readonly JsonObject[]): readonly JsonObject[] {
    const { missingSignature } = this.#quirks
    const first = parts.findIndex(({ functionCall }) => functionCall !== undefined)
    if (missingSignature === null || first === -1 || parts[first]?.thoughtSignature !== undefined) return parts
    return parts.map((part, at) => (at === first ? { ...part, thoughtSignature: missingSignature } : part))
  }

  /** A result has to be an object; these two keys are the ones the API knows: https://ai.google.dev/api/caching#FunctionResponse */
  #result(
    { toolCallId, name, content, isError }: ChatMessage & { role: 'tool' },
    callNames: CallNames | undefined,
    warnings: string[],
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

  #contentParts(content: string | readonly ContentPart[], warnings: string[]): JsonObject[] {
    if (typeof content === 'string') return textPart(content)
    return content.flatMap((part) => {
      if (part.type === 'text') return textPart(part.text)
      return this.#quirks.contentParts.includes(part.type) ? [googlePart(part)] : textPart(this.#standIn(part, warnings))
    })
  }

  #standIn({ type }: ContentPart, warnings: string[]): string {
    warnings.push(`A part of type '${type}' was replaced by a note: ${this.#provider} does not take it there`)
    return `[${type} not shown]`
  }

  #id(id: string): JsonObject {
    return this.#quirks.callIds ? { id: fitCallId(id, callId) } : {}
  }
}

/** A function's name has to begin with a letter or an underscore: https://ai.google.dev/api/caching#FunctionDeclaration */
export function wireName(name: string): string {
  const legal = legalName(name)
  return /^[a-zA-Z_]/.test(legal) ? legal : `_${legal}`.slice(0, 64)
}

function textPart(text: string, fields?: JsonObject): JsonObject[] {
  // A signature may stand on a part without text, and has to stay there.
  return text === '' && fields === undefined ? [] : [{ text, ...fields }]
}

function listed(parts: readonly JsonObject[]): string {
  return parts.map(written).join(',')
}

function written(part: JsonObject): string {
  try {
    return JSON.stringify(part)
  } catch (error) {
    // Arguments may be nested too deep to be written, though not to be read.
    if (isJsonObject(part.functionCall)) return JSON.stringify({ ...part, functionCall: { ...part.functionCall, args: {} } })
    throw error
  }
}
