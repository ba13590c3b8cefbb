import { InvalidOptionError, ModelError } from '../core/errors.ts'
import type { FinishReason } from '../core/events.ts'
import { type JsonObject, type ProviderData, type ToolCall, type Usage, withoutUndefined } from '../core/messages.ts'

/** A tool call of a scripted turn. */
export interface ScriptedCall {
  /**
   * The id of the call. Default: `call_1`, `call_2`…, unique for the lifetime of the model or the server. `''` means that the provider
   * sends no id.
   */
  id?: string
  /** The tool's name. The name is not checked, because a model may call a tool that does not exist. */
  name: string
  /**
   * The arguments. An object is sent as JSON. A string is sent verbatim, so that arguments can be broken, truncated or empty. Default:
   * `{}`.
   */
  arguments?: JsonObject | string
  /** An alias of `arguments`. */
  args?: JsonObject | string
}

/** The tokens of a scripted turn. Default of `totalTokens`: the sum of input and output tokens. */
export type ScriptedUsage = Omit<Usage, 'totalTokens'> & { totalTokens?: number }

/**
 * One answer of a model, for `scriptedModel` and `startMockProvider`. Its parts are sent in this order: reasoning, text, calls. After that,
 * the turn ends with its finish reason or with `error`, or it stays open (`hang`, `deaf`).
 */
export interface ScriptedTurn {
  /** The visible text. It is streamed in small pieces. */
  text?: string
  /**
   * The pieces in which the text is sent, instead of `text`. A promise among the pieces delays the following pieces until it has settled.
   */
  chunks?: readonly (string | PromiseLike<unknown>)[]
  /** The reasoning. It is streamed in small pieces before the text, if the format supports it. */
  reasoning?: string
  /** The calls, in order. They are sent after the text. */
  toolCalls?: readonly ScriptedCall[]
  /** Whether the pieces of several calls interleave, if the format supports it. Otherwise each call is sent as a whole. */
  interleave?: boolean
  /** The finish reason. Default: `'tool_calls'` if there are calls, otherwise `'stop'`. */
  finishReason?: FinishReason
  /** The finish reason in the provider's own words. Set it if it should differ from the default for `finishReason`. */
  rawFinishReason?: string
  /** The tokens that the turn reports. Default: no usage is reported. */
  usage?: ScriptedUsage
  /**
   * The response's `providerData`. `scriptedModel` returns it unchanged. The mock provider adds the fields of `providerData.data` to the
   * message.
   */
  providerData?: ProviderData
  /**
   * Makes the turn fail with this error after its text and calls. `scriptedModel` rejects with this object. If the turn has no other
   * content, the mock provider answers with the error's HTTP status (default: 500). Otherwise it sends the error inside the stream.
   */
  error?: Error
  /**
   * A promise that is awaited before anything is sent, so that a test can delay a turn until something else has happened. If it rejects,
   * the turn fails with its reason.
   */
  before?: PromiseLike<unknown>
  /** Whether the turn sends its content and then stays open until the request is aborted. */
  hang?: boolean
  /** Like `hang`, but the turn also ignores the abort: `generate` never settles. The mock provider treats `deaf` like `hang`. */
  deaf?: boolean
  /** The `warnings` of the response. The mock provider ignores them. */
  warnings?: readonly string[]
}

/**
 * A turn, or a function that is called when the request arrives and returns the turn. `index` counts requests from 0.
 *
 * Contract of the function: may be async. If it throws or rejects, the turn fails.
 */
export type ScriptEntry<Request, Reply> = Reply | ((request: Request, index: number) => Reply | Promise<Reply>)

/** A list of turns, one for each request, or a function that answers all requests. */
export type Script<Request, Reply> = readonly ScriptEntry<Request, Reply>[] | ((request: Request, index: number) => Reply | Promise<Reply>)

/** A piece that a turn sends, or a pause between pieces. */
export type TurnStep =
  | { type: 'reasoning'; text: string }
  | { type: 'text'; text: string }
  | { type: 'call'; index: number; id: string; name: string }
  | { type: 'arguments'; index: number; json: string }
  | { type: 'wait'; until: PromiseLike<unknown> }

type TurnEnd = { type: 'finish' } | { type: 'error'; error: Error } | { type: 'hang'; deaf: boolean }

/** A turn, converted to the steps in which it is sent, and to the complete response. */
export interface TurnPlan {
  before?: PromiseLike<unknown>
  steps: TurnStep[]
  end: TurnEnd
  text: string
  reasoning?: string
  toolCalls: ToolCall[]
  finishReason: FinishReason
  rawFinishReason?: string
  usage?: Usage
  providerData?: ProviderData
  warnings?: string[]
}

/**
 * Returns the turn at `entry` of the script, or what the script's function returns. Throws a `ModelError` that can't be retried if the
 * script has no such turn. Errors of the function are thrown unchanged.
 */
export function takeTurn<Request, Reply>(
  script: Script<Request, Reply>,
  entry: number,
  request: Request,
  index: number,
): Reply | Promise<Reply> {
  if (typeof script === 'function') return script(request, index)
  const found = script[entry]
  if (found === undefined) {
    throw new ModelError(
      'provider_error',
      `Expected the script to have a turn for request ${index + 1}, got a script of ${turns(script.length)}`,
      {
        provider: 'scripted',
        providerCode: 'script_exhausted',
        retryable: false,
      },
    )
  }
  return isEntryFunction(found) ? found(request, index) : found
}

/** Throws `invalid_option` for a contradictory turn. */
export function planTurn(turn: ScriptedTurn | string, ids: CallIds, pieceLength: number): TurnPlan {
  const { text, chunks, reasoning, toolCalls = [], ...rest } = typeof turn === 'string' ? { text: turn } : checkTurn(turn)
  const calls = toolCalls.map((call) => ({
    id: ids.take(call.id),
    type: 'function' as const,
    function: { name: call.name, arguments: argumentsText(call) },
  }))
  const pieces = chunks ?? cutIntoPieces(text ?? '', pieceLength)
  // A promise of the script may reject before it is awaited. Without this handler, the rejection would end the process.
  for (const gate of [rest.before, ...pieces]) if (typeof gate === 'object') gate.then(undefined, () => {})
  return {
    ...withoutUndefined({ before: rest.before }),
    steps: [
      ...cutIntoPieces(reasoning ?? '', pieceLength).map((piece): TurnStep => ({ type: 'reasoning', text: piece })),
      ...pieces.map((piece): TurnStep => (typeof piece === 'string' ? { type: 'text', text: piece } : { type: 'wait', until: piece })),
      ...callSteps(calls, rest.interleave === true, pieceLength),
    ],
    end: endOf(rest),
    text: pieces.filter((piece) => typeof piece === 'string').join(''),
    ...withoutUndefined({ reasoning }),
    toolCalls: calls,
    finishReason: rest.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    ...withoutUndefined({ rawFinishReason: rest.rawFinishReason }),
    ...(rest.usage === undefined ? {} : { usage: { ...rest.usage, totalTokens: rest.usage.totalTokens ?? sum(rest.usage) } }),
    ...withoutUndefined({
      providerData: rest.providerData && structuredClone(rest.providerData),
      warnings: rest.warnings && [...rest.warnings],
    }),
  }
}

/** Provides the ids of calls. Calls without an id get `call_1`, `call_2`…. Ids that the script has already used are skipped. */
export class CallIds {
  readonly #given = new Set<string>()
  #last = 0

  take(given: string | undefined): string {
    if (given !== undefined) {
      this.#given.add(given)
      return given
    }
    let id: string
    do id = `call_${++this.#last}`
    while (this.#given.has(id))
    return id
  }
}

/** Splits a text into pieces of about `length` UTF-16 units, never inside a surrogate pair. */
export function cutIntoPieces(text: string, length: number): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + length, text.length)
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last <= 0xdbff && end < text.length) end++
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

export function checkPieceLength(length: number): number {
  if (!Number.isInteger(length) || length < 1) throw new InvalidOptionError('pieceLength', 'an integer ≥ 1', length)
  return length
}

function callSteps(calls: readonly ToolCall[], interleave: boolean, pieceLength: number): TurnStep[] {
  const perCall = calls.map((call, index): TurnStep[] => [
    { type: 'call', index, id: call.id, name: call.function.name },
    ...cutIntoPieces(call.function.arguments, pieceLength).map((json): TurnStep => ({ type: 'arguments', index, json })),
  ])
  if (!interleave) return perCall.flat()
  const longest = Math.max(0, ...perCall.map((steps) => steps.length))
  return Array.from({ length: longest }, (_, round) => perCall.flatMap((steps) => steps.slice(round, round + 1))).flat()
}

function argumentsText({ arguments: given, args }: ScriptedCall): string {
  const value = given ?? args ?? {}
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function endOf({ error, hang, deaf }: ScriptedTurn): TurnEnd {
  if (deaf === true || hang === true) return { type: 'hang', deaf: deaf === true }
  return error === undefined ? { type: 'finish' } : { type: 'error', error }
}

function checkTurn(turn: ScriptedTurn): ScriptedTurn {
  if (typeof turn !== 'object' || turn === null) throw new InvalidOptionError('turn', 'a string or a turn object', turn)
  if (turn.text !== undefined && turn.chunks !== undefined)
    throw new InvalidOptionError('turn', 'either `text` or `chunks`, not both', turn)
  if (turn.error !== undefined && (turn.hang || turn.deaf)) {
    throw new InvalidOptionError('turn', 'either an `error` or a turn that hangs, not both', turn)
  }
  return turn
}

function isEntryFunction<Request, Reply>(
  entry: ScriptEntry<Request, Reply>,
): entry is (request: Request, index: number) => Reply | Promise<Reply> {
  return typeof entry === 'function'
}

function sum({ inputTokens, outputTokens }: ScriptedUsage): number {
  return inputTokens + outputTokens
}

function turns(count: number): string {
  return count === 1 ? '1 turn' : `${count} turns`
}
