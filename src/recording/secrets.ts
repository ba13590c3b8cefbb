import { InvalidOptionError } from '../core/errors.ts'
import { isJsonObject, setField } from '../core/messages.ts'
import { redactTextInParts, secretTexts } from '../core/redaction/redact.ts'
import { isSecretKey } from '../core/redaction/secret-keys.ts'
import { SecretTexts } from '../core/redaction/secret-texts.ts'
import { REDACTED } from '../core/redaction/spans.ts'
import type { InParts } from '../core/time/give-way.ts'
import { callsIn } from './describe.ts'
import {
  isCall,
  type RecordedInput,
  type RecordedModelRequest,
  type RecordedPieces,
  type RecordedRequest,
  type RecordedRun,
  type RecordedStep,
  requestsOf,
} from './format.ts'
import { NotedPieces } from './noted-pieces.ts'

const mostShown = 32
const valuesInOnePart = 1_000

/**
 * Returns the texts of an option `secrets`. Throws `invalid_option` if the option is not a list. A single text is also refused, because
 * each of its characters would count as a secret.
 */
export function secretsOf(given: Iterable<string> = []): string[] {
  if (typeof given !== 'object' || given === null || !(Symbol.iterator in given)) throw new InvalidOptionError('secrets', 'texts', given)
  const texts = [...given]
  const wrong = texts.findIndex((text) => typeof text !== 'string')
  if (wrong >= 0) throw new InvalidOptionError(`secrets[${wrong}]`, 'a string', texts[wrong])
  return texts
}

/**
 * Removes secrets from recordings. Hides values whose names suggest a secret, and arguments that a tool lists in `secrets`. Also hides
 * texts that look like a key, and every occurrence of a known secret. Methods that return `InParts` can be paused, because a recording may
 * be long.
 */
export class RecordingSecrets {
  readonly #keys = new Set<string>()
  readonly #texts: SecretTexts
  /** Messages whose calls have already been searched for secrets. */
  #learned = new WeakSet<object>()
  /** Caches the redacted forms of frozen values. The cache is replaced when a new secret is found. */
  #seen = new WeakMap<object, object>()
  /** Caches redacted texts. A model's text occurs in its response, in the streamed chunks, and in the next request. */
  #shown = new Map<string, string>()
  #visited = 0

  constructor(secrets: Iterable<string> = []) {
    this.#texts = new SecretTexts(secrets)
  }

  /** The number of known secret texts. It is `Infinity` if there are too many, so that everything is hidden. */
  get size(): number {
    return this.#texts.isFull ? Number.POSITIVE_INFINITY : this.#texts.size
  }

  /** Adds texts that are known to be secret. */
  add(secrets: Iterable<string>): void {
    const before = this.size
    for (const secret of secrets) this.#texts.add(secret)
    if (this.size > before) this.#forget()
  }

  /** Finds the secrets in a run. */
  *learn({ given, steps }: Pick<RecordedRun, 'given' | 'steps'>): InParts<void> {
    for (const { secrets = [] } of [...given.tools, ...requestsOf({ steps }).flatMap(([, { request }]) => request.agent ?? [])])
      for (const key of secrets) this.#addKey(key)
    for (const step of Object.values(steps)) {
      if (Array.isArray(step)) {
        for (const { request, response } of step) {
          yield* this.learnRequest(request)
          for (const call of callsIn(response)) yield* this.#learnJson(call?.function?.arguments)
        }
      } else if (isCall(step)) {
        yield
        this.#learnValue(step.args)
        for (const run of step.runs ?? []) yield* this.learn(run)
      }
    }
  }

  #addKey(key: string): void {
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    this.#learned = new WeakSet()
    this.#forget()
  }

  *learnRequest({ messages }: RecordedModelRequest): InParts<void> {
    for (const message of messages) {
      if (!('toolCalls' in message) || this.#learned.has(message)) continue
      for (const call of message.toolCalls ?? []) yield* this.#learnJson(call.function.arguments)
      if (Object.isFrozen(message)) this.#learned.add(message)
    }
  }

  /** Returns the run without secrets. Call `learn` with the run first. */
  *cleanRun<Run extends RecordedRun>(run: Run): InParts<Run> {
    const { given, steps, ...rest } = run
    const clean: [string, RecordedStep][] = []
    for (const [key, step] of Object.entries(steps)) clean.push([key, yield* this.cleanStep(step)])
    return { ...run, ...(yield* this.clean(rest)), given: yield* this.cleanInput(given), steps: Object.fromEntries(clean) }
  }

  *cleanInput(given: RecordedInput): InParts<RecordedInput> {
    const { tools, output, ...input } = given
    // Schemas are not redacted by property name: a property named `password` in a schema holds a description, not a password.
    const schemas = { tools: yield* this.#texted(tools), ...(output === undefined ? {} : { output: yield* this.#texted(output) }) }
    return { ...given, ...(yield* this.clean(input)), ...schemas }
  }

  *cleanRequest(request: RecordedModelRequest): InParts<RecordedModelRequest> {
    const { tools, responseSchema, agent, ...rest } = request
    return { ...request, ...(yield* this.clean(rest)), ...(yield* this.#texted({ tools, responseSchema, agent })) }
  }

  /** Returns a copy of the value without secrets. */
  *clean<T>(value: T): InParts<T> {
    return (yield* this.#visit(value, true)) as T
  }

  *cleanStep(step: RecordedStep): InParts<RecordedStep> {
    if (Array.isArray(step)) {
      const turn: RecordedRequest[] = []
      for (const request of step) turn.push(yield* this.#cleanTurn(request))
      return turn
    }
    if (!isCall(step)) return yield* this.clean(step)
    const { runs, ...call } = step
    const clean = yield* this.clean(call)
    if (runs === undefined) return clean
    const cleanRuns: RecordedRun[] = []
    for (const run of runs) cleanRuns.push(yield* this.cleanRun(run))
    return { ...clean, runs: cleanRuns }
  }

  *#cleanTurn(turn: RecordedRequest): InParts<RecordedRequest> {
    const { request, stream, ...rest } = turn
    const clean = { ...turn, ...(yield* this.clean(rest)), request: yield* this.cleanRequest(request) }
    if (stream !== undefined) clean.stream = yield* this.#cleanStream(stream)
    return clean
  }

  /** Merges the chunks of a text that contains a secret, because the secret may be split between chunks. */
  *#cleanStream(recorded: readonly RecordedPieces[]): InParts<RecordedPieces[]> {
    const stream: RecordedPieces[] = []
    for (const pieces of recorded) stream.push(pieces[0] === 'call' ? ['call', pieces[1], pieces[2], yield* this.#text(pieces[3])] : pieces)
    const texts = new Map<string, { first: number; pieces: string[] }>()
    for (const [at, pieces] of stream.entries()) {
      yield
      if (pieces[0] === 'call') continue
      const { key, texts: more } = partsOf(pieces)
      const found = texts.get(key)
      if (found === undefined) texts.set(key, { first: at, pieces: more })
      else for (const one of more) found.pieces.push(one)
    }
    const hidden = new Map<string, { first: number; text: string }>()
    for (const [key, { first, pieces }] of texts) {
      const whole = pieces.join('')
      const text = yield* this.#text(whole)
      if (text !== whole) hidden.set(key, { first, text })
    }
    if (hidden.size === 0) return stream
    const clean = new NotedPieces()
    for (const [at, pieces] of stream.entries()) {
      yield
      const found = pieces[0] === 'call' ? undefined : hidden.get(partsOf(pieces).key)
      if (found === undefined) clean.add(pieces)
      else if (at === found.first)
        clean.add(pieces[0] === 'arguments' ? ['arguments', pieces[1], found.text] : [pieces[0] as 'text', found.text])
    }
    return clean.end()
  }

  *#learnJson(json: unknown): InParts<void> {
    if (typeof json !== 'string') return
    yield
    let value: unknown
    try {
      value = JSON.parse(json)
    } catch {
      // Text that isn't JSON has no property names that mark values as secret.
      return
    }
    yield
    this.#learnValue(value)
  }

  #learnValue(value: unknown): void {
    for (const secret of secretTexts(value, this.#keys)) {
      if (secret === REDACTED) continue
      const before = this.size
      this.#texts.add(secret)
      if (this.size > before) this.#forget()
    }
  }

  *#texted<T>(value: T): InParts<T> {
    return (yield* this.#visit(value, false)) as T
  }

  *#text(text: string): InParts<string> {
    // `#forget` replaces `#shown` if a secret is found meanwhile. The result is then outdated and must not be in the new map.
    const shown = this.#shown
    const known = shown.get(text)
    if (known !== undefined) return known
    const clean = yield* redactTextInParts(text, this.#texts, this.#keys)
    if (shown.size >= mostShown) shown.clear()
    shown.set(text, clean)
    return clean
  }

  #forget(): void {
    this.#seen = new WeakMap()
    this.#shown = new Map()
  }

  *#visit(value: unknown, byName: boolean): InParts<unknown> {
    if (++this.#visited % valuesInOnePart === 0) yield
    if (typeof value === 'string') return yield* byName ? this.#text(value) : redactTextInParts(value, this.#texts)
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (const item of value) items.push(yield* this.#visit(item, byName))
      return items
    }
    if (!isJsonObject(value)) return value
    const seen = this.#seen
    const known = seen.get(value)
    if (known !== undefined && byName) return known
    const clean: Record<string, unknown> = {}
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue
      const isHidden = byName && item !== null && (this.#keys.has(key) || isSecretKey(key))
      setField(clean, key, isHidden ? REDACTED : yield* this.#visit(item, byName))
    }
    // Frozen values are cached, because each message occurs in every later request.
    if (byName && Object.isFrozen(value)) seen.set(value, clean)
    return clean
  }
}

function partsOf(pieces: Exclude<RecordedPieces, ['call', ...unknown[]]>): { key: string; texts: string[] } {
  if (pieces[0] !== 'arguments') return { key: pieces[0], texts: pieces.slice(1) as string[] }
  const [kind, index, ...texts] = pieces
  return { key: `${kind} ${index}`, texts }
}
