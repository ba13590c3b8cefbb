import { isRunProcess } from '../../../agent/journal/journal.ts'
import { shownOrders } from '../../../agent/journal/shown-runs.ts'
import { tagsOf } from '../../../agent/journal/store.ts'
import { isRunStatus } from '../../../core/runs/run-states.ts'
import { HttpProblem } from '../../http/problem.ts'
import type { ListQuery } from './list-runs.ts'

const mostNames = 100
const mostSkipped = 1_000_000
const mostWords = 10
const longestQuery = 500
const metadataPrefix = 'metadata.'
const mostFields = 16

/** Parses the query of a list of runs. `names` contains the allowed parameters. Throws an `HttpProblem` 400 for an invalid query. */
export function readListQuery(given: URLSearchParams, names: readonly string[]): ListQuery {
  const unknown = [...given.keys()].find((name) => !names.includes(name) && !name.startsWith(metadataPrefix))
  if (unknown !== undefined)
    throw invalid(unknown, `only the parameters ${names.map((name) => `\`${name}\``).join(', ')}, got \`${unknown}\``)
  for (const [name, value] of given) {
    if (given.getAll(name).length > 1) throw invalid(name, 'one value, got several')
    // Two parameters may be empty: an empty search finds all runs, and a field of metadata may be an empty text.
    if (value === '' && name !== 'q' && !name.startsWith(metadataPrefix)) throw invalid(name, 'a value, got none')
  }
  const text = (name: string) => given.get(name) ?? undefined
  const status = text('status')
  if (status !== undefined && !isRunStatus(status)) throw invalid('status', '`running`, `waiting` or `ended`')
  const process = text('process')
  if (process !== undefined && !isRunProcess(process)) throw invalid('process', '`alive` or `gone`')
  const limit = Number(text('limit') ?? 100)
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 1_000)) throw invalid('limit', 'an integer from 1 to 1,000')
  const totals = text('totals')
  if (totals !== undefined && totals !== 'true' && totals !== 'false') throw invalid('totals', '`true` or `false`')
  const output = text('output')
  if (output !== undefined && output !== 'short') throw invalid('output', '`short`')
  const q = text('q') ?? ''
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  if (q.length > longestQuery || words.length > mostWords)
    throw invalid('q', `at most ${mostWords} words of ${longestQuery} characters together`)
  return {
    limit,
    offset: readNumber(given, 'offset', { most: mostSkipped }),
    order: readOrder(text('sort')),
    hasTotals: totals === 'true',
    status,
    ids: readNames(given, 'id'),
    words,
    cursor: text('cursor'),
    stopReasons: readNames(given, 'stopReason'),
    errorCode: text('errorCode'),
    tool: text('tool'),
    model: text('model'),
    session: text('session'),
    process,
    owner: text('owner'),
    tags: tagsOf(readMetadata(given)),
    after: readTime(given, 'after'),
    before: readTime(given, 'before'),
    endedAfter: readTime(given, 'endedAfter'),
    endedBefore: readTime(given, 'endedBefore'),
    isShort: output === 'short',
    minCostUsd: readNumber(given, 'minCostUsd'),
    minWorkedMs: readNumber(given, 'minWorkedMs'),
  }
}

function readNames(given: URLSearchParams, name: string): string[] | undefined {
  const names = given.get(name)?.split(',')
  if (names !== undefined && names.length > mostNames) throw invalid(name, `at most ${mostNames}, separated by commas`)
  return names
}

function readNumber(given: URLSearchParams, name: string, { most = Number.MAX_VALUE } = {}): number | undefined {
  const text = given.get(name)
  if (text === null) return undefined
  const number = Number(text)
  if (!(number >= 0 && number <= most) || (most === mostSkipped && !Number.isInteger(number)))
    throw invalid(name, most === mostSkipped ? `an integer from 0 to ${most.toLocaleString('en')}` : 'a number ≥ 0')
  return number
}

function readOrder(sort: string | undefined): ListQuery['order'] {
  if (sort === undefined) return undefined
  const isDescending = sort.startsWith('-')
  const by = shownOrders.find((order) => order === (isDescending ? sort.slice(1) : sort))
  if (by === undefined)
    throw invalid('sort', `one of ${shownOrders.map((order) => `\`${order}\``).join(', ')}, with \`-\` before it to begin with the largest`)
  return { by, isDescending }
}

/** Reads the parameters of the form `metadata.<field>`. */
function readMetadata(given: URLSearchParams): Record<string, string> {
  const fields = [...given].filter(([name]) => name.startsWith(metadataPrefix))
  if (given.has(metadataPrefix)) throw invalid(metadataPrefix, 'the name of a field after `metadata.`')
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
