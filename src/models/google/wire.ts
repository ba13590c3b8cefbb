import { type ChatMessage, type ContentPart, hasToolCalls, isJsonObject, type JsonObject, type ToolCall } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { argumentsObject, ConvertedMessages, ConvertedTools, fitCallId, type WireTools } from '../conversion/wire.ts'
import { laidOut, readLayout } from '../streaming/response-layout.ts'
import { googlePart, googleResultPart } from './parts.ts'
import type { GoogleQuirks } from './quirks.ts'
import { openAPISchema } from './schema.ts'

/** A message's parts as JSON, joined by commas, and what was lost on the way. */
export interface WireMessage {
  /** `results` stand in a content of their own, with role `user`: all those of one turn together. */
  kind: 'system' | 'user' | 'model' | 'results'
  parts: string
  /** The names of its calls as they are sent, by the id of the call in our history. */
  callNames: ReadonlyMap<string, string> | undefined
  warnings: readonly string[]
}

export interface GoogleTools extends WireTools {
  /** Our name of a tool by the one it is sent under, where they differ. */
  names: ReadonlyMap<string, string>
}

/** The API names no limits for ids; its own have fewer characters than other providers' limits. */
const callId = { pattern: /^[a-zA-Z0-9_.:-]{1,64}$/, length: 32 }

/**
 * Turns messages and tools into the generateContent format. Frozen messages are converted and serialised once.
 * Format: https://ai.google.dev/api/generate-content
 */
export class GoogleWire {
  readonly #provider: string
  readonly #quirks: GoogleQuirks
  readonly #messages = new ConvertedMessages((message, callNames?: ReadonlyMap<string, string>) => this.#convert(message, callNames))
  readonly #tools = new ConvertedTools((tools) => this.#convertTools(tools))

  constructor(provider: string, quirks: GoogleQuirks) {
    this.#provider = provider
    this.#quirks = quirks
  }

  /** `callNames`: those of the calls that a tool's result may answer. */
  message(message: ChatMessage, callNames: ReadonlyMap<string, string> | undefined): WireMessage {
    return this.#messages.of(message, callNames)
  }

  tools(tools: readonly ToolDefinition[]): GoogleTools {
    return this.#tools.of(tools)
  }

  #convertTools(tools: readonly ToolDefinition[]): GoogleTools {
    const warnings: string[] = []
    const json = tools.map(({ function: { name, description, parameters, strict } }) => {
      if (strict !== undefined) warnings.push(`\`strict\` of tool \`${name}\` was left out: ${this.#provider} does not take it`)
      return JSON.stringify({
        name: wireName(name),
        ...(description === undefined ? {} : { description }),
        ...(parameters === undefined ? {} : this.#parameters(parameters)),
      })
    })
    const renamed = tools.map(({ function: { name } }) => [wireName(name), name] as const).filter(([wire, name]) => wire !== name)
    return { json, names: new Map(renamed), warnings }
  }

  #parameters({ $schema: _, ...schema }: Readonly<Record<string, unknown>>): JsonObject {
    if (!isJsonObject(schema)) return {}
    if (this.#quirks.toolSchema === 'json-schema') return { parametersJsonSchema: schema }
    const parameters = openAPISchema(schema)
    return parameters === undefined ? {} : { parameters }
  }

  #convert(message: ChatMessage, callNames: ReadonlyMap<string, string> | undefined): WireMessage {
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
    callNames: ReadonlyMap<string, string> | undefined,
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
  const legal = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
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
