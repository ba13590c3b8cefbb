import pTimeout from 'p-timeout'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, messageOf, show, ToolloopError } from '../../core/errors.ts'
import { copyAsJson, isDeepEqual, jsonOrText } from '../../core/json.ts'
import { type ChatMessage, isJsonObject, type Json, type JsonObject, noUsage, withoutUndefined } from '../../core/messages.ts'
import { runSettings } from '../options/run-settings.ts'
import type { SettingRow } from '../options/setting-row.ts'
import { errorOf, type Failed } from '../run/run-error.ts'
import type {
  OutputOptions,
  Restored,
  RestoredName,
  RunnerOptions,
  RunOptions,
  RunResult,
  RunSettings,
  RunToRestore,
} from '../types/options.ts'
import type { Spent } from '../types/result.ts'

/** The data that another process needs to continue a run, besides the model, the tools and the callbacks of its runner. */
export interface DurableInput {
  instructions?: string
  /** The id of the run's session, which has the earlier messages. */
  session?: string
  /** The id of a message in the session. The run replaces this message and all messages after it. */
  replaces?: string
  /** The conversation, ending with the new input. */
  messages: readonly ChatMessage[]
  /** How many of the messages are older than this run. */
  given: number
  /** Whether the run listens to a `RunControl`. */
  steerable?: boolean
  /** Whether the earlier messages come from the agent's own `history`. */
  ownHistory?: boolean
  /** The reason of the guardrail that stopped the run before it started. */
  refused?: string
  /** The usage of the guardrails that checked the input. */
  beside?: Spent
  /** The options of the run that can't be stored. A process needs them to continue the run. */
  needs?: readonly RestoredName[]
  /** A digest of the run's input, session and metadata as they were passed in. */
  inputDigest?: string
  settings: RunSettings<never>
}

export function inputToJson({ settings, ...input }: DurableInput): Json {
  const { toolCalling, limits = {}, compaction } = settings
  const plainSettings: RunSettings<never> = {
    ...settings,
    // Functions can't be stored, so dialect objects and the functions of `compaction` are left out.
    toolCalling: typeof toolCalling === 'string' ? toolCalling : undefined,
    limits,
    compaction: compaction && { maxTokens: compaction.maxTokens },
  }
  const stored = { ...pick('json', plainSettings), ...mapNumbers(pick('numbers', plainSettings), writeInfinity) }
  return plain({ ...input, settings: stored })
}

/** Restores the input of a run from its JSON. Throws `invalid_option` for JSON that was not written by `inputToJson`. */
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

/** Returns a copy in which `map` has converted every limit, also in nested objects. Undefined fields are left out. */
function mapNumbers(limits: object, map: (limit: unknown) => unknown): Record<string, unknown> {
  const entries = Object.entries(limits).filter(([, limit]) => limit !== undefined)
  return Object.fromEntries(entries.map(([name, limit]) => [name, isJsonObject(limit) ? mapNumbers(limit, map) : map(limit)]))
}

/** Converts a result to JSON. Leaves out the return values of tools. Keeps only the code and message of an error. */
export function resultToJson({ toolCalls, error, ...result }: RunResult): Json {
  const calls = toolCalls.map(({ value: _, ...call }) => call)
  return plain({ ...result, toolCalls: calls, ...withoutUndefined({ error: error && { code: error.code, message: error.message } }) })
}

/** The result of a run that is given up. Contains only the run's input: everything later exists only in the run's record. */
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

/** The parts of a result that exist only in the process that executed the run. */
interface Process extends Failed {
  readonly values: ReadonlyMap<string, unknown>
}

/**
 * Restores a result from JSON. If the run ended in this process, the result has the values that the tools returned and the original error.
 */
export function resultFromJson(json: Json, run: Process): RunResult {
  const { error, ...result } = json as never as Omit<RunResult, 'error'> & { error?: Pick<ToolloopError, 'code' | 'message'> }
  const toolCalls = result.toolCalls.map((call) => (run.values.has(call.id) ? { ...call, value: run.values.get(call.id) } : call))
  return { ...result, toolCalls, ...withoutUndefined({ error: error && errorOf(run, error) }) } as RunResult
}

function plain(value: object): Json {
  return copyAsJson(value) as Json
}

/** Shortens a result for storage: leaves out data that its messages also contain. `wholeResult` restores this data. */
export function thinResult(result: Json): Json {
  if (!isJsonObject(result) || !Array.isArray(result.newMessages) || !Array.isArray(result.toolCalls)) return result
  const { messages, newMessages, toolCalls } = result
  const calls = callsIn(newMessages)
  const isEnd = Array.isArray(messages) && newMessages.length > 0 && isDeepEqual(messages.slice(-newMessages.length), newMessages)
  return { ...result, newMessages: isEnd ? newMessages.length : newMessages, toolCalls: toolCalls.map((call) => thinCall(call, calls)) }
}

/** Restores a result that `thinResult` has shortened. */
export function wholeResult(stored: Json): Json {
  if (!isJsonObject(stored) || !Array.isArray(stored.toolCalls)) return stored
  const { messages, newMessages: added, toolCalls } = stored
  const newMessages = typeof added === 'number' && Array.isArray(messages) ? messages.slice(messages.length - added) : added
  if (!Array.isArray(newMessages)) return stored
  const calls = callsIn(newMessages)
  return { ...stored, newMessages, toolCalls: toolCalls.map((call) => wholeCall(call, calls)) }
}

/** The data that messages contain about a call. */
interface SaidCall {
  args?: string
  content?: Json
}

function callsIn(messages: readonly Json[]): ReadonlyMap<Json | undefined, SaidCall> {
  const calls = new Map<Json | undefined, SaidCall>()
  const note = (id: Json | undefined, said: SaidCall) => calls.set(id, { ...calls.get(id), ...said })
  for (const message of messages) {
    if (!isJsonObject(message)) continue
    if (message.role === 'tool' && message.content !== undefined) note(message.toolCallId, { content: message.content })
    for (const call of Array.isArray(message.toolCalls) ? message.toolCalls : []) {
      if (isJsonObject(call) && isJsonObject(call.function)) note(call.id, { args: String(call.function.arguments) })
    }
  }
  return calls
}

function thinCall(call: Json, calls: ReturnType<typeof callsIn>): Json {
  if (!isJsonObject(call)) return call
  const { args, rawArguments, content, ...rest } = call
  const said = calls.get(call.id)
  // `args` and `rawArguments` are left out together, because a call with only `rawArguments` had arguments that could not be parsed.
  const isWritten = said?.args !== undefined && rawArguments === said.args && isDeepEqual(args, jsonOrText(said.args))
  const thin: JsonObject = { ...rest }
  if (!isWritten && args !== undefined) thin.args = args
  if (!isWritten && rawArguments !== undefined) thin.rawArguments = rawArguments
  if (content !== undefined && !isDeepEqual(content, said?.content)) thin.content = content
  return thin
}

function wholeCall(call: Json, calls: ReturnType<typeof callsIn>): Json {
  if (!isJsonObject(call)) return call
  const { args, content } = calls.get(call.id) ?? {}
  const whole: JsonObject = { ...call }
  if (args !== undefined && !('rawArguments' in call)) Object.assign(whole, { args: jsonOrText(args), rawArguments: args })
  if (content !== undefined && !('content' in call)) whole.content = content
  return whole
}

const restoredNames: OptionNames<Restored> = {
  context: true,
  tools: true,
  model: true,
  hooks: true,
  plan: true,
  around: true,
  guardrails: true,
  approve: true,
  budget: true,
  output: true,
  stopWhen: true,
  compaction: true,
  toolCalling: true,
  telemetry: true,
}

const names = Object.keys(restoredNames) as RestoredName[]

type Given = RunOptions<never> & Partial<OutputOptions>

/** The names of the options in `options` that can't be stored with a run. */
export function notStored(options: Given): RestoredName[] {
  return names.filter((name) => isGiven(options[name]) && !isStored(name, options))
}

/** The names in `needs` for which `options` has no value. */
export function lackingIn(options: Given, needs: readonly RestoredName[] = []): RestoredName[] {
  return needs.filter((name) => !isGiven(options[name]))
}

function isStored(name: RestoredName, { compaction, toolCalling }: Given): boolean {
  if (name === 'compaction') return compaction?.estimate === undefined && compaction?.summarise === undefined
  return name === 'toolCalling' && typeof toolCalling === 'string'
}

/** Whether an option is given. null counts as missing, because databases often return null for a missing value. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

interface Lacking {
  restore: RunnerOptions<never>['restore']
  run: RunToRestore
  lacks: readonly RestoredName[]
  timeoutMs: number
}

/**
 * Calls `restore`, and returns only the missing options. Rejects with `not_restored` if `restore` is absent, fails, or leaves one of them
 * out.
 */
export async function askRestore({ restore, run, lacks, timeoutMs }: Lacking): Promise<Partial<Restored<never>>> {
  const failed = (why: string, cause?: unknown) => {
    const started = lacks.map((name) => `\`${name}\``).join(', ')
    const message = `Run \`${run.runId}\` was started with ${started}: ${why}. Nothing of it is executed here`
    return new ToolloopError('not_restored', message, cause === undefined ? undefined : { cause })
  }
  if (restore === undefined) throw failed('the runner has no `restore` that supplies it')
  let restored: Partial<Restored<never>>
  try {
    const late = new DOMException(`it took longer than ${timeoutMs} ms`, 'TimeoutError')
    restored = await pTimeout((async () => restore(run))(), { milliseconds: timeoutMs, message: late })
    checkOptionNames(restored, restoredNames, '`restore`', 'restore')
  } catch (error) {
    throw failed(`\`restore\` failed: ${messageOf(error)}`, error)
  }
  const missing = lackingIn(restored as Given, lacks)
  if (missing.length > 0) throw failed(`\`restore\` gave ${missing.map((name) => `${show(restored[name])} as \`${name}\``).join(', ')}`)
  return Object.fromEntries(lacks.map((name) => [name, restored[name]]))
}
