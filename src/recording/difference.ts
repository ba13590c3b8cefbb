import { isDeepStrictEqual } from 'node:util'
import { jsonOrText } from '../core/json.ts'
import { isJsonObject, withoutUndefined } from '../core/messages.ts'
import { callsIn } from './describe.ts'
import type { RecordedRun, RecordedTurn } from './format.ts'

/** Where a run that is played again first differs from its recording. */
export interface Difference {
  /** Such as `turn 2: request.messages[3].content`; turns are counted from 1. */
  where: string
  /** What is recorded; undefined: nothing. */
  expected: unknown
  /** What came; undefined: nothing. */
  got: unknown
}

/** The first difference of two values, field by field in the order of the first; undefined where they are equal. */
export function firstDifference(expected: unknown, got: unknown, where = ''): Difference | undefined {
  if (isDeepStrictEqual(expected, got)) return undefined
  if (Array.isArray(expected) && Array.isArray(got)) {
    for (let at = 0; at < Math.max(expected.length, got.length); at++) {
      const found = firstDifference(expected[at], got[at], `${where}[${at}]`)
      if (found !== undefined) return found
    }
  } else if (isJsonObject(expected) && isJsonObject(got)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(got)])) {
      const found = firstDifference(expected[key], got[key], where === '' ? key : `${where}.${key}`)
      if (found !== undefined) return found
    }
  }
  return { where, expected, got }
}

/** What of two runs is compared. `model`: not what another model always says in another way. */
export interface Comparison {
  liveModel: boolean
}

/** Where a run that was played again first differs from the recorded one, turn by turn. */
export function firstDifferenceOfRuns(expected: RecordedRun, got: RecordedRun, comparison: Comparison): Difference | undefined {
  const parts = comparison.liveModel ? partsWithoutModel : partsOfTurn
  for (let at = 0; at < Math.max(expected.turns.length, got.turns.length); at++) {
    const [recorded, played] = [expected.turns[at], got.turns[at]]
    if (recorded === undefined) return { where: `turn ${at + 1}`, expected: undefined, got: asked(played) }
    if (played === undefined) return { where: `turn ${at + 1}`, expected: asked(recorded), got: undefined }
    const found = firstDifference(parts(recorded), parts(played)) ?? differenceInCalls(recorded, played, comparison)
    if (found !== undefined) return { ...found, where: `turn ${at + 1}: ${found.where}` }
  }
  const result = ({ result }: RecordedRun) => (comparison.liveModel ? { stopReason: result?.stopReason, text: result?.text } : result)
  return firstDifference(result(expected), result(got), 'result')
}

function differenceInCalls({ calls = [] }: RecordedTurn, played: RecordedTurn, comparison: Comparison): Difference | undefined {
  for (const [at, { runs = [] }] of calls.entries()) {
    const others = played.calls?.[at]?.runs ?? []
    for (const [index, run] of runs.entries()) {
      const where = `calls[${at}].runs[${index}]`
      const other = others[index]
      if (other === undefined) return { where, expected: asked(run.turns[0]), got: undefined }
      const found = firstDifferenceOfRuns(run, other, comparison)
      if (found !== undefined) return { ...found, where: `${where}, ${found.where}` }
    }
  }
  return undefined
}

function partsOfTurn({ calls, ...turn }: RecordedTurn): object {
  return { ...turn, ...withoutUndefined({ calls: calls?.map(({ runs: _, ...call }) => call) }) }
}

function partsWithoutModel({ request, response, calls, error }: RecordedTurn): object {
  const { model: _, messages, ...asked } = request
  const said = response && {
    text: response.text,
    calls: callsIn(response).map((call) => [call?.function?.name, jsonOrText(call?.function?.arguments)]),
  }
  return {
    request: { messages: messages.map((message) => ({ role: message.role, content: message.content })), ...asked },
    ...withoutUndefined({
      response: said,
      error: error?.code,
      calls: calls?.map(({ tool, args, outcome, content }) => ({ tool, args, outcome, content })),
    }),
  }
}

/** What a request asks, in short: its last message. */
function asked(turn: RecordedTurn | undefined): unknown {
  return turn?.request.messages.at(-1)
}

/** A difference for people: where, then what is recorded and what came, the part of long texts that differs. */
export function describeDifference({ where, expected, got }: Difference): string {
  const [recorded, came] =
    typeof expected === 'string' && typeof got === 'string' ? differingPart(expected, got) : [shown(expected), shown(got)]
  return `${where}\n  - expected ${recorded}\n  + got      ${came}`
}

const mostShown = 200

function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > mostShown ? `${text.slice(0, mostShown)}… (${text.length} characters)` : text
}

/** Of each text the part around the first difference. */
function differingPart(expected: string, got: string): [string, string] {
  if (Math.max(expected.length, got.length) <= mostShown) return [JSON.stringify(expected), JSON.stringify(got)]
  let at = 0
  while (at < expected.length && expected[at] === got[at]) at++
  const from = Math.max(0, at - mostShown / 4)
  const part = (text: string) => {
    const to = from + mostShown
    return `${from > 0 ? '…' : ''}${JSON.stringify(text.slice(from, to))}${to < text.length ? '…' : ''}`
  }
  return [`${part(expected)} (character ${at + 1})`, part(got)]
}
