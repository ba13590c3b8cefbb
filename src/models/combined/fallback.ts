import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, isSetupFault, ModelError, messageOf, type ToolloopError } from '../../core/errors.ts'
import { type FinishReason, type Usage, withoutUndefined } from '../../core/messages.ts'
import {
  type ChatModel,
  isModelError,
  type ModelCapabilities,
  type ModelRequest,
  type ModelResponse,
  type ModelRetry,
  type ModelSink,
  toModelError,
} from '../chat-model.ts'
import { type AnyModel, openModel } from '../create-model.ts'
import { restartable } from '../middleware/retry.ts'
import { knowsCost, sumOfUsage, usageOfAttempt, usageOfFailure, wholeUsage, withCost, withUsage, withWholeUsage } from '../usage.ts'

/** The finish reasons that `fallbackOn` accepts: the model declined to answer, or a filter stopped the response before it had text. */
const declinedReasons = ['refusal', 'content_filter'] as const

/**
 * The responses after which the next model is asked: a list of the finish reasons `'refusal'` and `'content_filter'`, or a function that
 * returns true for such a response.
 */
export type FallbackOn = readonly (typeof declinedReasons)[number][] | ((response: ModelResponse) => boolean)

/** The options of a `fallbackModel`. */
export interface FallbackOptions {
  /**
   * Responses after which the next model is asked, as after a failure: `'refusal'`, `'content_filter'` (only if the response has no text),
   * or a function. Default: none. The response of the last model is always returned. A response is also returned if its text was already
   * streamed and can't be taken back.
   *
   * Contract of the function: called synchronously; return true to ask the next model. If it throws or returns a promise, the response is
   * kept and a warning is added.
   */
  fallbackOn?: FallbackOn
  /**
   * How long a failed model is tried only after all other models, in milliseconds. A longer `retry-after` of the provider takes
   * precedence. Default 30,000.
   */
  cooldownMs?: number
}

const fallbackOptionNames: OptionNames<FallbackOptions> = { cooldownMs: true, fallbackOn: true }

/** A model in the list. It is tried after the others until `performance.now()` reaches `restsUntil`. */
interface Candidate {
  model: ChatModel
  restsUntil: number
}

/** Codes of errors that are caused by the state of the provider, not by the request. */
const restingCodes: ReadonlySet<string> = new Set([
  'connection_failed',
  'missing_api_key',
  'provider_error',
  'rate_limited',
  'stream_idle',
  'unauthorized',
])

/**
 * Combines several models into one model with fallbacks. Each request goes to the first model. If the request fails there, it goes to the
 * next model, and so on. There is no fallback if part of the failed response was already streamed and can't be taken back. The response's
 * `warnings` list the failures. Its `provider` and `model` name the model that answered. If all models fail, the request rejects with the
 * last error. An abort ends the request at once.
 *
 * Throws `invalid_option` for an empty list, and for models that don't write calls in the same way.
 */
export function fallbackModel(models: readonly AnyModel[], options: FallbackOptions = {}): ChatModel {
  checkOptionNames(options, fallbackOptionNames, '`fallbackModel`')
  const { cooldownMs = 30_000, fallbackOn = [] } = options
  if (!Array.isArray(models) || models.length === 0) throw new InvalidOptionError('models', 'an array of models, not empty', models)
  if (!(cooldownMs >= 0)) throw new InvalidOptionError('cooldownMs', 'a number of milliseconds ≥ 0', cooldownMs)
  checkFallbackOn(fallbackOn)
  const opened = models.map((model) => openModel(model))
  const [first] = opened
  if (first === undefined || !opened.every(({ capabilities }) => isLike(capabilities, first.capabilities))) {
    throw new InvalidOptionError('models', 'models that all support native calls or all use the same dialect', opened.map(nameOf))
  }
  return new FallbackModel(opened, first, { cooldownMs, fallbackOn })
}

/** Throws `invalid_option` if `given` is neither a function nor a list of finish reasons. */
function checkFallbackOn(given: unknown): void {
  const reasons: readonly unknown[] = declinedReasons
  if (typeof given === 'function' || (Array.isArray(given) && given.every((one) => reasons.includes(one)))) return
  throw new InvalidOptionError('fallbackOn', "a function or an array of `'refusal'` and `'content_filter'`", given)
}

function isLike(one: ModelCapabilities, other: ModelCapabilities): boolean {
  return one.nativeTools === other.nativeTools && one.dialect === other.dialect
}

class FallbackModel implements ChatModel {
  readonly #candidates: readonly Candidate[]
  readonly #first: ChatModel
  readonly #options: Required<FallbackOptions>

  constructor(models: readonly ChatModel[], first: ChatModel, options: Required<FallbackOptions>) {
    this.#candidates = models.map((model) => ({ model, restsUntil: 0 }))
    this.#first = first
    this.#options = options
  }

  get provider(): string {
    return this.#first.provider
  }

  get model(): string {
    return this.#first.model
  }

  get baseURL(): string | undefined {
    return this.#first.baseURL
  }

  get api(): string | undefined {
    return this.#first.api
  }

  /**
   * The capabilities that all models share. `contextWindow` is the smallest window among those that are known. `reportsCost` is set only if
   * the cost of every model can be determined. `structuredOutput` is set only if every model supports response schemas.
   */
  get capabilities(): ModelCapabilities {
    const all = this.#candidates.map(({ model }) => model.capabilities)
    const windows = all.flatMap(({ contextWindow }) => (contextWindow === undefined ? [] : [contextWindow]))
    const schemas = all.map(({ structuredOutput }) => structuredOutput)
    const structuredOutput = schemas.find((one) => one !== 'with-tools') ?? 'with-tools'
    const { nativeTools, dialect } = this.#first.capabilities
    const deprecated = all.find((one) => one.deprecated !== undefined)?.deprecated
    return {
      nativeTools,
      ...withoutUndefined({ dialect }),
      ...(all.some(({ salvageTextCalls }) => salvageTextCalls) ? { salvageTextCalls: true } : {}),
      ...(schemas.includes(undefined) ? {} : { structuredOutput }),
      ...withoutUndefined({ deprecated }),
      ...(windows.length === 0 ? {} : { contextWindow: Math.min(...windows) }),
      ...(all.every(knowsCost) ? { reportsCost: true } : {}),
    }
  }

  /**
   * Resolves once one model is ready. The models after it are not loaded. Problems with earlier models are added to the responses'
   * `warnings`.
   */
  async prepare(): Promise<void> {
    const failures: unknown[] = []
    for (const { model } of this.#inOrder()) {
      try {
        await model.prepare?.()
        return
      } catch (error) {
        failures.push(error)
      }
    }
    throw failures[0]
  }

  async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
    const watched = sink && restartable(sink)
    const failures: (ModelError | ToolloopError)[] = []
    const warnings: string[] = []
    let spent: Usage | undefined
    const candidates = this.#inOrder()
    for (const [at, candidate] of candidates.entries()) {
      const { model } = candidate
      try {
        const response = await model.generate(request, watched)
        candidate.restsUntil = 0
        const next = candidates[at + 1]?.model
        const declined = next && this.#declined(response, model, warnings)
        if (next === undefined || declined === undefined || watched?.restart(true) === false) {
          return answered(spent === undefined ? response : withWholeUsage(request, response), model, { failures, warnings, spent })
        }
        spent = sumOfUsage(spent, withCost(withWholeUsage(request, response).usage, model.capabilities))
        failures.push(declined)
        watched?.retry?.(instead(next, declined))
      } catch (thrown) {
        const error = toModelError(thrown, model.provider, model.model)
        const isFinal = error.code === 'aborted' || error.code === 'invalid_option'
        const isLast = at === this.#candidates.length - 1
        const isOver = isFinal || isLast || watched?.restart(true) === false
        const used = isOver ? usageOfFailure(error) : usageOfAttempt(request, error)
        const usage = used && withCost(used, model.capabilities)
        if (isFinal || (isOver && !isLast)) throw withUsage(error, sumOfUsage(spent, usage))
        if (restingCodes.has(error.code)) candidate.restsUntil = performance.now() + Math.max(this.#options.cooldownMs, retryAfterOf(error))
        spent = sumOfUsage(spent, usage)
        failures.push(error)
        const next = candidates[at + 1]?.model
        if (next !== undefined) watched?.retry?.(instead(next, error))
      }
    }
    throw allFailed(failures, this, spent)
  }

  /** Returns the error for a response that `fallbackOn` rejects. Undefined if the response is kept. */
  #declined(response: ModelResponse, { provider, model }: ChatModel, warnings: string[]): ModelError | undefined {
    const { fallbackOn } = this.#options
    try {
      if (!(typeof fallbackOn === 'function' ? syncAnswer('fallbackOn', fallbackOn(response)) === true : isDeclined(response, fallbackOn)))
        return undefined
    } catch (error) {
      warnings.push(`\`fallbackOn\` threw, and the response is kept: ${messageOf(error)}`)
      return undefined
    }
    const { finishReason } = response
    const why =
      finishReason === 'refusal' ? 'the model declined' : `\`fallbackOn\` applies to a response that ended with \`${finishReason}\``
    const code = finishReason === 'refusal' || finishReason === 'content_filter' ? finishReason : 'bad_response'
    return new ModelError(code, `${provider}/${model}: ${why}`, { provider, model, retryable: false })
  }

  /** Returns the models in the order in which they are tried: models that failed recently come last. */
  #inOrder(): readonly Candidate[] {
    const now = performance.now()
    const rests = ({ restsUntil }: Candidate) => restsUntil > now
    return [...this.#candidates.filter((candidate) => !rests(candidate)), ...this.#candidates.filter(rests)]
  }
}

function isDeclined({ finishReason, text }: ModelResponse, reasons: readonly FinishReason[]): boolean {
  return reasons.includes(finishReason) && (finishReason === 'refusal' || text.trim() === '')
}

function answered(
  response: ModelResponse,
  { provider, model, baseURL = '', api = '', capabilities }: ChatModel,
  before: { failures: readonly ToolloopError[]; warnings: readonly string[]; spent: Usage | undefined },
): ModelResponse {
  const own = wholeUsage(response.usage)
  const usage = sumOfUsage(before.spent, own && withCost(own, capabilities))
  const warnings = [
    ...before.failures.map(({ message }) => `Answered by \`${provider}/${model}\` instead: ${message}`),
    ...before.warnings,
    ...(response.warnings ?? []),
  ]
  return {
    ...response,
    provider: response.provider ?? provider,
    model: response.model ?? model,
    baseURL: response.baseURL ?? baseURL,
    api: response.api ?? api,
    ...withoutUndefined({ usage }),
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}

function allFailed(failures: readonly ToolloopError[], { provider, model }: ChatModel, usage: Usage | undefined): ToolloopError {
  // Prefers an error from a provider: a setup error, such as a missing key, says less about the request.
  const last = failures.findLast((failure) => !isSetupFault(failure)) ?? failures[0]
  const others = failures.filter((failure) => failure !== last).map(({ message }) => message)
  if (!isModelError(last) || others.length === 0) return last ?? toModelError('No model was tried', provider, model)
  const { code, message, cause: _, partial, ...fields } = last
  return new ModelError(code, `${message}. The other models: ${others.join('; ')}`, {
    ...fields,
    ...(partial === undefined && usage === undefined ? {} : { partial: { text: '', ...partial, ...withoutUndefined({ usage }) } }),
    cause: last,
  })
}

function instead({ provider, model }: ChatModel, { code, message }: ToolloopError): ModelRetry {
  return { provider, model, errorCode: code, error: message, delayMs: 0 }
}

function retryAfterOf(error: ToolloopError): number {
  return (isModelError(error) && error.retryAfterMs) || 0
}

function nameOf({ provider, model }: ChatModel): string {
  return `${provider}/${model}`
}
