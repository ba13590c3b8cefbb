import { agentTools } from '../../agent/nested/items-within.ts'
import type { RunResult } from '../../agent/types/options.ts'
/** Parts of events and results that are shown in a form of their own. */
import { Event, type RunEvent } from '../../core/events.ts'
import { parseUpTo } from '../../core/json/value-count.ts'
import { type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { lookForSecrets, redact, secretsIn } from '../../core/redaction/redact.ts'
import type { SecretTexts } from '../../core/redaction/secret-texts.ts'
import { decidedPart, hideParts, REDACTED } from '../../core/redaction/spans.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { maxArgumentValues } from '../max-argument-values.ts'

/** Undefined: it is not JSON, as a model's arguments sometimes are not, or has more values than a call may have. */
export function argumentsIn(json: string): Json | undefined {
  try {
    return parseUpTo(maxArgumentValues, json) as Json | undefined
  } catch {
    return undefined
  }
}

/**
 * Which arguments are secret, by tool. Tools of agents inside calls count too: what these agents wait for is shown as what the run itself waits for.
 */
export function secretKeysOf(tools: Iterable<AnyTool>): Map<string, ReadonlySet<string>> {
  const keys = new Map<string, ReadonlySet<string>>()
  const known = new Set<AnyTool>()
  const learn = (list: Iterable<AnyTool>) => {
    for (const tool of list) {
      if (known.has(tool)) continue
      known.add(tool)
      const { name, secrets = [] } = tool
      if (secrets.length > 0) keys.set(name, new Set([...(keys.get(name) ?? []), ...secrets]))
      learn(agentTools(tool)?.list() ?? [])
    }
  }
  learn(tools)
  return keys
}

/** Takes the secrets out of the metadata of events, which is the same object in all events of a run: pieces, of which there are very many, share it. */
export class ShownMetadata {
  readonly #secrets: SecretTexts
  #last: { given: JsonObject; shown: JsonObject } | undefined

  constructor(secrets: SecretTexts) {
    this.#secrets = secrets
  }

  hideIn(events: readonly RunEvent[]): RunEvent[] {
    return events.map((event) => {
      const { metadata: given } = event.meta
      if (given === undefined) return event
      if (this.#last?.given !== given || !isPiece(event))
        this.#last = { given, shown: redact(given, undefined, this.#secrets) as JsonObject }
      return { ...event, meta: { ...event.meta, metadata: this.#last.shown } }
    })
  }
}

function isPiece({ type }: RunEvent): boolean {
  return type === Event.TEXT_DELTA || type === Event.REASONING_DELTA || type === Event.TOOL_INPUT_DELTA
}

/** A result as plain JSON: the error as its code and message, without the values tools returned, which need not be JSON. */
export function resultAsJson({ error, ...result }: RunResult): Record<string, unknown> {
  const toolCalls = result.toolCalls.map(({ value: _value, ...call }) => call)
  return { ...result, toolCalls, ...withoutUndefined({ error: error && { code: error.code, message: error.message } }) }
}

/** Characters that have been shown, by which what follows is known for a secret: the name before a value, the user before a password. */
const keptOfShown = 512
/** What is held back for longer is looked at again only when it has grown by a quarter: else a long value would take quadratic time. */
const mostAtOnce = 1_024

/**
 * A text that comes in pieces and is shown in pieces, without what would be hidden in the whole of it: the end of a piece that may belong
 * to a secret is held back until it is known whether it does.
 */
export class StreamedText {
  readonly #secrets: SecretTexts
  #held = ''
  #shown = ''
  /** How long what is held back has to be before it is looked at. */
  #next = 0
  #isHidden = false

  constructor(secrets: SecretTexts) {
    this.#secrets = secrets
  }

  /** What can be shown with this piece; `''`: nothing yet. */
  add(piece: string): string {
    this.#held += piece
    if (this.#held === '' || (this.#held.length < this.#next && !this.#secrets.isFull)) return ''
    return this.#show(false)
  }

  /** What was held back to the last. Another text may follow. */
  end(): string {
    const shown = this.#held === '' ? '' : this.#show(true)
    this.#held = ''
    this.#shown = ''
    this.#next = 0
    this.#isHidden = false
    return shown
  }

  #show(isEnd: boolean): string {
    if (this.#secrets.isFull) return this.#hideAll()
    const start = this.#shown.length
    const text = this.#shown + this.#held
    const look = isEnd ? { found: secretsIn(text, this.#secrets), decided: text.length } : lookForSecrets(text, this.#secrets, start)
    const end = isEnd ? text.length : Math.max(start, decidedPart(look))
    this.#held = text.slice(end)
    this.#next = this.#held.length < mostAtOnce ? 0 : this.#held.length * 1.25
    const given = text.slice(0, end)
    this.#shown = given.slice(-keptOfShown)
    // What begins in what has been shown was none, by all of the text before.
    const parts = look.found.filter(({ from }) => from >= start && from < end)
    return hideParts(given, parts, start)
  }

  /** Once for all that follows. */
  #hideAll(): string {
    this.#held = ''
    if (this.#isHidden) return ''
    this.#isHidden = true
    return REDACTED
  }
}
