import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { Caller } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import type { KeptResponses } from './kept-responses.ts'
import { placeOfItem } from './response-ids.ts'

/** Characters of JSON that references of one request may stand for. */
const mostCharacters = 8_000_000

/**
 * A request's items, with those in place of references that the caller's kept responses have. Rejects with an `HttpProblem`: 404 for an item that
 * is not known, 400 if they are too much together.
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

/** The items that a response was given and has as JSON, by id. None for one that is not kept, or is another's. */
async function itemsOf(response: string, caller: Caller, responses: KeptResponses): Promise<Map<string, string>> {
  const found = await responses.find(response, caller, ({ json, input }) => [...input, ...JSON.parse(json).output])
  const items: unknown[] = found ?? []
  return new Map(items.flatMap((item) => (isJsonObject(item) && typeof item.id === 'string' ? [[item.id, JSON.stringify(item)]] : [])))
}
