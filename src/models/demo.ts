import { type ChatMessage, hasToolCalls, type ToolCall } from '../messages.ts'
import type { ToolDefinition } from '../tools/tool.ts'
import { answerQuestion, composeAnswer } from './demo/answering/answers.ts'
import { Cabinet } from './demo/answering/cabinet.ts'
import { Desk, type WantedCall } from './demo/answering/desk.ts'
import { ListPlan } from './demo/answering/list-plan.ts'
import { readRequests } from './demo/reading/requests.ts'
import { abortedError, type ChatModel, type ModelRequest, type ModelResponse, type ModelSink, type Sampling } from './model.ts'

/**
 * The built-in model that needs neither a key nor a network. There is no language model behind it but rules: it reads a request with a
 * small grammar, calls the tools that answer it, and words what they said. It goes through the same loop as any other model, one step at
 * a time, and keeps nothing between two requests: what to do next follows from the conversation alone.
 *
 * It understands English requests of these families, several of them in one sentence or message, and follow-ups to earlier ones:
 *
 * - **Files**: count, list, find and compare files by kind (`TypeScript`, `Markdown`, `image`, `test` files, `*.proto`, files ending in
 *   `.x`, all files …) in any folder, by length and size: longest, shortest, largest, smallest, newest, the top 3, totals and averages,
 *   `with more than 100 lines`, `between 1 and 5 KB`, `not tests`.
 *   “How many TypeScript files are under src, which is the longest, and what is its line count times 37?”
 * - **Comparisons**: “Are there more TypeScript files under src or tests?”, “Which is longer, a.ts or b.ts?”
 * - **Text**: “Which files mention foo?”, “Where is runTool defined?”, “How many times does TODO occur in src?”
 * - **Contents**: “Show the first 10 lines of README.md”, “What is in package.json?”, “How many words are in it?”
 * - **Arithmetic**, also over earlier results: “What is 15% of 240?”, “Add both counts”, “Half of that”, “and multiply it by 3”.
 * - **Date and time**: “What day is it in Tokyo?”
 * - **Pages**: “Fetch https://example.com and tell me its title and how many words it has.”
 * - **Tools of your own**, when the request names them: `call weather with {"city":"Oslo"}`, `weather(city="Oslo")`.
 * - **Follow-ups**: “And how many of those are under tests?”, “What about Python?”, “Times 2?”
 *
 * Anything else it declines, saying what it is and how to use a real model. It calls only tools that the request offers, and says which one
 * it lacks. It counts no tokens: `usage` is absent. `generate` rejects only with code `aborted`.
 */
export function demoModel(): ChatModel {
  return { provider, model: 'demo', capabilities: { nativeTools: true }, generate }
}

const provider = 'demo'

async function generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
  if (request.signal?.aborted) throw abortedError(provider, request.signal.reason)
  const { calls, text } = nextStep(request)
  const toolCalls = callsOf(request.messages, request.parallelToolCalls === false ? calls.slice(0, 1) : calls)
  const response: ModelResponse = {
    text: toolCalls.length > 0 ? '' : text,
    toolCalls,
    finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
    model: 'demo',
  }
  const warnings = warningsFor(request, toolCalls)
  if (warnings.length > 0) response.warnings = warnings
  if (sink !== undefined) show(response, sink, request)
  return response
}

/** The calls that are still needed to answer the last user message, or the answer. */
function nextStep({ messages, tools = [], toolChoice }: ModelRequest): { calls: WantedCall[]; text: string } {
  const offered =
    toolChoice === 'none'
      ? []
      : typeof toolChoice === 'object'
        ? tools.filter((tool) => tool.function.name === toolChoice.function.name)
        : tools
  const requests = readRequests(messages, tools)
  const last = requests.at(-1)
  const desk = new Desk(messages, namesOf(offered))
  const cabinet = new Cabinet(
    desk,
    requests.map(({ questions, turn }) => new ListPlan(questions, turn)),
    requests.length - 1,
  )
  const questions = last?.questions ?? [{ ask: 'talk', topic: 'hello' }]
  const answers = questions.map((question, at) => answerQuestion(question, cabinet, questions.slice(0, at), offered))
  return desk.wanted.length > 0 ? { calls: desk.wanted, text: '' } : { calls: [], text: composeAnswer(questions, answers, offered) }
}

function namesOf(tools: readonly ToolDefinition[]): ReadonlySet<string> {
  return new Set(tools.map((tool) => tool.function.name))
}

/** Ids that no call of the conversation has: counted on, so that the same conversation always gets the same ones. */
function callsOf(messages: readonly ChatMessage[], wanted: readonly WantedCall[]): ToolCall[] {
  const taken = new Set(messages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map(({ id }) => id) : [])))
  let count = taken.size
  return wanted.map(({ tool, args }) => {
    do count++
    while (taken.has(`call_${count}`))
    return { id: `call_${count}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }
  })
}

const settings: readonly (keyof Sampling)[] = [
  'temperature',
  'topP',
  'maxOutputTokens',
  'stop',
  'seed',
  'frequencyPenalty',
  'presencePenalty',
  'reasoningEffort',
]

function warningsFor(request: ModelRequest, toolCalls: readonly ToolCall[]): string[] {
  const warnings = settings
    .filter((name) => request[name] !== undefined)
    .map((name) => `\`${name}\` was left out: the demo model does not take it`)
  const mustCall = request.toolChoice === 'required' || typeof request.toolChoice === 'object'
  if (mustCall && toolCalls.length === 0) warnings.push('`toolChoice` asks for a call, and there is none left that the demo model needs')
  return warnings
}

/** Gives a response out in pieces, as it would arrive from afar. Throws when the request is aborted meanwhile. */
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
