import { agentTools } from '../../agent/nested/nested-items.ts'
import type { RunResult } from '../../agent/types/options.ts'
/** Prepares parts of events and results for clients. */
import { Event, type RunEvent } from '../../core/events.ts'
import { parseUpTo } from '../../core/json.ts'
import { type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { lookForSecrets, redact, secretsIn } from '../../core/redaction/redact.ts'
import type { SecretTexts } from '../../core/redaction/secret-texts.ts'
import { decidedPart, hideParts, REDACTED } from '../../core/redaction/spans.ts'
import type { AnyTool } from '../../tools/tool.ts'

/** Parses the arguments that a model wrote. Returns undefined if the text is not JSON, or if it has more than `most` values. */
export function argumentsIn(json: string, most: number): Json | undefined {
  try {
    return parseUpTo(most, json) as Json | undefined
  } catch {
    return undefined
  }
}

/** Returns the names of each tool's secret arguments. Includes the tools of sub-agents, because the outer run shows their pending calls. */
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

/** Redacts the metadata of events. A run may have many events, so they share one redacted object. */
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

/**
 * Converts a result to plain JSON. The error becomes its code and message. The values that tools returned are left out, because they need
 * not be JSON.
 */
export function resultAsJson({ error, ...result }: RunResult): Record<string, unknown> {
  const toolCalls = result.toolCalls.map(({ value: _value, ...call }) => call)
  return { ...result, toolCalls, ...withoutUndefined({ error: error && { code: error.code, message: error.message } }) }
}

/** The number of shown characters to keep as context for the search. For example, a name before a value may indicate a secret. */
const keptOfShown = 512
/**
 * Above this length, unshown text is searched again only after it has grown by a quarter. Searching it after every piece would take
 * quadratic time.
 */
const mostAtOnce = 1_024

/**
 * Redacts a text that arrives in pieces. The result is the same as for the whole text. The end of a piece is held back while it could be
 * the start of a secret.
 */
export class StreamedText {
  readonly #secrets: SecretTexts
  #held = ''
  #shown = ''
  /** The length at which the unshown text is searched again. */
  #next = 0
  #isHidden = false

  constructor(secrets: SecretTexts) {
    this.#secrets = secrets
  }

  /** Adds a piece. Returns the text that can be shown now, which may be `''`. */
  add(piece: string): string {
    this.#held += piece
    if (this.#held === '' || (this.#held.length < this.#next && !this.#secrets.isFull)) return ''
    return this.#show(false)
  }

  /** Ends the text and returns the rest of it. Another text may follow. */
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
    // An earlier search, with more context, found no secret in the shown text.
    const parts = look.found.filter(({ from }) => from >= start && from < end)
    return hideParts(given, parts, start)
  }

  /** Replaces the rest of the text with one placeholder. */
  #hideAll(): string {
    this.#held = ''
    if (this.#isHidden) return ''
    this.#isHidden = true
    return REDACTED
  }
}
