import pTimeout from 'p-timeout'
import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { digestOf } from '../../core/digest.ts'
import { show } from '../../core/errors.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { type ChatModel, type ModelRequest, type Sampling, samplingNames, type ToolChoice, toModelError } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { RunContext } from '../run/run-context.ts'
import { continueText } from '../told.ts'
import type { Execution, Place } from '../types/execution.ts'
import type { Asked, TurnRequest } from '../types/model-call.ts'
import type { RunSettings } from '../types/options.ts'

/** What the turn asks, once hooks have changed it. */
export async function buildTurn({ run, state, layers }: Execution, { iteration, lastTurn }: Place): Promise<TurnRequest> {
  const { settings } = run
  // In a last turn nothing can be called, whoever says what.
  const forced: ToolChoice | undefined = lastTurn === undefined ? undefined : 'none'
  const chosen = settings.control?.takeModel()
  if (chosen !== undefined) run.useModel(chosen)
  const { model, offered: tools } = run.agent
  const settling = tools.settled?.()
  if (settling !== undefined) await settle(settling, run)
  const continues = state.continuations > 0
  const messages = continues ? [...state.history.messages, continueMessage] : state.history.messages
  const before: Asked = { model: modelOfTurn(model), tools, messages, toolChoice: forced ?? settings.toolChoice }
  const changed = layers.changeTurn === undefined ? before : await layers.changeTurn(before, iteration)
  const asked = forced === undefined ? changed : { ...changed, toolChoice: forced }
  const request: ModelRequest = { ...layers.request, messages: asked.messages }
  if (layers.formatAnswer !== undefined) {
    const turn = layers.formatAnswer(asked, request, forced !== undefined || state.objections > 0)
    // Held to the schema, the model would have to begin again.
    if (continues) delete turn.request.responseSchema
    return turn
  }
  setTools(request, settings, asked.tools, asked.toolChoice)
  return { model: asked.model, tools: asked.tools, request }
}

/** How long a request waits for tools that are just changing. */
const longestSettleMs = 5_000

/** Waits for changes of the tools that have been announced. A set that takes too long is used as it is. */
async function settle(settling: Promise<void>, run: RunContext): Promise<void> {
  const fallback = () => run.logger.warn({ runId: run.runId }, 'the tools are still changing; the request is sent with those there are')
  await pTimeout(run.untilInterrupted(settling), { milliseconds: longestSettleMs, fallback })
}

/** The model to ask throughout the turn. One that can't say so fails the request. */
function modelOfTurn(model: ChatModel): ChatModel {
  if (model.forTurn === undefined) return model
  try {
    const chosen = syncAnswer('forTurn', model.forTurn())
    if (typeof chosen?.generate === 'function') return chosen
    throw new TypeError(`Expected \`forTurn\` to return a model, got \`${show(chosen)}\``)
  } catch (error) {
    const { provider, model: name, capabilities } = model
    return { provider, model: name, capabilities, generate: () => Promise.reject(toModelError(error, provider, name)) }
  }
}

/** Sent behind a text that was cut, and not kept. */
const continueMessage: ChatMessage = Object.freeze({ role: 'user', content: continueText })

/** Makes the request offer tools, where there are any. */
export function setTools(
  request: ModelRequest,
  { parallelToolCalls }: Pick<RunSettings, 'parallelToolCalls'>,
  tools: ToolSet,
  choice: ToolChoice | undefined,
): void {
  const specs = tools.getAllSpecs()
  if (specs.length === 0) return
  request.tools = specs
  const searchable = tools.searchable?.()
  if (searchable !== undefined) request.searchable = searchable
  // A tool that a hook or a handoff has taken away can't be asked for.
  const isThere = typeof choice !== 'object' || tools.get(choice.function.name) !== undefined
  if (choice !== undefined && isThere) request.toolChoice = choice
  if (parallelToolCalls !== undefined) request.parallelToolCalls = parallelToolCalls
}

/** What of a run's settings a request says. */
type RequestSettings = Sampling &
  Pick<RunSettings, 'stream' | 'streamIdleTimeoutMs' | 'streamStallTimeoutMs' | 'cacheKey' | 'providerOptions'>

/** What every request says, as the settings want it. What nobody chose is left to the driver. `session`: the id of the run's session. */
export function requestOf(settings: RequestSettings, signal: AbortSignal | undefined, session?: string): Omit<ModelRequest, 'messages'> {
  const request: Omit<ModelRequest, 'messages'> = { signal }
  for (const name of requestSettings) if (settings[name] !== undefined) Object.assign(request, { [name]: settings[name] })
  // Ids of sessions may say who somebody is: a provider is given their digest.
  const cacheKey = settings.cacheKey ?? (session === undefined ? undefined : digestOf(session))
  if (cacheKey !== undefined && cacheKey !== false) request.cacheKey = cacheKey
  if (settings.stream === false) request.stream = false
  return request
}

const requestSettings = [
  ...(Object.keys(samplingNames) as (keyof Sampling)[]),
  'streamIdleTimeoutMs',
  'streamStallTimeoutMs',
  'providerOptions',
] as const
