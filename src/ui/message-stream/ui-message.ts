import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { idAt, listAt, malformed, messageIdAt, objectAt, textAt, toolNameAt } from '../malformed.ts'

// The messages of the AI SDK's `useChat`, as they are sent to a server. https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message

/** A call in a message of the assistant. */
export interface UIToolPart {
  toolCallId: string
  tool: string
  state: ToolPartState
  /** As the client has it. Undefined where there is none. */
  input: unknown
  /** Of `output-available`; of another state, undefined. */
  output: unknown
  /** The parts of the output, if not all are text. */
  content?: { part: JsonObject; path: string }[]
  /** Whether more of the output was to come. */
  isPreliminary: boolean
  errorText: string
  /** Whether it is a call of the conversation: not what an agent inside a call waits for, or a run over its budget. */
  isOwn: boolean
  /** Of a call that was to be approved. */
  approval?: { id: string; approved: boolean | undefined; reason: string | undefined }
}

const states = [
  'input-streaming',
  'input-available',
  'approval-requested',
  'approval-responded',
  'output-available',
  'output-error',
  'output-denied',
] as const
type ToolPartState = (typeof states)[number]

export interface UIMessageParts {
  role: 'system' | 'user' | 'assistant'
  /** What the page calls it. */
  id: string | undefined
  parts: readonly JsonObject[]
  path: string
}

/** The messages, as far as that they have parts with a type. Throws `invalid_message`. */
export function readUIMessages(messages: unknown): UIMessageParts[] {
  return listAt(messages, 'messages').map((given, at) => {
    const path = `messages[${at}]`
    const { role, parts, id } = objectAt(given, path)
    if (role !== 'system' && role !== 'user' && role !== 'assistant')
      throw malformed(`${path}.role`, "'system', 'user' or 'assistant'", role)
    const list = listAt(parts, `${path}.parts`).map((part, index) => {
      const place = `${path}.parts[${index}]`
      const whole = objectAt(part, place)
      textAt(whole.type, `${place}.type`)
      return whole
    })
    return { role, id: id === undefined || id === '' ? undefined : messageIdAt(id, `${path}.id`), parts: list, path }
  })
}

/** Whether a part is a call. */
export function isToolPart({ type }: JsonObject): boolean {
  return typeof type === 'string' && (type === 'dynamic-tool' || type.startsWith('tool-'))
}

/** Throws `invalid_message`. */
export function readToolPart(part: JsonObject, path: string): UIToolPart {
  const { type, toolName, toolCallId, state, input, rawInput, output, errorText, preliminary, approval } = part
  const { callProviderMetadata, resultProviderMetadata } = part
  const name = type === 'dynamic-tool' ? toolName : String(type).slice('tool-'.length)
  const known = states.find((one) => one === state)
  if (known === undefined) throw malformed(`${path}.state`, `one of ${states.join(', ')}`, state)
  return {
    toolCallId: idAt(toolCallId, `${path}.toolCallId`),
    tool: toolNameAt(name, type === 'dynamic-tool' ? `${path}.toolName` : `${path}.type, behind \`tool-\`,`),
    state: known,
    input: input ?? rawInput,
    output: known === 'output-available' ? output : undefined,
    ...(known === 'output-available' ? contentIn(resultProviderMetadata, `${path}.resultProviderMetadata.toolloop.content`) : {}),
    isPreliminary: preliminary === true,
    errorText: known === 'output-error' ? textAt(errorText, `${path}.errorText`) : '',
    isOwn: !(isJsonObject(callProviderMetadata) && isJsonObject(callProviderMetadata.toolloop)),
    ...(isJsonObject(approval) ? { approval: readApproval(approval) } : {}),
  }
}

/** The parts of a result that is not text alone, as `messagesToUI` has added them. */
function contentIn(metadata: unknown, path: string): Pick<UIToolPart, 'content'> {
  const own = isJsonObject(metadata) ? metadata.toolloop : undefined
  if (!isJsonObject(own) || own.content === undefined) return {}
  return { content: listAt(own.content, path).map((part, at) => ({ part: objectAt(part, `${path}[${at}]`), path: `${path}[${at}]` })) }
}

function readApproval({ id, approved, reason }: JsonObject): NonNullable<UIToolPart['approval']> {
  return {
    id: typeof id === 'string' ? id : '',
    approved: typeof approved === 'boolean' ? approved : undefined,
    reason: typeof reason === 'string' ? reason : undefined,
  }
}

/** The calls of the message that a response goes on with: the last one, where it is the assistant's. Throws `invalid_message`. */
export function openToolParts(messages: unknown): UIToolPart[] {
  const last = readUIMessages(messages).at(-1)
  if (last?.role !== 'assistant') return []
  return last.parts.flatMap((part, at) => (isToolPart(part) ? [readToolPart(part, `${last.path}.parts[${at}]`)] : []))
}
