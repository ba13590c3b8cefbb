import type { ChatMessage } from '../../core/messages.ts'
import type { ChatModel, ModelRequest, Sampling, ToolChoice } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { RunContext } from '../run/run-context.ts'
import type { RunSettings } from '../types.ts'
import type { TurnRequest } from './model-call.ts'

/** What of a run's settings a request says. */
type RequestSettings = Sampling & Pick<RunSettings, 'stream' | 'streamIdleTimeoutMs' | 'providerOptions'>

/** What a turn asks, before it is a request. */
export interface Asked {
  model: ChatModel
  tools: ToolSet
  messages: readonly ChatMessage[]
  toolChoice: ToolChoice | undefined
}

/** What hooks make of it. */
export type ChangeTurn = (asked: Asked, iteration: number) => Promise<Asked>

/** Makes the request ask for an answer with a schema. `mustAnswer`: the model is to do nothing but answer. */
export type FormatAnswer = (asked: Asked, request: ModelRequest, mustAnswer: boolean) => TurnRequest

/** Puts a turn's request together: what hooks may change of it first. */
export interface TurnTerms {
  iteration: number
  messages: readonly ChatMessage[]
  /** A tool choice nobody may change. */
  forced?: ToolChoice | undefined
  mustAnswer: boolean
  changeTurn?: ChangeTurn | undefined
  formatAnswer?: FormatAnswer | undefined
}

export async function buildTurn(run: RunContext, terms: TurnTerms): Promise<TurnRequest> {
  const { settings } = run
  const { iteration, messages, forced, changeTurn, formatAnswer } = terms
  const before: Asked = { model: run.modelForTurn(), tools: run.offered, messages, toolChoice: forced ?? settings.toolChoice }
  const asked = changeTurn === undefined ? before : await changeTurn(before, iteration)
  const request = requestOf(settings, asked.messages, run.signal)
  if (formatAnswer !== undefined) return formatAnswer({ ...asked, toolChoice: forced ?? asked.toolChoice }, request, terms.mustAnswer)
  setTools(request, settings, asked.tools, forced ?? asked.toolChoice)
  return { model: asked.model, tools: asked.tools, request }
}

/** Makes the request offer tools, where there are any. */
export function setTools(
  request: ModelRequest,
  { parallelToolCalls }: Pick<RunSettings, 'parallelToolCalls'>,
  tools: ToolSet,
  choice: ToolChoice | undefined,
): void {
  if (tools.size === 0) return
  request.tools = tools.getAllSpecs()
  // A tool that a hook or a handoff has taken away can't be asked for.
  const isThere = typeof choice !== 'object' || tools.get(choice.function.name) !== undefined
  if (choice !== undefined && isThere) request.toolChoice = choice
  if (parallelToolCalls !== undefined) request.parallelToolCalls = parallelToolCalls
}

/** A request without tools, as the settings say. What nobody chose is left to the driver. */
export function requestOf(settings: RequestSettings, messages: readonly ChatMessage[], signal: AbortSignal | undefined): ModelRequest {
  const { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort } = settings
  const { streamIdleTimeoutMs, providerOptions } = settings
  const sampling: Sampling = { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort }
  const request: ModelRequest = { messages }
  for (const [name, value] of Object.entries({ signal, ...sampling, streamIdleTimeoutMs, providerOptions }))
    if (value !== undefined) Object.assign(request, { [name]: value })
  if (settings.stream === false) request.stream = false
  return request
}
