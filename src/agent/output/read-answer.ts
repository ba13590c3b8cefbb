import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { parseArguments } from '../../tools/arguments.ts'
import { severalAnswersProblem, unfitAnswerProblem } from '../told.ts'
import { jsonInText } from './json-in-text.ts'
import { type FittingTerms, fitInTime, jsonOf, type OutputFormat } from './output.ts'

/** What an answer's text came to. `note`: what had to be put right. */
export type Answer = { ok: true; json: string; note?: string } | { ok: false; problem: string }

interface ReadingTerms extends FittingTerms {
  /** The text is cut: only all of it can be the answer. */
  isCut: boolean
}

/**
 * Reads the answer out of a text that should be JSON of the schema, bare or in a code fence. Of a text that is not, the only JSON value in it
 * that fits the schema is taken. Never rejects.
 */
export async function readAnswer(format: OutputFormat, text: string, terms: ReadingTerms): Promise<Answer> {
  const parsed = parseArguments(format.wrapped ? asWrapped(unfenced(text)) : unfenced(text))
  const fitted = parsed.ok ? await fitInTime(format.tool, parsed.args, terms) : { problems: [parsed.problem] }
  if (parsed.ok && 'input' in fitted) return { ok: true, json: jsonOf(format, parsed.args) }
  const problem = unfitAnswerProblem('problems' in fitted ? fitted.problems.join('; ') : '')
  return terms.isCut ? { ok: false, problem } : ((await findAnswer(format, text, terms)) ?? { ok: false, problem })
}

/** More are not tried: in so many, none is the answer. */
const mostTried = 100

/** The answer among the JSON values of a text. Undefined where there are none. */
async function findAnswer(format: OutputFormat, text: string, terms: FittingTerms): Promise<Answer | undefined> {
  const problems: string[] = []
  let found: Reading | undefined
  let tried = 0
  for (const value of jsonInText(text)) {
    if (tried++ === mostTried) return { ok: false, problem: severalAnswersProblem }
    const fitting = await fittingReading(format, value, terms)
    if ('problems' in fitting) problems.push(...fitting.problems)
    else if (found === undefined) found = fitting
    else if (!isDeepStrictEqual(found.args, fitting.args)) return { ok: false, problem: severalAnswersProblem }
  }
  if (found !== undefined) return { ok: true, json: jsonOf(format, found.args), note: noteOf(found) }
  return tried === 1 && problems.length > 0 ? { ok: false, problem: unfitAnswerProblem(problems.join('; ')) } : undefined
}

function noteOf({ wrapper }: Reading): string {
  return wrapper === undefined
    ? 'The answer was taken out of the text around it'
    : `The answer was taken out of \`${wrapper}\`, in which it was wrapped`
}

/** What a JSON value may stand for, as the arguments of the tool that gives the answer. */
interface Reading {
  args: JsonObject
  /** The name that the answer was wrapped in. */
  wrapper?: string
}

/** The first reading of a value that fits the schema; or what is wrong with the value as it is. */
async function fittingReading(format: OutputFormat, value: Json, terms: FittingTerms): Promise<Reading | { problems: string[] }> {
  let problems: string[] | undefined
  for (const reading of readingsOf(format, value)) {
    const fitted = await fitInTime(format.tool, reading.args, terms)
    if ('input' in fitted) return reading
    problems ??= fitted.problems
  }
  return { problems: problems ?? [] }
}

/** The value itself, and what is in its only field: models wrap an answer in the name of its schema. */
export function readingsOf({ wrapped }: Pick<OutputFormat, 'wrapped'>, value: Json): Reading[] {
  const [field, ...others] = isJsonObject(value) ? Object.entries(value) : []
  const inner = field !== undefined && others.length === 0 ? [{ value: field[1], wrapper: field[0] }] : []
  return [{ value }, ...inner].flatMap(({ value: one, ...rest }): Reading[] => {
    const whole = isJsonObject(one) && (!wrapped || isWrapper(one)) ? [{ args: one, ...rest }] : []
    return wrapped ? [...whole, { args: { value: one }, ...rest }] : whole
  })
}

/** Models given the wrapped schema answer with the object, or with what is in it. */
function asWrapped(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    return isJsonObject(value) && isWrapper(value) ? json : `{"value":${json}}`
  } catch {
    return json // Not JSON: the problem is told by whoever reads it.
  }
}

function isWrapper(value: JsonObject): boolean {
  return Object.keys(value).length === 1 && 'value' in value
}

function unfenced(text: string): string {
  const trimmed = text.trim()
  if (!trimmed.startsWith('```') || !trimmed.endsWith('```')) return trimmed
  const firstLine = trimmed.indexOf('\n')
  return firstLine === -1 ? trimmed : trimmed.slice(firstLine + 1, -3).trim()
}
