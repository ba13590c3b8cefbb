/** Parts of events that are shown in a form of their own: arguments that are JSON, and metadata. */
import { Event, type RunEvent } from '../../core/events.ts'
import { parseUpTo } from '../../core/json.ts'
import { redact } from '../../core/logger.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import type { SecretTexts } from '../../core/redaction/secret-texts.ts'
import { maxArgumentValues } from '../max-argument-values.ts'

/** Undefined: it is not JSON, as a model's arguments sometimes are not, or has more values than a call may have. */
export function argumentsIn(json: string): Json | undefined {
  try {
    return parseUpTo(maxArgumentValues, json) as Json | undefined
  } catch {
    return undefined
  }
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
