import { InvalidOptionError, type ToolloopError } from '../../core/errors.ts'
import { copyAsJson } from '../../core/json.ts'
import { type ChatMessage, isJsonObject, type Json } from '../../core/messages.ts'
import type { PlainError } from '../recorded.ts'
import type { RunResult, RunSettings } from '../types.ts'

/** All a run needs to be taken up again in another process, but for what its runner has: model, tools, callbacks. */
export interface DurableInput {
  instructions?: string
  /** The conversation with the new input at its end. */
  messages: readonly ChatMessage[]
  /** How many of them were there before this run. */
  given: number
  /** Whether it listens to a `RunControl`. */
  steerable?: boolean
  /** Why a guardrail stopped it before it began. */
  refused?: string
  settings: RunSettings<never>
}

export function inputToJson({ settings, ...input }: DurableInput): Json {
  // Named one by one: what belongs to the process or is the caller's own (signal, context, callbacks, tools) must not be stored.
  const {
    maxIterations,
    toolTimeoutMs,
    toolConcurrency,
    maxResultBytes,
    maxArgumentValues,
    streamIdleTimeoutMs,
    onLimit,
    toolCalling,
    enableToolActionParsing,
    fencedTags,
    toolChoice,
    parallelToolCalls,
    stream,
    providerOptions,
    decisionTimeoutMs,
    remembered,
    activeTools,
    outputRetries,
    throwOnError,
    compaction,
    temperature,
    topP,
    maxOutputTokens,
    stop,
    seed,
    frequencyPenalty,
    presencePenalty,
    reasoningEffort,
  } = settings
  const sampling = { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort }
  const rest = {
    maxIterations,
    toolConcurrency,
    maxResultBytes,
    onLimit,
    // A dialect is code: one that only this run was given is gone with the process.
    ...(typeof toolCalling === 'string' ? { toolCalling } : {}),
    enableToolActionParsing,
    fencedTags,
    toolChoice,
    parallelToolCalls,
    stream,
    providerOptions,
    remembered,
    activeTools,
    outputRetries,
    throwOnError,
  }
  const bounds = {
    maxArgumentValues,
    toolTimeoutMs,
    streamIdleTimeoutMs,
    decisionTimeoutMs,
    limits: settings.limits ?? {},
    ...(compaction === undefined ? {} : { compaction: { maxTokens: compaction.maxTokens } }),
  }
  return plain({ ...input, settings: { ...rest, ...sampling, ...(mapBounds(bounds, writeInfinity) as object) } })
}

/** The input as it was. Throws `invalid_option` for what no `inputToJson` has written. */
export function inputFromJson(json: Json): DurableInput {
  const input = json as never as DurableInput
  const { messages, settings }: Partial<DurableInput> = input
  if (!Array.isArray(messages) || !isJsonObject(settings)) {
    throw new InvalidOptionError('state.input', 'what a run was started with: its messages and settings', json)
  }
  const { maxArgumentValues, toolTimeoutMs, streamIdleTimeoutMs, decisionTimeoutMs, limits, compaction } = input.settings
  const bounds = { maxArgumentValues, toolTimeoutMs, streamIdleTimeoutMs, decisionTimeoutMs, limits, compaction }
  return { ...input, settings: { ...input.settings, ...(mapBounds(bounds, readInfinity) as object) } }
}

/** JSON has no infinity, which many bounds may be: this word stands for it. */
const infinity = 'Infinity'
const writeInfinity = (value: unknown): unknown => (value === Number.POSITIVE_INFINITY ? infinity : value)
const readInfinity = (value: unknown): unknown => (value === infinity ? Number.POSITIVE_INFINITY : value)

/** A copy of bounds, nested as they are, without those that are undefined. */
function mapBounds(bounds: object, map: (bound: unknown) => unknown): unknown {
  const entries = Object.entries(bounds).filter(([, bound]) => bound !== undefined)
  return Object.fromEntries(entries.map(([name, bound]) => [name, isJsonObject(bound) ? mapBounds(bound, map) : map(bound)]))
}

/** The result without the values tools returned; of an error, its code and words. */
export function resultToJson({ toolCalls, error, ...result }: RunResult): Json {
  const calls = toolCalls.map(({ value: _, ...call }) => call)
  return plain({ ...result, toolCalls: calls, ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }) })
}

/** What of a result is not recorded. */
interface Process {
  readonly values: ReadonlyMap<string, unknown>
  errorOf(error: PlainError): ToolloopError
}

/** The result as the loop returned it; values and the error itself are there if the run ended in this process. */
export function resultFromJson(json: Json, run: Process): RunResult {
  const { error, ...result } = json as never as Omit<RunResult, 'error'> & { error?: Pick<ToolloopError, 'code' | 'message'> }
  const toolCalls = result.toolCalls.map((call) => (run.values.has(call.id) ? { ...call, value: run.values.get(call.id) } : call))
  return { ...result, toolCalls, ...(error === undefined ? {} : { error: run.errorOf(error) }) }
}

function plain(value: object): Json {
  return copyAsJson(value) as Json
}
