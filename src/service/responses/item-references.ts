import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { Caller } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import type { KeptResponses } from './kept-responses.ts'
import { placeOfItem } from './response-ids.ts'

/** Maximum total size of the referenced items in one request, in characters of JSON. */
const mostCharacters = 8_000_000

/**
 * Replaces references in a request by items of the caller's stored responses. Rejects with an `HttpProblem`: 404 for an unknown item, 400
 * if the items together are too large.
 */
export async function withoutReferences(
  input: string | readonly JsonObject[],
  caller: Caller,
  responses: KeptResponses,
): Promise<string | JsonObject[]> {
  if (typeof input === 'string') return input
  const known = new Map<string, Map<string, string>>()
  let characters = 0
  const items: JsonObject[] = []
  for (const [at, item] of input.entries()) {
    if (item.type !== 'item_reference') {
      items.push(item)
      continue
    }
    const id = typeof item.id === 'string' ? item.id : ''
    const response = placeOfItem(id)
    if (response !== undefined && !known.has(response)) known.set(response, await itemsOf(response, caller, responses))
    const json = response === undefined ? undefined : known.get(response)?.get(id)
    if (json === undefined) throw new HttpProblem(404, 'item_not_found', `Item with id '${id}' not found.`, { param: `input.${at}.id` })
    characters += json.length
    if (characters > mostCharacters) {
      const message = `The items that are referred to may have ${mostCharacters} characters of JSON together`
      throw new HttpProblem(400, 'context_length_exceeded', message, { param: `input.${at}.id` })
    }
    items.push(JSON.parse(json))
  }
  return items
}

/**
 * Returns the input and output items of a response as JSON, by id. Returns an empty map if the response is not stored, or belongs to
 * another caller.
 */
async function itemsOf(response: string, caller: Caller, responses: KeptResponses): Promise<Map<string, string>> {
  const found = await responses.find(response, caller, ({ json, input }) => [...input, ...JSON.parse(json).output])
  const items: unknown[] = found ?? []
  return new Map(items.flatMap((item) => (isJsonObject(item) && typeof item.id === 'string' ? [[item.id, JSON.stringify(item)]] : [])))
}
