import { refusedText } from '../../agent/run-texts.ts'
import { checkOptionNames } from '../../core/check-options.ts'
import { toChatMessages } from '../../core/message-input.ts'
import { type ChatMessage, type ContentPart, type JsonObject, type ToolCall, toolMessage, withoutUndefined } from '../../core/messages.ts'
import { jsonOf, malformed, optionalText, textAt, urlAt } from '../malformed.ts'
import { waitingText } from '../page-texts.ts'
import { isToolPart, readToolPart, readUIMessages, type UIMessageParts, type UIToolPart } from './ui-message.ts'

/** Options of `messagesFromUI`. */
export interface MessagesFromUIOptions {
  /**
   * How to handle system messages sent by the client. The model would give them the same authority as your instructions. Default
   * `'refuse'`.
   */
  system?: 'refuse' | 'keep'
}

/**
 * Converts the conversation that the AI SDK's `useChat` sends to messages for `run` and `stream`. Keeps text, images, files and calls with
 * their results. Leaves out reasoning, sources and data parts, which are only for the page. Nothing in the messages can cause a tool to
 * run: an approval or a result only informs the model about a past call. Use `decisionsFromUI` to read decisions on a waiting run. Throws
 * `invalid_message`, which names the invalid place, if a message is invalid.
 */
export function messagesFromUI(messages: unknown, options: MessagesFromUIOptions = {}): readonly ChatMessage[] {
  checkOptionNames(options, { system: true }, '`messagesFromUI`')
  return toChatMessages(readUIMessages(messages).flatMap((message) => read(message, options)))
}

function read(message: UIMessageParts, { system = 'refuse' }: MessagesFromUIOptions): ChatMessage[] {
  const { role, parts, path } = message
  if (role === 'assistant') return ofAssistant(message)
  if (role === 'user') return [{ role, content: contentOf(message), ...withoutUndefined({ id: message.id }) }]
  if (system === 'keep') return [{ role, content: parts.map((part, at) => textOf(part, `${path}.parts[${at}]`)).join('') }]
  throw malformed(`${path}.role`, "'user' or 'assistant'; `system: 'keep'` lets clients instruct the model", role)
}

/** The types of parts that are only for the page. */
const shownOnly = /^(data-.*|source-url|source-document|step-start|custom|reasoning|reasoning-file|steering-message)$/

function contentOf({ parts, path }: UIMessageParts): string | ContentPart[] {
  const content = parts.flatMap((part, at): ContentPart[] => {
    const place = `${path}.parts[${at}]`
    if (part.type === 'text') return [{ type: 'text', text: textOf(part, place) }]
    if (part.type === 'file') return [filePart(part, place)]
    if (shownOnly.test(String(part.type))) return []
    throw malformed(`${place}.type`, "'text' or 'file'", part.type)
  })
  const [first] = content
  return content.length === 1 && first?.type === 'text' ? first.text : content
}

function textOf({ type, text }: JsonObject, path: string): string {
  if (type !== 'text') throw malformed(`${path}.type`, "'text'", type)
  return textAt(text, `${path}.text`)
}

function filePart({ url, mediaType, filename }: JsonObject, path: string): ContentPart {
  const kind = textAt(mediaType, `${path}.mediaType`)
  const address = urlAt(url, `${path}.url`)
  // Pages send these types if they don't know the real type, so these types are ignored.
  const isUnknown = (kind === 'image' || kind === 'application/octet-stream') && !/^data:/i.test(address)
  const part = { url: address, ...(isUnknown ? {} : { mediaType: kind }) }
  if (/^image(\/|$)/i.test(kind)) return { type: 'image', ...part }
  const name = optionalText(filename, `${path}.filename`)
  return { type: 'file', ...part, ...withoutUndefined({ name }) }
}

/**
 * Converts a message of the page, which contains all turns of a run. Each turn becomes one message, followed by the results of its calls.
 */
function ofAssistant({ parts, path }: UIMessageParts): ChatMessage[] {
  const messages: ChatMessage[] = []
  let turn: { text: string; calls: UIToolPart[] } = { text: '', calls: [] }
  const close = () => {
    const { text, calls } = turn
    if (calls.length > 0)
      messages.push({ role: 'assistant', content: text, toolCalls: calls.map((call) => callOf(call, path)) }, ...resultsOf(calls, path))
    else if (text !== '') messages.push({ role: 'assistant', content: text })
    turn = { text: '', calls: [] }
  }
  for (const [at, part] of parts.entries()) {
    const place = `${path}.parts[${at}]`
    if (part.type === 'step-start') close()
    else if (part.type === 'text') turn.text += textOf(part, place)
    else if (isToolPart(part)) {
      const call = readToolPart(part, place)
      // Skips a call that was cut off while the model wrote it, and the calls of nested agents, which don't belong to this conversation.
      if (call.state !== 'input-streaming' && call.isOwn) turn.calls.push(call)
    } else if (part.type !== 'file' && !shownOnly.test(String(part.type)))
      throw malformed(`${place}.type`, "'text', 'tool-…', or another part of a UI message", part.type)
  }
  close()
  return messages
}

function callOf({ toolCallId: id, tool: name, input }: UIToolPart, path: string): ToolCall {
  // If the model's arguments could not be parsed, the input of the call is the text that the model wrote.
  const args = typeof input === 'string' ? input : jsonOf(input ?? {}, `${path}: the input of call ${id}`)
  return { id, type: 'function', function: { name, arguments: args } }
}

function resultsOf(calls: readonly UIToolPart[], path: string): ChatMessage[] {
  return calls.map((part) => {
    const { toolCallId: id, tool: name, state, output, content, errorText, approval, isPreliminary } = part
    const call = { id, name }
    if (content !== undefined) return toolMessage(call, content.map(resultPart), true)
    if (state === 'output-available' && !isPreliminary)
      return toolMessage(call, typeof output === 'string' ? output : jsonOf(output, `${path}: the output of call ${id}`), true)
    if (state === 'output-error') return toolMessage(call, errorText, false)
    const isDenied = state === 'output-denied' || approval?.approved === false
    return toolMessage(call, isDenied ? refusedText(name, approval?.reason) : waitingText(name), false)
  })
}

/** Reads a part of a result that `messagesToUI` has written. */
function resultPart({ part, path }: { part: JsonObject; path: string }): ContentPart {
  const { type, text, url, data, mediaType, name } = part
  if (type === 'text') return { type, text: textAt(text, `${path}.text`) }
  if (type !== 'image' && type !== 'file') throw malformed(`${path}.type`, "'text', 'image' or 'file'", type)
  const place =
    data === undefined
      ? placeOf(url, mediaType, path)
      : { data: textAt(data, `${path}.data`), mediaType: textAt(mediaType, `${path}.mediaType`) }
  if (type === 'image') return { type, ...place }
  const filename = optionalText(name, `${path}.name`)
  return { type, ...place, ...withoutUndefined({ name: filename }) }
}

function placeOf(url: unknown, mediaType: unknown, path: string): { url: string; mediaType?: string } {
  const kind = optionalText(mediaType, `${path}.mediaType`)
  return { url: urlAt(url, `${path}.url`), ...withoutUndefined({ mediaType: kind }) }
}
