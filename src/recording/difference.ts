import { isDeepStrictEqual } from 'node:util'
import { compareSteps } from '../agent/step-keys.ts'
import { jsonOrText } from '../core/json.ts'
import { isJsonObject, withoutUndefined } from '../core/messages.ts'
import { callsIn } from './describe.ts'
import { isCall, type RecordedRequest, type RecordedRun, type RecordedStep } from './format.ts'

/** The first difference between a replayed run and its recording. */
export interface Difference {
  /** The key of the step, and the path within the step, such as `2.model: request.messages[3].content`. */
  where: string
  /** The recorded value. Undefined if it is missing. */
  expected: unknown
  /** The value in the replay. Undefined if it is missing. */
  got: unknown
}

/** Returns the first difference between two values. Returns undefined if the values are equal. */
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

/** `liveModel`: the replay used a live model. Usage, ids and other data that always differ are then ignored. */
export interface Comparison {
  liveModel: boolean
}

/** Returns the first difference between a recorded run and its replay. The runs are compared step by step. */
export function firstDifferenceOfRuns(expected: RecordedRun, got: RecordedRun, comparison: Comparison): Difference | undefined {
  const keys = new Set([...Object.keys(expected.steps), ...Object.keys(got.steps)])
  for (const key of [...keys].toSorted(compareSteps)) {
    const found = differenceInStep(expected.steps[key], got.steps[key], comparison)
    if (found !== undefined) return { ...found, where: found.where === '' ? key : `${key}: ${found.where}` }
  }
  const result = ({ result }: RecordedRun) => (comparison.liveModel ? { stopReason: result?.stopReason, text: result?.text } : result)
  return firstDifference(result(expected), result(got), 'result')
}

function differenceInStep(
  expected: RecordedStep | undefined,
  got: RecordedStep | undefined,
  comparison: Comparison,
): Difference | undefined {
  const [recorded, played] = [partsOf(expected, comparison), partsOf(got, comparison)]
  if (recorded === undefined || played === undefined) return firstDifference(asked(recorded), asked(played))
  const found = firstDifference(recorded, played)
  if (found !== undefined) return { ...found, where: found.where.replace(/^\[0\]\.?/, '') }
  const runsOf = (step: RecordedStep | undefined) => (isCall(step) ? (step.runs ?? []) : [])
  for (const [at, run] of runsOf(expected).entries()) {
    const other = runsOf(got)[at]
    const differs = other && firstDifferenceOfRuns(run, other, comparison)
    if (differs !== undefined) return { ...differs, where: `runs[${at}], ${differs.where}` }
    if (other === undefined) return { where: `runs[${at}]`, expected: run.given.messages.at(-1), got: undefined }
  }
  return undefined
}

/** Returns the parts of a step that are compared. Runs inside the step are compared separately. */
function partsOf(step: RecordedStep | undefined, { liveModel }: Comparison): object | undefined {
  if (Array.isArray(step)) return liveModel ? step.map(withoutModel) : step
  if (!isCall(step)) return liveModel ? undefined : step
  const { runs: _, ...call } = step
  const { tool, args, outcome, content } = call
  return liveModel ? { tool, args, outcome, content } : call
}

function withoutModel({ request, response, error }: RecordedRequest): object {
  const { model: _, messages, ...rest } = request
  const said = response && {
    text: response.text,
    calls: callsIn(response).map((call) => [call?.function?.name, jsonOrText(call?.function?.arguments)]),
  }
  return {
    request: { messages: messages.map((message) => ({ role: message.role, content: message.content })), ...rest },
    ...withoutUndefined({ response: said, error: error?.code }),
  }
}

/** For an error message, shortens a turn to the last message that was sent to the model. */
function asked(step: object | undefined): unknown {
  return Array.isArray(step) ? step.at(-1)?.request.messages.at(-1) : step
}

/**
 * Describes a difference for people: its place, the recorded value, and the value in the replay. For long texts, shows only the part that
 * differs.
 */
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

/** Returns the part of each text around the first difference. */
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
