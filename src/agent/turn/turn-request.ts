import { InvalidOptionError } from '../../core/errors.ts'
import type { ChatModel, ModelRequest, Sampling, ToolChoice } from '../../models/chat-model.ts'
import { openModel } from '../../models/create-model.ts'
import { type ToolSet, ToolView } from '../../tools/registry.ts'
import { History } from '../conversation/history.ts'
import { askBeforeModel, type ModelTurn, type ModelTurnChange } from '../hooks/hooks.ts'
import { type OutputFormat, takesSchema } from '../output/output.ts'
import { checkCostIsKnown } from '../run/limits.ts'
import type { LiveRun } from '../run/run-context.ts'
import { chooseCallForm } from '../text-calls/mode.ts'
import type { RunSettings } from '../types.ts'

/** What one turn asks, of whom, and with which tools. */
export interface TurnRequest {
  model: ChatModel
  /** The tools that are sent; no others can be called. */
  tools: ToolSet
  request: ModelRequest
}

/** What of a run's settings a request says. */
type RequestSettings = Sampling & Pick<RunSettings, 'stream' | 'streamIdleTimeoutMs' | 'providerOptions'>

/** What hooks may change of it. */
interface Asked {
  model: ChatModel
  tools: ToolSet
  messages: History['messages']
  toolChoice: ToolChoice | undefined
}

/** Puts a turn's request together. `forced`: a tool choice nobody may change. */
export async function buildTurn(run: LiveRun, history: History, iteration: number, forced?: ToolChoice): Promise<TurnRequest> {
  const { settings, output } = run
  const before: Asked = {
    model: run.modelForTurn(),
    tools: run.offered,
    messages: history.messages,
    toolChoice: forced ?? settings.toolChoice,
  }
  const asked = settings.hooks === undefined ? before : await askHooks(run, before, iteration)
  const request = requestOf(settings, asked.messages, run.signal)
  if (output !== undefined && isHeldToSchema(run, asked)) {
    request.responseSchema = { name: output.tool.name, schema: output.schema }
  } else if (output !== undefined) {
    return withAnswerTool(run, asked, request, output, forced)
  }
  setTools(request, settings, asked.tools, forced ?? asked.toolChoice)
  return { model: asked.model, tools: asked.tools, request }
}

/** Text that has to be JSON of a schema has no place for calls written as text. */
function isHeldToSchema({ settings }: LiveRun, { model, tools }: Asked): boolean {
  const hasTools = tools.size > 0
  return takesSchema(model.capabilities, hasTools) && (!hasTools || chooseCallForm(settings, model).native)
}

/** A model that has answered in words, or is to call nothing more, is held to the tool that gives the answer. */
function withAnswerTool(
  run: LiveRun,
  { model, tools, toolChoice }: Asked,
  request: ModelRequest,
  { tool }: OutputFormat,
  forced: ToolChoice | undefined,
): TurnRequest {
  const view = run.view(tools, tool)
  const mustAnswer = forced !== undefined || run.objections > 0
  setTools(request, run.settings, view, mustAnswer ? { type: 'function', function: { name: tool.name } } : toolChoice)
  return { model, tools: view, request }
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
  // A tool that a hook or a handover has taken away can't be asked for.
  const isThere = typeof choice !== 'object' || tools.get(choice.function.name) !== undefined
  if (choice !== undefined && isThere) request.toolChoice = choice
  if (parallelToolCalls !== undefined) request.parallelToolCalls = parallelToolCalls
}

/** A request without tools, as the settings say. What nobody chose is left to the driver. */
export function requestOf(settings: RequestSettings, messages: History['messages'], signal: AbortSignal | undefined): ModelRequest {
  const { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort } = settings
  const { streamIdleTimeoutMs, providerOptions } = settings
  const sampling: Sampling = { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort }
  const request: ModelRequest = { messages }
  for (const [name, value] of Object.entries({ signal, ...sampling, streamIdleTimeoutMs, providerOptions }))
    if (value !== undefined) Object.assign(request, { [name]: value })
  if (settings.stream === false) request.stream = false
  return request
}

function askHooks(run: LiveRun, before: Asked, iteration: number): Promise<Asked> {
  const describe = ({ model, tools, messages, toolChoice }: Asked): ModelTurn<never> => ({
    runId: run.runId,
    iteration,
    context: run.settings.context as never,
    signal: run.signal,
    // A list of its own: the run's grows with the run.
    messages: Object.freeze([...messages]),
    tools: tools.names(),
    model,
    ...(toolChoice === undefined ? {} : { toolChoice }),
  })
  return askBeforeModel(run, before, describe, (asked, change) => changed(run, asked, change))
}

/** Throws for a change that can't be made. */
function changed(run: LiveRun, asked: Asked, { messages, tools, model, toolChoice }: ModelTurnChange): Asked {
  if (messages?.length === 0) throw new InvalidOptionError('messages', 'at least one message', messages)
  return {
    model: model === undefined ? asked.model : usable(run, openModel(model)),
    tools: tools === undefined ? asked.tools : new ToolView(run.offered, { only: known(run.offered, tools) }),
    messages: messages === undefined ? asked.messages : new History(messages).messages,
    toolChoice: toolChoice ?? asked.toolChoice,
  }
}

/** The model, if the run can be gone on with by it. Throws `invalid_option`. */
export function usable({ settings, costLimit }: Pick<LiveRun, 'settings' | 'costLimit'>, model: ChatModel): ChatModel {
  checkCostIsKnown(costLimit, model.capabilities)
  chooseCallForm(settings, model)
  return model
}

function known(tools: ToolSet, names: readonly string[]): readonly string[] {
  const unknown = names.find((name) => tools.get(name) === undefined)
  if (unknown !== undefined) throw new InvalidOptionError('tools', `names of the run’s tools (${tools.names().join(', ')})`, unknown)
  return names
}
