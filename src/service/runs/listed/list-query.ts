import { isRunProcess } from '../../../agent/journal/journal.ts'
import { tagsOf } from '../../../agent/journal/store.ts'
import { isRunStatus } from '../../../core/runs/run-states.ts'
import { HttpProblem } from '../../http/problem.ts'
import type { ListQuery } from './list-runs.ts'

const mostIds = 100
const mostWords = 10
const longestQuery = 500
const metadataPrefix = 'metadata.'
const mostFields = 16

/** Parses the query of a list of runs. Throws an `HttpProblem` 400. */
export function readListQuery(given: URLSearchParams): ListQuery {
  const text = (name: string) => given.get(name) ?? undefined
  const status = text('status')
  if (status !== undefined && !isRunStatus(status)) throw invalid('status', '`running`, `waiting` or `ended`')
  const process = text('process')
  if (process !== undefined && !isRunProcess(process)) throw invalid('process', '`alive` or `gone`')
  const limit = Math.min(Math.max(Math.trunc(Number(text('limit') ?? 100)) || 100, 1), 1_000)
  const ids = text('id')?.split(',')
  if (ids !== undefined && ids.length > mostIds) throw invalid('id', `at most ${mostIds} ids`)
  const q = text('q') ?? ''
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  if (q.length > longestQuery || words.length > mostWords)
    throw invalid('q', `at most ${mostWords} words of ${longestQuery} characters together`)
  const minCost = text('minCostUsd')
  if (minCost !== undefined && !(Number(minCost) >= 0)) throw invalid('minCostUsd', 'a number ≥ 0')
  return {
    limit,
    status,
    ids,
    words,
    cursor: text('cursor'),
    stopReason: text('stopReason'),
    model: text('model'),
    session: text('session'),
    process,
    owner: text('owner'),
    tags: tagsOf(readMetadata(given)),
    after: readTime(given, 'after'),
    before: readTime(given, 'before'),
    isShort: text('output') === 'short',
    minCostUsd: minCost === undefined ? undefined : Number(minCost),
  }
}

/** Reads the parameters `metadata.<field>`. Each may occur once. */
function readMetadata(given: URLSearchParams): Record<string, string> {
  const fields = [...given].filter(([name]) => name.startsWith(metadataPrefix))
  const twice = fields.find(([name]) => given.getAll(name).length > 1)
  if (twice !== undefined) throw invalid(twice[0], 'one value, got several')
  if (given.has(metadataPrefix)) throw invalid(metadataPrefix, 'the name of a field behind `metadata.`')
  if (fields.length > mostFields) throw invalid('metadata', `at most ${mostFields} fields`)
  return Object.fromEntries(fields.map(([name, value]) => [name.slice(metadataPrefix.length), value]))
}

function readTime(given: URLSearchParams, name: string): number | undefined {
  const text = given.get(name)
  if (text === null) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw invalid(name, 'a time in ISO 8601')
  return time
}

function invalid(param: string, expected: string): HttpProblem {
  return new HttpProblem(400, 'invalid_request', `Expected ${expected}`, { param })
}
