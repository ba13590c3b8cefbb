import { digestOf } from '../../core/digest.ts'
import type { JsonObject } from '../../core/messages.ts'

/** Characters of a tag: 192 bits, so that nobody finds two fields with the same one. */
const tagLength = 32

/**
 * The tags that a run is found by: one for each field of its metadata that is a text, a number or a boolean. `7` and `'7'` have the same
 * tag, since addresses have only texts. Tags are digests, so a store keeps nothing of the metadata itself.
 */
export function tagsOf(metadata: JsonObject = {}): string[] {
  return Object.entries(metadata).flatMap(([field, value]) =>
    value === null || typeof value === 'object' ? [] : [digestOf(JSON.stringify([field, String(value)])).slice(0, tagLength)],
  )
}
