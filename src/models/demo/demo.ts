import { toChatMessages } from '../../core/message-input.ts'
import { type ChatMessage, hasToolCalls, type ToolCall, withoutUndefined } from '../../core/messages.ts'
import { abortedError, type ChatModel, type ModelRequest, type ModelResponse, type ModelSink, samplingNames } from '../chat-model.ts'
import { estimateUsage } from '../usage.ts'
import { nextStep, type WantedCall } from './step.ts'

/**
 * A built-in model that needs neither a key nor a network. It is a set of rules, not a language model. It knows the requests that
 * `examplesFor` returns, calls of tools by name, and arithmetic with earlier results. It answers a request only if it understands every
 * word. It refuses all other requests in one line. Its `usage` is estimated from lengths. `generate` rejects only with code `aborted`.
 */
export function demoModel(): ChatModel {
  return { provider, model: 'demo', capabilities: { nativeTools: true }, generate }
}

const provider = 'demo'

async function generate(given: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
  const request = { ...given, messages: toChatMessages(given.messages) }
  if (request.signal?.aborted) throw abortedError(provider, request.signal.reason)
  const { calls, text } = stepFor(request)
  const toolCalls = callsOf(request.messages, request.parallelToolCalls === false ? calls.slice(0, 1) : calls)
  const said = toolCalls.length > 0 ? { text: '', toolCalls } : { text, toolCalls }
  const finishReason = toolCalls.length > 0 ? 'tool_calls' : 'stop'
  const warnings = warningsFor(request, toolCalls)
  const response: ModelResponse = { ...said, finishReason, usage: estimateUsage(request, said), model: 'demo' }
  if (warnings.length > 0) response.warnings = warnings
  if (sink !== undefined) show(response, sink, request)
  return response
}

/** Returns the calls that are still needed and allowed, or the answer. */
function stepFor({ messages, tools = [], toolChoice }: ModelRequest): { calls: WantedCall[]; text: string } {
  const { calls, text } = nextStep(messages, tools)
  const allowed = calls.filter(({ tool }) => toolChoice !== 'none' && (typeof toolChoice !== 'object' || toolChoice.function.name === tool))
  if (calls[0] === undefined || allowed.length > 0) return { calls: allowed, text }
  return { calls: [], text: `I would need the tool \`${calls[0].tool}\` for that, and may not call it here.` }
}

/** Assigns ids that the conversation does not contain yet. The same conversation always gets the same ids. */
function callsOf(messages: readonly ChatMessage[], wanted: readonly WantedCall[]): ToolCall[] {
  const taken = new Set(messages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map(({ id }) => id) : [])))
  let count = taken.size
  return wanted.map(({ tool, args }) => {
    do count++
    while (taken.has(`call_${count}`))
    return { id: `call_${count}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }
  })
}

function warningsFor(request: ModelRequest, toolCalls: readonly ToolCall[]): string[] {
  const given = Object.keys(withoutUndefined(request)).filter((name) => name in samplingNames || name === 'responseSchema')
  const warnings = given.map((name) => `\`${name}\` was left out: the demo model does not support it`)
  const mustCall = request.toolChoice === 'required' || typeof request.toolChoice === 'object'
  if (mustCall && toolCalls.length === 0) warnings.push('`toolChoice` asks for a call, and there is none left that the demo model needs')
  return warnings
}

/** Streams a response in pieces, as a provider would. Throws if the request is aborted while the response is streamed. */
function show({ text, toolCalls }: ModelResponse, sink: ModelSink, { signal, stream }: ModelRequest): void {
  const give = (push: (() => void) | undefined): void => {
    push?.()
    if (signal?.aborted) throw abortedError(provider, signal.reason)
  }
  for (const piece of stream === false ? [text] : (text.match(/\s*\S+|\s+$/g) ?? [])) if (piece !== '') give(() => sink.text?.(piece))
  toolCalls.forEach(({ id, function: { name, arguments: json } }, index) => {
    give(() => sink.toolCallStart?.(index, id, name))
    for (const piece of stream === false ? [json] : (json.match(/[\s\S]{1,12}/g) ?? [])) give(() => sink.toolCallDelta?.(index, piece))
  })
}
