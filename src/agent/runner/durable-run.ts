import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import { copyAsJson } from '../../core/json.ts'
import { type ChatMessage, isJsonObject, type Json, noUsage, withoutUndefined } from '../../core/messages.ts'
import { runSettings } from '../options/run-settings.ts'
import type { SettingRow } from '../options/setting-row.ts'
import { errorOf, type Failed } from '../run/run-error.ts'
import type { RestoredName, RunResult, RunSettings } from '../types/options.ts'
import type { Spent } from '../types/result.ts'

/** Everything that another process needs to continue a run, except what its runner has: model, tools, callbacks. */
export interface DurableInput {
  instructions?: string
  /** The id of its session, which has the earlier messages. */
  session?: string
  /** The message of the session that it replaces, with all that follow. */
  replaces?: string
  /** The conversation, ending with the new input. */
  messages: readonly ChatMessage[]
  /** How many of the messages are from before this run. */
  given: number
  /** Whether it listens to a `RunControl`. */
  steerable?: boolean
  /** The earlier messages come from a history that its agent keeps itself. */
  ownHistory?: boolean
  /** Why a guardrail stopped it before it began. */
  refused?: string
  /** The usage of its guardrails by then. */
  beside?: Spent
  /** The options that it was given and that are not stored. They are required to continue it. */
  needs?: readonly RestoredName[]
  /** Digest of its input, session and metadata as they were passed in. */
  inputDigest?: string
  settings: RunSettings<never>
}

export function inputToJson({ settings, ...input }: DurableInput): Json {
  const { toolCalling, limits = {}, compaction } = settings
  const plainSettings: RunSettings<never> = {
    ...settings,
    // Functions are not stored: neither a dialect that was passed to this run alone, nor those of `compaction`.
    toolCalling: typeof toolCalling === 'string' ? toolCalling : undefined,
    limits,
    compaction: compaction && { maxTokens: compaction.maxTokens },
  }
  const stored = { ...pick('json', plainSettings), ...mapNumbers(pick('numbers', plainSettings), writeInfinity) }
  return plain({ ...input, settings: stored })
}

/** Restores the input. Throws `invalid_option` for JSON that `inputToJson` did not write. */
export function inputFromJson(json: Json): DurableInput {
  const input = json as never as DurableInput
  const { messages, settings }: Partial<DurableInput> = input
  if (!Array.isArray(messages) || !isJsonObject(settings)) {
    throw new InvalidOptionError('state.input', 'the recorded input of a run: its messages and settings', json)
  }
  return { ...input, settings: { ...settings, ...mapNumbers(pick('numbers', settings), readInfinity) } }
}

function pick(how: SettingRow['stored'], settings: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => isSetting(name) && runSettings[name].stored === how))
}

function isSetting(name: string): name is keyof RunSettings {
  return Object.hasOwn(runSettings, name)
}

/** Stands for infinity, which JSON does not have. */
const infinity = 'Infinity'
const writeInfinity = (value: unknown): unknown => (value === Number.POSITIVE_INFINITY ? infinity : value)
const readInfinity = (value: unknown): unknown => (value === infinity ? Number.POSITIVE_INFINITY : value)

/** A copy with every number mapped, also in nested objects, without undefined fields. */
function mapNumbers(limits: object, map: (limit: unknown) => unknown): Record<string, unknown> {
  const entries = Object.entries(limits).filter(([, limit]) => limit !== undefined)
  return Object.fromEntries(entries.map(([name, limit]) => [name, isJsonObject(limit) ? mapNumbers(limit, map) : map(limit)]))
}

/** The result as JSON: without the values that tools returned, and with only the code and message of an error. */
export function resultToJson({ toolCalls, error, ...result }: RunResult): Json {
  const calls = toolCalls.map(({ value: _, ...call }) => call)
  return plain({ ...result, toolCalls: calls, ...withoutUndefined({ error: error && { code: error.code, message: error.message } }) })
}

/** The result of a run that is given up. It has only the input: everything since is in the run's record alone. */
export function givenUpToJson(runId: string, { messages, given, instructions }: DurableInput, why: string): Json {
  const system: ChatMessage[] = instructions === undefined ? [] : [{ role: 'system', content: instructions }]
  return resultToJson({
    runId,
    output: '',
    text: '',
    messages: [...system, ...messages],
    newMessages: messages.slice(given),
    stopReason: 'aborted',
    usage: noUsage,
    iterations: 0,
    steps: [],
    toolCalls: [],
    pending: [],
    error: new ToolloopError('aborted', `The run was aborted: ${why}`),
  })
}

/** The parts of a result that are not recorded. */
interface Process extends Failed {
  readonly values: ReadonlyMap<string, unknown>
}

/** The result as the loop returned it. It has values and the error itself if the run ended in this process. */
export function resultFromJson(json: Json, run: Process): RunResult {
  const { error, ...result } = json as never as Omit<RunResult, 'error'> & { error?: Pick<ToolloopError, 'code' | 'message'> }
  const toolCalls = result.toolCalls.map((call) => (run.values.has(call.id) ? { ...call, value: run.values.get(call.id) } : call))
  return { ...result, toolCalls, ...withoutUndefined({ error: error && errorOf(run, error) }) } as RunResult
}

function plain(value: object): Json {
  return copyAsJson(value) as Json
}
