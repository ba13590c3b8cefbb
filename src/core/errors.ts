import type { Usage } from './messages.ts'

/**
 * The party at fault for an error. The fault determines how the error is handled. Errors of the model and of tools go back to the model as
 * the call's result. Errors of the programmer are thrown at once. After an error of the provider, the request is retried; if the
 * retries fail, the run ends. Errors of the caller end the run.
 */
export type Fault = 'programmer' | 'model' | 'tool' | 'provider' | 'caller'

/** All error codes. The table in docs/errors.md is generated from this list. */
const codes = {
  invalid_option: {
    fault: 'programmer',
    meaning: 'An option is unknown or has an invalid value; thrown before anything is sent.',
  },
  invalid_tool: {
    fault: 'programmer',
    meaning: 'A tool definition is invalid: a bad name, a bad schema, or a name that is already taken.',
  },
  invalid_message: { fault: 'programmer', meaning: 'A message that you passed in does not have the shape of a message.' },
  unknown_provider: { fault: 'programmer', meaning: 'No provider has this name.' },
  missing_dependency: { fault: 'programmer', meaning: 'An optional package is needed but not installed.' },
  missing_api_key: {
    fault: 'programmer',
    meaning: 'The provider needs an API key, and neither the settings nor the environment have one.',
  },
  backend_failed: { fault: 'programmer', meaning: 'The loop of the selected backend failed during a run.' },
  tool_not_found: { fault: 'model', meaning: 'The model called a tool that does not exist.' },
  unreadable_call: { fault: 'model', meaning: 'The model wrote a call as text, and it could not be read.' },
  invalid_arguments_json: { fault: 'model', meaning: 'The arguments of a call are not a JSON object.' },
  invalid_arguments: { fault: 'model', meaning: "The arguments of a call do not fit the tool's schema." },
  invalid_output: { fault: 'model', meaning: "The model's answer does not fit the schema of the output." },
  tool_call_truncated: { fault: 'model', meaning: 'The response was cut before the call was complete; the call did not run.' },
  mcp_server_failed: { fault: 'tool', meaning: 'An MCP server could not be started.' },
  mcp_sign_in_needed: { fault: 'caller', meaning: 'Somebody has to sign in to an MCP server first.' },
  tool_failed: { fault: 'tool', meaning: 'The tool threw or rejected.' },
  tool_timeout: { fault: 'tool', meaning: 'The tool did not finish within its time limit.' },
  tool_denied: { fault: 'caller', meaning: 'The call was refused by an approval or a rule.' },
  tool_cancelled: { fault: 'caller', meaning: 'The run ended before the call finished.' },
  tool_uncertain: {
    fault: 'caller',
    meaning: 'The run was interrupted while the call was in flight; it is not known whether it took effect.',
  },
  guardrail: { fault: 'caller', meaning: 'A guardrail stopped the run, or withheld an answer.' },
  hook_failed: { fault: 'programmer', meaning: "A hook failed whose `onFailure` is `'refuse'`, and the run was stopped." },
  too_deep: { fault: 'programmer', meaning: 'Runs were nested more deeply than `limits.depth` of the outermost run allows.' },
  already_resumed: { fault: 'caller', meaning: 'Another caller is resuming, or has resumed, the same paused state.' },
  unknown_run: { fault: 'caller', meaning: 'The journal has no run with that id.' },
  run_id_taken: {
    fault: 'caller',
    meaning: 'The journal has a run with that id, and it was started with another input, session or metadata.',
  },
  runner_closed: { fault: 'caller', meaning: 'The runner was closed: it starts no runs and no longer owns its recorded runs.' },
  not_restored: {
    fault: 'programmer',
    meaning: 'The runner’s `restore` did not supply what the run was started with. Nothing was executed; the run is unchanged.',
  },
  decision_refused: {
    fault: 'caller',
    meaning: 'A decision was not stored: nothing waits for it, it was made for another call, it came too late, or one was already made.',
  },
  run_taken_over: { fault: 'caller', meaning: 'Another process executes the run now; nothing more is recorded here.' },
  journal_failed: {
    fault: 'caller',
    meaning:
      'The journal could not be read or written: a full disk, a locked or damaged file, a file of a newer version, or a database that can’t be reached.',
  },
  session_busy: {
    fault: 'caller',
    meaning: 'Another run is in progress in the session, and `onBusy` is `refuse`, or both would wait for each other.',
  },
  session_waiting: {
    fault: 'caller',
    meaning: 'A run of the session waits for a decision: resume or cancel it, or take the session from it with `release`.',
  },
  session_lost: {
    fault: 'caller',
    meaning: 'The session was deleted or taken from the run while it was in progress; its messages were not stored.',
  },
  unknown_session: { fault: 'caller', meaning: 'There is no session with that id.' },
  session_failed: {
    fault: 'caller',
    meaning: 'Sessions could not be read or written: a full disk, a lost connection, missing tables, or a damaged message.',
  },
  budget_spent: { fault: 'caller', meaning: 'A `Budget`, or the `limits` of the run, do not allow the request; it was not sent.' },
  aborted: { fault: 'caller', meaning: 'The caller aborted the run.' },
  deadline: { fault: 'caller', meaning: "The run's deadline passed." },
  connection_failed: { fault: 'provider', meaning: 'The provider could not be reached, or the connection broke before the first byte.' },
  provider_error: { fault: 'provider', meaning: 'The provider answered with an error.' },
  rate_limited: {
    fault: 'provider',
    meaning: 'The provider refused: too many requests or tokens at once, or, if `retryable` is false, no credit.',
  },
  queue_full: { fault: 'caller', meaning: 'More requests wait for a provider than `rateLimits.maxQueued` allows.' },
  unauthorized: { fault: 'provider', meaning: 'The provider refused the API key.' },
  stream_idle: {
    fault: 'provider',
    meaning: 'The provider sent nothing for longer than the idle limit, or nothing but comments and pings for longer than the stall limit.',
  },
  stream_cut: { fault: 'provider', meaning: 'The stream ended before the response was complete.' },
  bad_response: { fault: 'provider', meaning: 'The provider sent something that is not a response.' },
  empty_response: { fault: 'provider', meaning: 'The model answered with neither text nor calls, twice.' },
  content_filter: { fault: 'provider', meaning: "The provider's content filter stopped the response." },
  refusal: { fault: 'provider', meaning: 'The model declined to answer.' },
  replay_differs: {
    fault: 'caller',
    meaning: 'A run that plays a recording sent a request or made a call that differs from the recorded one.',
  },
  context_overflow: { fault: 'provider', meaning: "The conversation is longer than the model's context window." },
} as const

/**
 * The code of a `ToolloopError`.
 *
 * @see [error codes](docs/errors.md)
 */
export type ErrorCode = keyof typeof codes
/** The fault and the meaning of each error code. */
export const errorCodes: Readonly<Record<ErrorCode, { fault: Fault; meaning: string }>> = codes

const brand: symbol = Symbol.for('toolloop.error')

/** The base class of all errors that this package throws or reports. */
export class ToolloopError extends Error {
  override readonly name: string = 'ToolloopError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    Object.defineProperty(this, brand, { value: true })
  }

  /** The party at fault for this error. */
  get fault(): Fault {
    return errorCodes[this.code].fault
  }

  /** True for an error from any installed copy of this package. `instanceof` recognizes only errors from the same copy. */
  static isInstance(value: unknown): value is ToolloopError {
    try {
      return typeof value === 'object' && value !== null && brand in value
    } catch {
      return false // A revoked proxy can't be an error of this package.
    }
  }

  /** The name, the code, the message and the other fields of the error, without its stack and its cause. */
  toJSON(): Record<string, unknown> {
    const fields: object = { ...this }
    return { ...fields, name: this.name, code: this.code, message: this.message }
  }
}

const setupCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_option',
  'missing_api_key',
  'missing_dependency',
  'unknown_provider',
])

/** Whether the error is a setup problem, such as a missing key, that the programmer must fix before any request can be sent. */
export function isSetupFault(error: unknown): error is ToolloopError {
  return ToolloopError.isInstance(error) && setupCodes.has(error.code)
}

/**
 * The error for an invalid option or definition. The message contains the expected value. It also contains the received value, unless that
 * may be a secret.
 */
export class InvalidOptionError extends ToolloopError {
  override readonly name = 'InvalidOptionError'

  constructor(option: string, expected: string, ...got: [got: unknown] | []) {
    super('invalid_option', `Expected \`${option}\` to be ${expected}${got.length === 0 ? '' : `, got \`${show(got[0])}\``}`)
  }
}

/**
 * Thrown by `ToolAgent.generate()` when a call's arguments are not a JSON object. Has the tool's name and the raw text of the arguments.
 */
export class ToolArgumentsError extends ToolloopError {
  override readonly name = 'ToolArgumentsError'
  readonly toolName: string
  readonly rawArguments: string

  constructor(toolName: string, rawArguments: string, problem: string) {
    super('invalid_arguments_json', `Arguments of tool \`${toolName}\` are not a JSON object: ${problem}. Received: ${rawArguments}`)
    this.toolName = toolName
    this.rawArguments = rawArguments
  }
}

/** The details of a provider's failure. */
export interface ModelErrorFields {
  provider: string
  model?: string
  /** The HTTP status, if a response arrived. */
  status?: number
  /** The provider's own error type or code, such as `overloaded_error`. */
  providerCode?: string
  requestId?: string
  /** Whether a retry may help. The driver decides, because it understands the failure. */
  retryable: boolean
  /** How long the provider asks to wait, in milliseconds. */
  retryAfterMs?: number
  /** The part of the response that arrived before the failure. */
  partial?: { text: string; reasoning?: string; usage?: Usage }
  cause?: unknown
}

/** A failed model request. The cause is the provider or the connection to it. */
export class ModelError extends ToolloopError {
  override readonly name = 'ModelError'
  readonly provider: string
  readonly model?: string
  /** The HTTP status, if a response arrived. */
  readonly status?: number
  /** The provider's own error type or code, such as `overloaded_error`. */
  readonly providerCode?: string
  readonly requestId?: string
  /** Whether a retry may help. */
  readonly retryable: boolean
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs?: number
  /** The part of the response that arrived before the failure. */
  readonly partial?: ModelErrorFields['partial']

  constructor(code: ErrorCode, message: string, { cause, ...fields }: ModelErrorFields) {
    super(code, message, cause === undefined ? undefined : { cause })
    this.provider = fields.provider
    this.retryable = fields.retryable
    if (fields.model !== undefined) this.model = fields.model
    if (fields.status !== undefined) this.status = fields.status
    if (fields.providerCode !== undefined) this.providerCode = fields.providerCode
    if (fields.requestId !== undefined) this.requestId = fields.requestId
    if (fields.retryAfterMs !== undefined) this.retryAfterMs = fields.retryAfterMs
    if (fields.partial !== undefined) this.partial = fields.partial
  }
}

const maxShown = 200

/** Renders any value for a message. Never throws; cuts long values. */
export function show(value: unknown): string {
  // Cuts the text before quoting it: a text from a model may be megabytes long.
  if (typeof value === 'string') return clip(JSON.stringify(value.slice(0, maxShown + 1)), value.length)
  const text = rendered(value)
  return clip(text, text.length)
}

/** Cuts a long `text` to 200 characters and appends `length`, the number of characters of the original. */
export function clip(text: string, length: number = text.length): string {
  return text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()}… (${length} characters)` : text
}

function rendered(value: unknown): string {
  try {
    if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`
    if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value)
    if (value instanceof Error) return `${value.name}: ${value.message}`
    return JSON.stringify(value) ?? Object.prototype.toString.call(value)
  } catch {
    return kindOf(value)
  }
}

function kindOf(value: unknown): string {
  try {
    return Object.prototype.toString.call(value)
  } catch {
    return `[unreadable ${typeof value}]` // The value is a revoked proxy, or has a getter that throws.
  }
}

/**
 * Returns the message of a thrown value, even if the value is not an Error. Never throws. The message is empty only if an empty text was
 * thrown.
 */
export function messageOf(thrown: unknown): string {
  if (thrown === undefined) return 'failed without saying why'
  if (typeof thrown === 'string') return thrown
  return ownMessage(thrown) ?? show(thrown)
}

function ownMessage(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined
  try {
    // An error that combines several errors, such as a failed connection to a host with several addresses, often has no message.
    const errors: unknown[] = 'errors' in thrown && Array.isArray(thrown.errors) ? thrown.errors : []
    for (const one of [thrown, ...errors]) {
      const message: unknown = typeof one === 'object' && one !== null && 'message' in one ? one.message : undefined
      if (typeof message === 'string' && message !== '') return message
    }
    return thrown instanceof Error && typeof thrown.name === 'string' && thrown.name !== '' ? thrown.name : undefined
  } catch {
    return undefined
  }
}

/** Returns the stack of a thrown Error. Never throws. */
export function stackOf(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : undefined
  } catch {
    return undefined // The value is a proxy or has a getter that throws.
  }
}

/**
 * Returns the thrown value if all of its fields, at any depth, can be read. If not, returns an Error with the same message, so that error
 * handling doesn't fail on a revoked proxy or a throwing getter.
 */
export function readableError(thrown: unknown): unknown {
  return isReadable(thrown, 8) ? thrown : new Error(messageOf(thrown))
}

function isReadable(value: unknown, depth: number): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || depth === 0) return true
  try {
    for (const field of ['name', 'message', 'stack', 'code']) Reflect.get(value, field)
    void [value instanceof Error, Object.values(value)]
    const errors: unknown = Reflect.get(value, 'errors')
    return [Reflect.get(value, 'cause'), ...(Array.isArray(errors) ? errors : [])].every((inside) => isReadable(inside, depth - 1))
  } catch {
    return false
  }
}

/**
 * Rethrows the error. Used as the `catch` handler for the `import()` of an optional package, together with a `try` around the import.
 * Without the `catch`, esbuild could not bundle an import of a package that is not installed. Without the `try`, Turbopack could not.
 */
export function rethrow(error: unknown): never {
  throw error
}
