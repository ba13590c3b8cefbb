import { checkOptionNames } from '../../core/check-options.ts'
import { toChatMessages } from '../../core/message-input.ts'
import {
  type ChatMessage,
  type Content,
  type ContentPart,
  isJsonObject,
  type Json,
  type JsonObject,
  type ToolCall,
  toolMessage,
  withoutUndefined,
} from '../../core/messages.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { idAt, listAt, malformed, messageIdAt, objectAt, optionalText, textAt, toolNameAt, urlAt } from '../malformed.ts'

/** An answer to an interrupt. */
export interface AgUiResume {
  interruptId: string
  status: 'resolved' | 'cancelled'
  payload?: Json
}

/** The request of an AG-UI client. */
export interface AgUiInput {
  threadId: string
  /** The id by which the client identifies the run. */
  runId: string
  /** The conversation, to pass to `run` or `stream`. Excludes reasoning and activities, which are only for the page. */
  messages: readonly ChatMessage[]
  /**
   * The messages as the client sent them. They are needed to remove a message from the client, because AG-UI does this by sending all other
   * messages again.
   */
  shown: readonly JsonObject[]
  /** The tools of the page. They have no `execute`, so their calls wait for the page. */
  tools: AnyTool[]
  /** The information about the page, as the client sent it. */
  context: { description: string; value: string }[]
  state: Json
  forwardedProps: Json
  /** Answers to the interrupts of the previous run; see `decisionsFromAgUi`. */
  resume: AgUiResume[]
}

/** Options of `inputFromAgUi`. */
export interface AgUiInputOptions {
  /**
   * How to handle system and developer messages sent by the client. The model would give them the same authority as your instructions.
   * Default `'refuse'`.
   */
  system?: 'refuse' | 'keep'
}

/**
 * Reads the body of an AG-UI request (`RunAgentInput` of version 1.0). Nothing in the body can cause a tool to run. A tool result only
 * informs the model about a past call. An answer has an effect only if a run waits for it (see `decisionsFromAgUi`). Throws
 * `invalid_message` if the body is invalid; the error names the invalid place. Throws `invalid_option` for invalid options.
 */
export function inputFromAgUi(body: unknown, options: AgUiInputOptions = {}): AgUiInput {
  checkOptionNames(options, { system: true }, '`inputFromAgUi`')
  const { threadId, runId, messages, tools, context, state, forwardedProps, resume } = objectAt(body, 'the input')
  return {
    threadId: idAt(threadId, 'threadId'),
    runId: idAt(runId, 'runId'),
    messages: readMessages(messages, options),
    shown: listAt(messages, 'messages').map((one, at) => objectAt(one, `messages[${at}]`)),
    tools: listAt(tools ?? [], 'tools').map(readTool),
    context: listAt(context ?? [], 'context').map(readContext),
    state: (state ?? null) as Json,
    forwardedProps: (forwardedProps ?? null) as Json,
    resume: listAt(resume ?? [], 'resume').map(readResume),
  }
}

function readMessages(given: unknown, { system = 'refuse' }: AgUiInputOptions): readonly ChatMessage[] {
  const names = new Map<string, string>()
  const messages = listAt(given, 'messages').flatMap((one, at): ChatMessage[] => {
    const path = `messages[${at}]`
    const { id: messageId, role, content, toolCalls, toolCallId, error } = objectAt(one, path)
    switch (role) {
      case 'user':
        return [{ role, content: contentOf(content, `${path}.content`), ...idIn(messageId, `${path}.id`) }]
      case 'assistant': {
        const calls = listAt(toolCalls ?? [], `${path}.toolCalls`).map((call, index) => readCall(call, `${path}.toolCalls[${index}]`))
        for (const { id, function: called } of calls) names.set(id, called.name)
        const text = optionalText(content, `${path}.content`) ?? ''
        return calls.length === 0 ? [{ role, content: text }] : [{ role, content: text, toolCalls: calls }]
      }
      case 'tool': {
        const id = idAt(toolCallId, `${path}.toolCallId`)
        const failure = optionalText(error, `${path}.error`)
        const result = contentOf(content, `${path}.content`)
        return [
          toolMessage(
            { id, name: names.get(id) ?? 'unknown' },
            result === '' && failure !== undefined ? failure : result,
            failure === undefined,
          ),
        ]
      }
      case 'system':
      case 'developer':
        if (system === 'keep') return [{ role: 'system', content: textAt(content, `${path}.content`) }]
        throw malformed(`${path}.role`, "'user', 'assistant' or 'tool'; `system: 'keep'` lets clients instruct the model", role)
      case 'reasoning':
      case 'activity':
        return []
      default:
        throw malformed(`${path}.role`, "'user', 'assistant', 'tool', 'reasoning' or 'activity'", role)
    }
  })
  return toChatMessages(messages)
}

function idIn(id: unknown, path: string): { id?: string } {
  return id === undefined || id === '' ? {} : { id: messageIdAt(id, path) }
}

function contentOf(content: unknown, path: string): Content {
  if (!Array.isArray(content)) return textAt(content, path)
  return content.map((part, at) => partOf(objectAt(part, `${path}[${at}]`), `${path}[${at}]`))
}

function partOf({ type, text, source, metadata }: JsonObject, path: string): ContentPart {
  if (type === 'text') return { type, text: textAt(text, `${path}.text`) }
  if (type !== 'image' && type !== 'document' && type !== 'audio' && type !== 'video')
    throw malformed(`${path}.type`, "'text', 'image', 'document', 'audio' or 'video'", type)
  const place = sourceOf(objectAt(source, `${path}.source`), `${path}.source`)
  if (type === 'image') return { type, ...place }
  const filename = isJsonObject(metadata) && typeof metadata.filename === 'string' ? { name: metadata.filename } : {}
  return { type: 'file', ...place, ...filename }
}

function sourceOf(
  { type, value, mimeType }: JsonObject,
  path: string,
): { url: string; mediaType?: string } | { data: string; mediaType: string } {
  if (type === 'data') return { data: textAt(value, `${path}.value`), mediaType: textAt(mimeType, `${path}.mimeType`) }
  // Refuses file ids of a provider, for example, because they would be opened with the API key of the application.
  if (type !== 'url') throw malformed(`${path}.type`, "'data' or 'url'", type)
  const mediaType = optionalText(mimeType, `${path}.mimeType`)
  return { url: urlAt(value, `${path}.value`), ...withoutUndefined({ mediaType }) }
}

function readCall(call: unknown, path: string): ToolCall {
  const { id, function: called } = objectAt(call, path)
  const { name, arguments: args } = objectAt(called, `${path}.function`)
  const written = textAt(args, `${path}.function.arguments`)
  return { id: idAt(id, `${path}.id`), type: 'function', function: { name: toolNameAt(name, `${path}.function.name`), arguments: written } }
}

function readTool(tool: unknown, at: number): AnyTool {
  const path = `tools[${at}]`
  const { name, description, parameters } = objectAt(tool, path)
  return {
    name: toolNameAt(name, `${path}.name`),
    description: optionalText(description, `${path}.description`) ?? '',
    parameters: { type: 'object', properties: {}, ...objectAt(parameters ?? {}, `${path}.parameters`) },
  }
}

function readContext(context: unknown, at: number): AgUiInput['context'][number] {
  const { description, value } = objectAt(context, `context[${at}]`)
  return { description: textAt(description, `context[${at}].description`), value: textAt(value, `context[${at}].value`) }
}

function readResume(entry: unknown, at: number): AgUiResume {
  const path = `resume[${at}]`
  const { interruptId, status, payload } = objectAt(entry, path)
  if (status !== 'resolved' && status !== 'cancelled') throw malformed(`${path}.status`, "'resolved' or 'cancelled'", status)
  return { interruptId: idAt(interruptId, `${path}.interruptId`), status, ...withoutUndefined({ payload }) }
}
