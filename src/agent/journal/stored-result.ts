import { isDeepEqual, jsonOrText } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'

/** A result as it is stored: without what its messages repeat. `wholeResult` restores that. */
export function thinResult(result: Json): Json {
  if (!isJsonObject(result) || !Array.isArray(result.newMessages) || !Array.isArray(result.toolCalls)) return result
  const { messages, newMessages, toolCalls } = result
  const calls = callsIn(newMessages)
  const isEnd = Array.isArray(messages) && newMessages.length > 0 && isDeepEqual(messages.slice(-newMessages.length), newMessages)
  return { ...result, newMessages: isEnd ? newMessages.length : newMessages, toolCalls: toolCalls.map((call) => thinCall(call, calls)) }
}

/** Restores the whole result. */
export function wholeResult(stored: Json): Json {
  if (!isJsonObject(stored) || !Array.isArray(stored.toolCalls)) return stored
  const { messages, newMessages: added, toolCalls } = stored
  const newMessages = typeof added === 'number' && Array.isArray(messages) ? messages.slice(messages.length - added) : added
  if (!Array.isArray(newMessages)) return stored
  const calls = callsIn(newMessages)
  return { ...stored, newMessages, toolCalls: toolCalls.map((call) => wholeCall(call, calls)) }
}

/** What messages say of a call. */
interface SaidCall {
  args?: string
  content?: Json
}

function callsIn(messages: readonly Json[]): ReadonlyMap<Json | undefined, SaidCall> {
  const calls = new Map<Json | undefined, SaidCall>()
  const note = (id: Json | undefined, said: SaidCall) => calls.set(id, { ...calls.get(id), ...said })
  for (const message of messages) {
    if (!isJsonObject(message)) continue
    if (message.role === 'tool' && message.content !== undefined) note(message.toolCallId, { content: message.content })
    for (const call of Array.isArray(message.toolCalls) ? message.toolCalls : []) {
      if (isJsonObject(call) && isJsonObject(call.function)) note(call.id, { args: String(call.function.arguments) })
    }
  }
  return calls
}

function thinCall(call: Json, calls: ReturnType<typeof callsIn>): Json {
  if (!isJsonObject(call)) return call
  const { args, rawArguments, content, ...rest } = call
  const said = calls.get(call.id)
  // Both or neither: arguments that could not be read are absent, and must differ from arguments that were left out here.
  const isWritten = said?.args !== undefined && rawArguments === said.args && isDeepEqual(args, jsonOrText(said.args))
  const thin: JsonObject = { ...rest }
  if (!isWritten && args !== undefined) thin.args = args
  if (!isWritten && rawArguments !== undefined) thin.rawArguments = rawArguments
  if (content !== undefined && !isDeepEqual(content, said?.content)) thin.content = content
  return thin
}

function wholeCall(call: Json, calls: ReturnType<typeof callsIn>): Json {
  if (!isJsonObject(call)) return call
  const { args, content } = calls.get(call.id) ?? {}
  const whole: JsonObject = { ...call }
  if (args !== undefined && !('rawArguments' in call)) Object.assign(whole, { args: jsonOrText(args), rawArguments: args })
  if (content !== undefined && !('content' in call)) whole.content = content
  return whole
}
