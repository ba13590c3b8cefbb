import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { idAt, listAt, malformed, messageIdAt, objectAt, textAt, toolNameAt } from '../malformed.ts'

// The messages of the AI SDK's `useChat`, as the client sends them to a server. https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message

/** A call in an assistant's message. */
export interface UIToolPart {
  toolCallId: string
  tool: string
  state: ToolPartState
  /** The input of the call, as the client sent it. Undefined if the call has no input. */
  input: unknown
  /** Set only in the state `output-available`. */
  output: unknown
  /** The parts of the output, if it contains images or files. */
  content?: { part: JsonObject; path: string }[]
  /** Whether the output is preliminary: the call had not ended yet. */
  isPreliminary: boolean
  errorText: string
  /**
   * Whether the call belongs to the conversation. False if the call represents an item that a nested agent waits for, or a run that exceeds
   * its budget.
   */
  isOwn: boolean
  /**
   * Whether the call is in an earlier step of its message. If a call is sent again with its input, a client searches only the last step for
   * it.
   */
  isEarlier?: boolean
  /** Set only for a call that needed approval. */
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
  /** The id that the page has given to the message. */
  id: string | undefined
  parts: readonly JsonObject[]
  path: string
}

/** Reads messages. Only checks that they have parts with a type. Throws `invalid_message`. */
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

/** Reads a call from a part of a message. Throws `invalid_message`. */
export function readToolPart(part: JsonObject, path: string): UIToolPart {
  const { type, toolName, toolCallId, state, input, rawInput, output, errorText, preliminary, approval } = part
  const { callProviderMetadata, resultProviderMetadata } = part
  const name = type === 'dynamic-tool' ? toolName : String(type).slice('tool-'.length)
  const known = states.find((one) => one === state)
  if (known === undefined) throw malformed(`${path}.state`, `one of ${states.join(', ')}`, state)
  return {
    toolCallId: idAt(toolCallId, `${path}.toolCallId`),
    tool: toolNameAt(name, type === 'dynamic-tool' ? `${path}.toolName` : `${path}.type, after \`tool-\`,`),
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

/** The parts of a result that contains images or files. `messagesToUI` adds these parts. */
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

/** Returns the calls of the message that a response continues: the last message, if it is from the assistant. Throws `invalid_message`. */
export function openToolParts(messages: unknown): UIToolPart[] {
  const last = readUIMessages(messages).at(-1)
  if (last?.role !== 'assistant') return []
  const lastStep = last.parts.findLastIndex(({ type }) => type === 'step-start')
  return last.parts.flatMap((part, at) =>
    isToolPart(part) ? [{ ...readToolPart(part, `${last.path}.parts[${at}]`), isEarlier: at < lastStep }] : [],
  )
}
