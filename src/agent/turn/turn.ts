import { ModelError, ToolloopError } from '../../core/errors.ts'
import { Event } from '../../core/events.ts'
import { addUsage, type ChatMessage, copyJson, type ToolCall, type Usage } from '../../core/messages.ts'
import { type ChatModel, type ModelRequest, type ModelResponse, type ToolChoice, toModelError } from '../../models/chat-model.ts'
import { withCost } from '../../models/cost.ts'
import { usageOfFailure } from '../../models/usage.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { loggedFailure, notFoundText } from '../../tools/tool-runner.ts'
import { type Plan, type PlannedCall, planCalls, prepareInTime } from '../calls/prepare-calls.ts'
import type { History } from '../conversation/history.ts'
import { approvalKey } from '../decisions/decisions.ts'
import { type Durable, type StepTags, tagsOf } from '../durable/journal.ts'
import { checkOutput, hasGuardrail, withheld } from '../hooks/guardrails.ts'
import { askAfterModel } from '../hooks/hooks.ts'
import { checkAnswers } from '../output/answer-check.ts'
import { readAnswer } from '../output/output.ts'
import type { LiveRun } from '../run/run-context.ts'
import type { TextExchange } from '../text-calls/text-calls.ts'
import type { ReadResponse } from '../text-calls/text-reading.ts'
import type { RunStep } from '../types.ts'
import { isEmpty, takeResponse } from './response-check.ts'
import { buildTurn, type TurnRequest } from './turn-request.ts'
import { TurnSink } from './turn-sink.ts'

/** One model turn as it is recorded: what was said and what is to be done about it. */
export type Turn =
  | { kind: 'reply'; message: ChatMessage; text: string; planned: PlannedCall[]; step: RunStep; objection?: Objection }
  | { kind: 'refused'; text: string; step: RunStep; error: ErrorRecord }
  | { kind: 'failed'; text: string; usage?: Usage; error: ErrorRecord }
  /** `unasked`: the run was over before the model was asked. */
  | { kind: 'interrupted'; why: 'aborted' | 'deadline'; text: string; usage?: Usage; unasked?: true }

/** Why an answer is not accepted, in words for the model. */
export interface Objection {
  code: 'invalid_output' | 'guardrail'
  text: string
}

/** A response's text as it is kept, and the answer in it where that has a schema; or why the run ends with it. */
type Reviewed = { text: string; answer?: string; objection?: Objection } | { stop: string }

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
      const asked = await buildTurn(run, history, iteration, toolChoice)
      return await new TurnInFlight(run, iteration, key, tagsOf(durable, key), asked).finish(history)
    } finally {
      unfollow?.()
    }
  })
}

class TurnInFlight {
  readonly #run: LiveRun
  readonly #model: ChatModel
  readonly #tools: ToolSet
  readonly #request: ModelRequest
  /** Text is given out only when it has been checked. */
  readonly #holdsText: boolean
  readonly #meta: { iteration: number } & StepTags
  readonly #key: string
  readonly #startedAt = performance.now()
  readonly #sink: TurnSink
  /** The request under way, where calls may be text. */
  #exchange: TextExchange | undefined

  constructor(run: LiveRun, iteration: number, key: string, tags: StepTags, { model, tools, request }: TurnRequest) {
    this.#run = run
    this.#model = model
    this.#tools = tools
    this.#request = request
    this.#holdsText = hasGuardrail(run, 'output')
    this.#meta = { iteration, ...tags }
    this.#key = key
    this.#sink = new TurnSink(run, this.#meta, this.#holdsText)
  }

  async finish(history: History): Promise<Turn> {
    const { provider, model } = this.#model
    this.#run.emit(Event.MODEL_START, { provider, model }, this.#meta)
    let usage: Usage | undefined
    try {
      let response = await this.#ask(this.#request)
      if (response !== undefined && isEmpty(response)) {
        // Asked once more: an empty response is nearly always a hiccup, and there is nothing in it to go on with.
        usage = response.usage
        this.#run.logger.warn(
          { runId: this.#run.runId, provider, model, finishReason: response.finishReason },
          'empty response, asking once more',
        )
        const again = await this.#ask(this.#request)
        response = again && {
          ...again,
          ...withUsage(usage ? addUsage(usage, again.usage) : again.usage),
          retries: (again.retries ?? 0) + 1,
        }
      }
      if (response === undefined)
        return { kind: 'interrupted', why: this.#run.interruption ?? 'aborted', text: this.#partialText(undefined), ...this.#spent(usage) }
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
          ...this.#spent(usageOfFailure(thrown), usage),
        }
      }
      return this.#failed(thrown, usage)
    }
  }

  /** The response, or undefined when the run was interrupted; a model that ignores its signal is left behind. */
  async #ask(request: ModelRequest): Promise<ReadResponse | undefined> {
    const heard = this.#sink.open()
    const textCalls = await this.#run.textCallsFor(this.#model, request.tools !== undefined)
    this.#exchange = textCalls?.open(request, heard)
    const { request: sent, sink: into } = this.#exchange ?? { request, sink: heard }
    // `async` turns a model that throws at once into one that rejects.
    const ask = async () => this.#model.generate(sent, this.#sink.complete(into))
    try {
      const asking = ask()
      const response = await this.#run.untilInterrupted(asking)
      // One that heeds its signal rejects at once, and tells what has come and what was used; a deaf one is left behind.
      if (this.#run.signal.aborted) return await Promise.race([asking.then(() => undefined), nextTurn()])
      const checked = takeResponse(response, this.#model, sent)
      return this.#exchange?.finish(checked) ?? checked
    } finally {
      this.#sink.close()
    }
  }

  async #read(response: ReadResponse, history: History): Promise<Turn> {
    const { provider, model } = this.#model
    const { finishReason, providerData } = response
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
      const text = this.#holdsText ? '' : response.text
      const declined = `The model declined to answer${text === '' ? '' : `: ${text}`}`
      const message = finishReason === 'refusal' ? declined : 'The response was stopped by a content filter'
      return this.#refused(new ModelError(finishReason, message, { provider, model, retryable: false }), text, step)
    }
    const said = await this.#review(response.text, plan, step)
    const given =
      this.#holdsText && !('stop' in said) ? await checkAnswers(this.#run, this.#meta.iteration, plan) : { plan, changed: false }
    const { interruption: why } = this.#run
    const isUnchecked = this.#holdsText || ('objection' in said && said.objection !== undefined)
    if (isUnchecked && why !== undefined) {
      // What guardrails have not checked to the end is not given out.
      return { kind: 'interrupted', why, text: this.#holdsText ? '' : response.text, ...this.#spent(response.usage) }
    }
    if ('stop' in said || 'stop' in given) {
      const reason = 'stop' in said ? said.stop : 'stop' in given ? given.stop : ''
      return this.#refused(new ToolloopError('guardrail', `The run was stopped by ${reason}`), '', step)
    }
    const { text, answer = text, objection } = said
    const { calls, planned } = given.plan
    // A copy: the history freezes what it holds, and this is the model's own. What was withheld must not go out by another way.
    const isWithheld = this.#holdsText && (text !== response.text || given.changed)
    const opaque = providerData === undefined || isWithheld ? {} : { providerData: copyJson(providerData) }
    const message: ChatMessage =
      calls.length === 0
        ? { role: 'assistant', content: text, ...opaque }
        : { role: 'assistant', content: text, toolCalls: calls, ...opaque }
    return { kind: 'reply', message, text: answer, planned, step, ...(objection === undefined ? {} : { objection }) }
  }

  /** What hooks, guardrails and the answer's schema make of a response's text. */
  async #review(written: string, { calls, planned }: Plan, step: RunStep): Promise<Reviewed> {
    const run = this.#run
    const { iteration } = this.#meta
    let text = run.settings.hooks === undefined ? written : await this.#afterHooks(written, calls, step)
    if (this.#holdsText) {
      const checked = await checkOutput(run, iteration, text)
      if (!checked.passed && checked.how === 'stop') return { stop: checked.reason }
      if (!checked.passed && calls.length === 0) {
        const told = `Your answer was withheld (${checked.reason}). Give another one.`
        return { text: withheld(checked.reason), objection: { code: 'guardrail', text: told } }
      }
      text = checked.passed ? checked.subject : ''
      if (text !== '') run.deltas(Event.TEXT_DELTA, this.#meta)?.({ text })
      for (const call of planned) delete call.textAfter
    }
    if (run.output === undefined || calls.length > 0) return { text }
    const answer = await readAnswer(run.output, text, { timeoutMs: run.limits.toolTimeoutMs, signal: run.signal })
    if (answer.ok) return { text, answer: answer.json }
    const way =
      this.#request.responseSchema === undefined ? ` Give it by calling \`${run.output.tool.name}\`.` : ' Give it anew, as JSON alone.'
    return { text, objection: { code: 'invalid_output', text: answer.problem + way } }
  }

  #afterHooks(text: string, calls: readonly ToolCall[], { finishReason, usage }: RunStep): Promise<string> {
    const { runId, settings, signal } = this.#run
    const place = { runId, iteration: this.#meta.iteration, context: settings.context as never, signal }
    const toolCalls = calls.map(({ id, function: call }) => ({ id, tool: call.name, rawArguments: call.arguments }))
    return askAfterModel(this.#run, { ...place, text, toolCalls, finishReason, ...withUsage(usage) })
  }

  #refused(error: ModelError | ToolloopError, text: string, step: RunStep): Turn {
    this.#run.errors.set(this.#key, error)
    return { kind: 'refused', text, step, error: { code: error.code, message: error.message } }
  }

  async #plan({ toolCalls, finishReason }: ReadResponse, history: History): Promise<Plan> {
    if (toolCalls.length === 0) return { calls: [], planned: [], prepared: new Map() }
    const run = this.#run
    const plan = await planCalls({
      calls: toolCalls,
      finishReason,
      registry: this.#tools,
      notFound: (name) => notFoundText(name, this.#tools.names()),
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
      response.timeToFirstTokenMs ?? (this.#sink.firstPieceAt === undefined ? undefined : this.#sink.firstPieceAt - this.#startedAt)
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
    if (this.#holdsText) return ''
    // An error may tell of usage alone: that it has no text does not say that there was none.
    const said = partial?.text ?? ''
    if (said === '' && this.#sink.shownText !== '') return this.#sink.shownText
    const text = said === '' ? this.#sink.unseenText : said
    return this.#exchange?.partOf(text) ?? text
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
      ...this.#spent(usageOfFailure(error), usage),
      error: { code: error.code, message: error.message },
    }
  }
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(resolve, undefined))
}

function withUsage(usage: Usage | undefined): { usage?: Usage } {
  return usage === undefined ? {} : { usage }
}

function partialOf(error: ToolloopError): ModelError['partial'] {
  return error instanceof ModelError ? error.partial : undefined
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
