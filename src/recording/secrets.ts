import { isSecretKey, REDACTED, redactText, secretTexts } from '../core/logger.ts'
import { isJsonObject, setField } from '../core/messages.ts'
import { hideSecretValues } from '../core/redaction/json-secrets.ts'
import { SecretTexts } from '../core/redaction/secret-texts.ts'
import { callsIn } from './describe.ts'
import type { RecordedCall, RecordedInput, RecordedPieces, RecordedRun, RecordedTurn } from './format.ts'
import { NotedPieces } from './noted-pieces.ts'

const mostShown = 32

/**
 * Takes secrets out of recordings: values under secret-looking names and under those that tools list in `secrets`, what looks like a key, and
 * texts that are known to be secret, such as the arguments that were hidden, wherever they are quoted.
 */
export class RecordingSecrets {
  readonly #keys = new Set<string>()
  readonly #texts: SecretTexts
  /** Frozen values, and what they are without what is known to be secret by now. */
  #seen = new WeakMap<object, object>()
  /** The last texts, likewise: what a model says is in its response, in the pieces of that, and in the next request. */
  readonly #shown = new Map<string, string>()

  /** `secrets`: texts that are known to be secret. */
  constructor(secrets: Iterable<string> = []) {
    this.#texts = new SecretTexts(secrets)
  }

  /** How many texts are known to be secret; infinite where there were too many, so that all are hidden. */
  get size(): number {
    return this.#texts.isFull ? Number.POSITIVE_INFINITY : this.#texts.size
  }

  /** Adds texts that are known to be secret. */
  add(secrets: Iterable<string>): void {
    const before = this.size
    for (const secret of secrets) this.#texts.add(secret)
    if (this.size > before) this.#forget()
  }

  /** Learns what is secret in a run. */
  learn({ given, turns }: RecordedRun): void {
    for (const { secrets = [] } of [...given.tools, ...turns.flatMap(({ request }) => request.agent ?? [])])
      for (const key of secrets) this.#addKey(key)
    for (const { request, response, calls = [] } of turns) {
      this.learnRequest(request)
      for (const call of callsIn(response)) this.#learnJson(call?.function?.arguments)
      for (const { args, runs = [] } of calls) {
        this.#learnValue(args)
        for (const run of runs) this.learn(run)
      }
    }
  }

  #addKey(key: string): void {
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    this.#forget()
  }

  learnRequest({ messages }: RecordedTurn['request']): void {
    for (const message of messages)
      if ('toolCalls' in message) for (const call of message.toolCalls ?? []) this.#learnJson(call.function.arguments)
  }

  /** The run without secrets; what was learned must have been learned before. */
  cleanRun<Run extends RecordedRun>(run: Run): Run {
    const { given, turns, ...rest } = run
    return { ...run, ...this.clean(rest), given: this.cleanInput(given), turns: turns.map((turn) => this.cleanTurn(turn)) }
  }

  cleanInput(given: RecordedInput): RecordedInput {
    const { tools, output, ...input } = given
    // Names in a schema are not those of values.
    const schemas = { tools: this.#texted(tools), ...(output === undefined ? {} : { output: this.#texted(output) }) }
    return { ...given, ...this.clean(input), ...schemas }
  }

  cleanRequest(request: RecordedTurn['request']): RecordedTurn['request'] {
    const { tools, responseSchema, agent, ...rest } = request
    return { ...request, ...this.clean(rest), ...this.#texted({ tools, responseSchema, agent }) }
  }

  /** A copy without secrets. */
  clean<T>(value: T): T {
    return this.#visit(value, true) as T
  }

  cleanTurn(turn: RecordedTurn): RecordedTurn {
    const { request, stream, calls, ...rest } = turn
    const parts = { request: this.cleanRequest(request), ...(stream === undefined ? {} : { stream: this.#cleanStream(stream) }) }
    return { ...turn, ...this.clean(rest), ...parts, ...(calls === undefined ? {} : { calls: calls.map((call) => this.cleanCall(call)) }) }
  }

  cleanCall({ runs, ...call }: RecordedCall): RecordedCall {
    const clean = this.clean(call)
    return runs === undefined ? clean : { ...clean, runs: runs.map((run) => this.cleanRun(run)) }
  }

  /** A secret may be cut anywhere: where there is one in a text, that is recorded in one piece. */
  #cleanStream(stream: readonly RecordedPieces[]): RecordedPieces[] {
    const whole = new Map<string, { first: number; text: string }>()
    for (const [at, pieces] of stream.entries()) {
      if (pieces[0] === 'call') continue
      const { key, texts } = partsOf(pieces)
      const found = whole.get(key) ?? { first: at, text: '' }
      whole.set(key, { ...found, text: found.text + texts.join('') })
    }
    const clean = new NotedPieces()
    for (const [at, pieces] of stream.entries()) {
      const { first = 0, text = '' } = pieces[0] === 'call' ? {} : (whole.get(partsOf(pieces).key) ?? {})
      const hidden = this.#text(text)
      if (hidden === text) clean.add(pieces)
      else if (at === first) clean.add(pieces[0] === 'arguments' ? ['arguments', pieces[1], hidden] : [pieces[0] as 'text', hidden])
    }
    return clean.end()
  }

  #learnJson(json: unknown): void {
    if (typeof json !== 'string') return
    try {
      this.#learnValue(JSON.parse(json))
    } catch {
      // What is no JSON has no names by which a secret could be told.
    }
  }

  #learnValue(value: unknown): void {
    for (const secret of secretTexts(value, this.#keys)) {
      if (secret === REDACTED) continue
      const before = this.size
      this.#texts.add(secret)
      if (this.size > before) this.#forget()
    }
  }

  #texted<T>(value: T): T {
    return this.#visit(value, false) as T
  }

  #text(text: string): string {
    const known = this.#shown.get(text)
    if (known !== undefined) return known
    const clean = redactText(hideSecretValues(text, this.#keys), this.#texts)
    if (this.#shown.size >= mostShown) this.#shown.clear()
    this.#shown.set(text, clean)
    return clean
  }

  #forget(): void {
    this.#seen = new WeakMap()
    this.#shown.clear()
  }

  #visit(value: unknown, byName: boolean): unknown {
    if (typeof value === 'string') return byName ? this.#text(value) : redactText(value, this.#texts)
    if (Array.isArray(value)) return value.map((item) => this.#visit(item, byName))
    if (!isJsonObject(value)) return value
    const known = this.#seen.get(value)
    if (known !== undefined && byName) return known
    const clean: Record<string, unknown> = {}
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue
      const isHidden = byName && item !== null && (this.#keys.has(key) || isSecretKey(key))
      setField(clean, key, isHidden ? REDACTED : this.#visit(item, byName))
    }
    // A message is in every request from its own on.
    if (byName && Object.isFrozen(value)) this.#seen.set(value, clean)
    return clean
  }
}

function partsOf(pieces: Exclude<RecordedPieces, ['call', ...unknown[]]>): { key: string; texts: string[] } {
  if (pieces[0] !== 'arguments') return { key: pieces[0], texts: pieces.slice(1) as string[] }
  const [kind, index, ...texts] = pieces
  return { key: `${kind} ${index}`, texts }
}
