import { ModelError, type ToolloopError } from '../errors.ts'
import { Event, type FinishReason } from '../events.ts'
import { addUsage, type ChatMessage, copyJson, isJsonObject, type Usage } from '../messages.ts'
import { withCost } from '../models/cost.ts'
import { type ChatModel, type ModelRequest, type ModelResponse, type ModelSink, type ToolChoice, toModelError } from '../models/model.ts'
import { TextBuffer } from '../text-buffer.ts'
import type { PreparedCall } from '../tools/arguments.ts'
import { loggedFailure } from '../tools/runner.ts'
import { approvalKey } from './decisions.ts'
import type { History } from './history.ts'
import { type Durable, type StepTags, tagsOf } from './journal.ts'
import type { LiveRun } from './live-run.ts'
import { type PlannedCall, planCalls, prepareInTime } from './plan.ts'
import type { RunStep } from './run.ts'
import type { TextExchange } from './text-calls.ts'
import type { ReadResponse } from './text-reading.ts'

/** One model turn as it is recorded: what was said and what is to be done about it. */
export type Turn =
  | { kind: 'reply'; message: ChatMessage; text: string; planned: PlannedCall[]; step: RunStep }
  | { kind: 'refused'; text: string; step: RunStep; error: ErrorRecord }
  | { kind: 'failed'; text: string; usage?: Usage; error: ErrorRecord }
  /** `unasked`: the run was over before the model was asked. */
  | { kind: 'interrupted'; why: 'aborted' | 'deadline'; text: string; usage?: Usage; unasked?: true }

export interface ErrorRecord {
  code: ToolloopError['code']
  message: string
}

/** Asks the model once, as the step `${iteration}.model`, and plans the calls it made. Never rejects for a fault of the model. `attempt` counts the requests of one iteration. */
export function askModel(
  durable: Durable,
  run: LiveRun,
  history: History,
  iteration: number,
  toolChoice?: ToolChoice,
  attempt = 1,
): Promise<Turn> {
  const name = toolChoice === undefined ? `${iteration}.model` : `${iteration}.answer`
  const key = attempt === 1 ? name : `${name}.${attempt}`
  return durable.step(key, async (step) => {
    const unfollow = step.signal === run.signal ? undefined : run.follow(step.signal)
    try {
      if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '', unasked: true }
      const request = buildRequest(run, history, toolChoice)
      const turn = new TurnInFlight(run, iteration, key, tagsOf(durable, key))
      return await turn.finish(request, history)
    } finally {
      unfollow?.()
    }
  })
}

function buildRequest(run: LiveRun, history: History, toolChoice: ToolChoice | undefined): ModelRequest {
  const { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort } = run.settings
  const request: ModelRequest = { messages: history.messages, signal: run.signal }
  const sampling = { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort }
  for (const [name, value] of Object.entries(sampling)) if (value !== undefined) Object.assign(request, { [name]: value })
  // Left to the driver where nobody chose: a response that comes whole is silent for longer than a stream.
  if (run.settings.streamIdleTimeoutMs !== undefined) request.streamIdleTimeoutMs = run.limits.streamIdleTimeoutMs
  if (run.settings.stream === false) request.stream = false
  if (run.settings.providerOptions !== undefined) request.providerOptions = run.settings.providerOptions
  if (run.registry.size === 0) return request
  request.tools = run.registry.getAllSpecs()
  const choice = toolChoice ?? run.settings.toolChoice
  if (choice !== undefined) request.toolChoice = choice
  if (run.settings.parallelToolCalls !== undefined) request.parallelToolCalls = run.settings.parallelToolCalls
  return request
}

class TurnInFlight {
  readonly #run: LiveRun
  readonly #model: ChatModel
  readonly #meta: { iteration: number } & StepTags
  readonly #key: string
  readonly #startedAt = performance.now()
  readonly #shownText = new TextBuffer()
  #firstPieceAt: number | undefined
  /** The request under way, where calls may be text. */
  #exchange: TextExchange | undefined

  constructor(run: LiveRun, iteration: number, key: string, tags: StepTags) {
    this.#run = run
    this.#model = run.model.forTurn?.() ?? run.model
    this.#meta = { iteration, ...tags }
    this.#key = key
  }

  async finish(request: ModelRequest, history: History): Promise<Turn> {
    const { provider, model } = this.#model
    this.#run.emit(Event.MODEL_START, { provider, model }, this.#meta)
    let usage: Usage | undefined
    try {
      let response = await this.#ask(request)
      if (response !== undefined && isEmpty(response)) {
        // Asked once more: an empty response is nearly always a hiccup, and there is nothing in it to go on with.
        usage = response.usage
        this.#run.logger.warn(
          { runId: this.#run.runId, provider, model, finishReason: response.finishReason },
          'empty response, asking once more',
        )
        const again = await this.#ask(request)
        response = again && {
          ...again,
          ...withUsage(usage ? addUsage(usage, again.usage) : again.usage),
          retries: (again.retries ?? 0) + 1,
        }
      }
      if (response === undefined)
        return { kind: 'interrupted', why: this.#run.interruption ?? 'aborted', text: this.#shownText.toString(), ...this.#spent(usage) }
      if (isEmpty(response)) {
        usage = response.usage
        throw new ModelError(
          'empty_response',
          `The model answered twice with neither text nor calls (finish reason \`${response.rawFinishReason ?? response.finishReason}\`)`,
          { provider, model, retryable: false },
        )
      }
      return await this.#read(response, history)
    } catch (thrown) {
      if (this.#run.interruption !== undefined) {
        const partial = ModelError.isInstance(thrown) ? partialOf(thrown) : undefined
        return {
          kind: 'interrupted',
          why: this.#run.interruption,
          text: this.#partialText(partial),
          ...this.#spent(partial?.usage, usage),
        }
      }
      return this.#failed(thrown, usage)
    }
  }

  /** The response, or undefined when the run was interrupted; a model that ignores its signal is left behind. */
  async #ask(request: ModelRequest): Promise<ReadResponse | undefined> {
    const listening = { on: true }
    const sink = this.#sink(listening)
    const textCalls = await this.#run.textCallsFor(this.#model, request.tools !== undefined)
    this.#exchange = textCalls?.open(request, sink)
    const { request: sent, sink: into } = this.#exchange ?? { request, sink }
    // `async` turns a model that throws at once into one that rejects.
    const ask = async () => this.#model.generate(sent, into)
    try {
      const response = await this.#run.untilInterrupted(ask())
      if (this.#run.signal.aborted) return undefined
      const checked = checkResponse(response, this.#model)
      return this.#exchange?.finish(checked) ?? checked
    } finally {
      listening.on = false
    }
  }

  /** Only what somebody listens to: a response nobody has seen yet can be asked for again when it breaks off. */
  #sink(listening: { readonly on: boolean }): ModelSink | undefined {
    const run = this.#run
    const sink: ModelSink = {}
    const text = run.deltas(Event.TEXT_DELTA, this.#meta)
    const reasoning = run.deltas(Event.REASONING_DELTA, this.#meta)
    const inputStart = run.deltas(Event.TOOL_INPUT_START, this.#meta)
    const inputDelta = run.deltas(Event.TOOL_INPUT_DELTA, this.#meta)
    // A model may go on talking when its turn, or the run, is over.
    const take = () => {
      if (!listening.on || run.interruption !== undefined) return false
      this.#firstPieceAt ??= performance.now()
      return true
    }
    if (text !== undefined) {
      sink.text = (delta) => {
        if (delta === '' || !take()) return
        this.#shownText.add(delta)
        text({ text: delta })
      }
    }
    if (reasoning !== undefined) {
      sink.reasoning = (delta) => {
        if (delta !== '' && take()) reasoning({ text: delta })
      }
    }
    if (inputStart !== undefined) {
      sink.toolCallStart = (index, id, tool) => {
        if (take()) inputStart({ index, id, tool })
      }
    }
    if (inputDelta !== undefined) {
      sink.toolCallDelta = (index, json) => {
        if (take()) inputDelta({ index, json })
      }
    }
    return Object.keys(sink).length === 0 ? undefined : sink
  }

  async #read(response: ReadResponse, history: History): Promise<Turn> {
    const { provider, model } = this.#model
    const { text, finishReason, providerData } = response
    const plan = await this.#plan(response, history)
    const step = this.#step(
      response,
      plan.calls.map(({ id }) => id),
    )
    this.#run.emit(
      Event.MODEL_END,
      { provider, model, finishReason: step.finishReason, ...withUsage(step.usage) },
      { ...this.#meta, durationMs: step.durationMs },
    )
    if (plan.calls.length === 0 && (finishReason === 'refusal' || finishReason === 'content_filter')) {
      const message =
        finishReason === 'refusal'
          ? `The model declined to answer${text === '' ? '' : `: ${text}`}`
          : 'The response was stopped by a content filter'
      const error = new ModelError(finishReason, message, { provider, model, retryable: false })
      this.#run.errors.set(this.#key, error)
      return { kind: 'refused', text, step, error: { code: error.code, message } }
    }
    // A copy: the history freezes what it holds, and this is the model's own.
    const extras = providerData === undefined ? {} : { providerData: copyJson(providerData) }
    const message: ChatMessage =
      plan.calls.length > 0
        ? { role: 'assistant', content: text, toolCalls: plan.calls, ...extras }
        : { role: 'assistant', content: text, ...extras }
    return { kind: 'reply', message, text, planned: plan.planned, step }
  }

  async #plan(
    { toolCalls, finishReason }: ReadResponse,
    history: History,
  ): Promise<{ calls: Awaited<ReturnType<typeof planCalls>>['calls']; planned: PlannedCall[] }> {
    if (toolCalls.length === 0) return { calls: [], planned: [] }
    const run = this.#run
    const plan = await planCalls({
      calls: toolCalls,
      finishReason,
      registry: run.registry,
      notFound: (name) => run.toolRunner.notFound(name),
      withUniqueIds: (calls) => history.withUniqueIds(calls),
      prepare: (tool, raw, { asText }) => prepareInTime(tool, raw, { timeoutMs: run.limits.toolTimeoutMs, signal: run.signal, asText }),
      needsApproval: (call) => needsApproval(call, run),
    })
    for (const [id, call] of plan.prepared) run.prepared.set(id, call)
    return plan
  }

  #step(response: ModelResponse, toolCalls: string[]): RunStep {
    const { provider, model, capabilities } = this.#model
    const firstPieceMs =
      response.timeToFirstTokenMs ?? (this.#firstPieceAt === undefined ? undefined : this.#firstPieceAt - this.#startedAt)
    return {
      iteration: this.#meta.iteration,
      provider: response.provider ?? provider,
      model: response.model ?? model,
      ...(response.usage === undefined ? {} : { usage: withCost(response.usage, capabilities) }),
      finishReason: toolCalls.length > 0 && response.finishReason !== 'length' ? 'tool_calls' : response.finishReason,
      durationMs: performance.now() - this.#startedAt,
      ...(firstPieceMs === undefined ? {} : { timeToFirstTokenMs: firstPieceMs }),
      retries: response.retries ?? 0,
      warnings: response.warnings ?? [],
      toolCalls,
    }
  }

  /** What a turn without a response has used: requests that came to nothing are paid for all the same. */
  #spent(...parts: (Usage | undefined)[]): { usage?: Usage } {
    const told = parts.filter((usage) => usage !== undefined)
    if (told.length === 0) return {}
    return { usage: withCost(told.reduce(addUsage), this.#model.capabilities) }
  }

  /** What was said before the response broke off; not what may have become a call. */
  #partialText(partial: ModelError['partial']): string {
    if (partial === undefined) return this.#shownText.toString()
    return this.#exchange?.partOf(partial.text) ?? partial.text
  }

  #failed(thrown: unknown, usage: Usage | undefined): Turn {
    const { provider, model } = this.#model
    const error = toModelError(thrown, provider, model)
    this.#run.errors.set(this.#key, error)
    const partial = partialOf(error)
    this.#run.logger.error({ runId: this.#run.runId, provider, model, iteration: this.#meta.iteration, error }, 'model request failed')
    return {
      kind: 'failed',
      text: this.#partialText(partial),
      ...this.#spent(partial?.usage, usage),
      error: { code: error.code, message: error.message },
    }
  }
}

function withUsage(usage: Usage | undefined): { usage?: Usage } {
  return usage === undefined ? {} : { usage }
}

function partialOf(error: ToolloopError): ModelError['partial'] {
  return error instanceof ModelError ? error.partial : undefined
}

function isEmpty({ text, toolCalls, finishReason }: ModelResponse): boolean {
  return toolCalls.length === 0 && text.trim() === '' && finishReason !== 'refusal' && finishReason !== 'content_filter'
}

const finishReasons: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter', 'refusal', 'error']

/** A model written by others may return anything: what the loop reads is checked once, here. */
function checkResponse(response: unknown, { provider, model }: { provider: string; model: string }): ModelResponse {
  const fail = (what: string): never => {
    throw new ModelError('bad_response', `Expected the model's response to have ${what}`, { provider, model, retryable: false })
  }
  if (!isJsonObject(response)) return fail('the fields of a ModelResponse')
  const given: Partial<ModelResponse> = response
  const { text = '', toolCalls = [], finishReason = 'stop' } = given
  if (typeof text !== 'string') fail('a `text` that is a string')
  if (!Array.isArray(toolCalls)) fail('`toolCalls` that are an array')
  for (const call of toolCalls) {
    if (typeof call?.function?.name !== 'string' || typeof call.function.arguments !== 'string' || typeof call.id !== 'string') {
      fail('`toolCalls` of the shape `{id, type, function: {name, arguments}}` with texts')
    }
  }
  if (!finishReasons.includes(finishReason)) fail(`a \`finishReason\` out of ${finishReasons.join(', ')}`)
  if (finishReason === 'error')
    throw new ModelError('provider_error', `The provider ended the response with an error${text === '' ? '' : ` after: ${text}`}`, {
      provider,
      model,
      retryable: false,
      partial: { text, ...withUsage(given.usage) },
    })
  return { ...given, text, toolCalls, finishReason }
}

/** Fails closed: a predicate that throws asks for an approval. */
async function needsApproval({ tool, args }: PreparedCall, run: LiveRun): Promise<boolean> {
  if (tool.approval === undefined || tool.approval === false || run.remembered.has(approvalKey(tool.name, args))) return false
  if (typeof tool.approval !== 'function') return true
  try {
    const needed = await run.untilInterrupted(
      Promise.resolve(tool.approval(structuredClone(args), { context: run.settings.context as never })),
    )
    return needed !== false
  } catch (error) {
    const failure = loggedFailure({ tool, args }, error)
    run.logger.error({ runId: run.runId, tool: tool.name, ...failure }, 'approval predicate threw; the call needs an approval')
    return true
  }
}
