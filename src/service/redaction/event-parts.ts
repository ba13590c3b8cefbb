import { agentTools } from '../../agent/nested/items-within.ts'
import type { RunResult } from '../../agent/types/options.ts'
/** Parts of events and results that are shown in a form of their own. */
import { Event, type RunEvent } from '../../core/events.ts'
import { parseUpTo } from '../../core/json/value-count.ts'
import { type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { redact } from '../../core/redaction/redact.ts'
import type { SecretTexts } from '../../core/redaction/secret-texts.ts'
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
