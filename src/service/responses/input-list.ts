import type { Json, JsonObject } from '../../core/messages.ts'
import { HttpProblem } from '../http/problem.ts'
import { itemIdOf } from './response-ids.ts'

/** Returns the input items of a request, each with an id. */
export function inputItems(input: string | readonly JsonObject[], response: string): JsonObject[] {
  const items: readonly JsonObject[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return items.map((item, at) => {
    const id = typeof item.id === 'string' && item.id !== '' ? item.id : itemIdOf('in', response, at)
    const { type = 'message', content } = item
    if (type !== 'message') return { ...item, id }
    return { ...item, type, id, status: 'completed', content: partsOf(content, item.role === 'assistant') }
  })
}

function partsOf(content: Json | undefined, isSaid: boolean): Json {
  if (typeof content !== 'string') return content ?? []
  return [isSaid ? { type: 'output_text', text: content, annotations: [] } : { type: 'input_text', text: content }]
}

const mostListed = 100

/** Returns a page of a list, in OpenAI's format. Throws an `HttpProblem` 400 if the query is invalid. */
export function pageOfItems(items: readonly JsonObject[], query: URLSearchParams): object {
  const limit = Number(query.get('limit') ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > mostListed) throw unexpected('limit', `an integer from 1 to ${mostListed}`)
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw unexpected('order', '`asc` or `desc`')
  const ordered = order === 'asc' ? items : items.toReversed()
  const after = query.get('after')
  const before = after === null ? -1 : ordered.findIndex(({ id }) => id === after)
  if (after !== null && before < 0) throw unexpected('after', 'the id of an item of this response')
  const data = ordered.slice(before + 1, before + 1 + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: before + 1 + limit < ordered.length,
  }
}

function unexpected(param: string, expected: string): HttpProblem {
  return new HttpProblem(400, 'invalid_request', `Expected \`${param}\` to be ${expected}`, { param })
}
