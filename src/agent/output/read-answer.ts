import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { parseArguments } from '../../tools/arguments.ts'
import { severalAnswersProblem, unfitAnswerProblem } from '../run-texts.ts'
import { jsonInText } from './json-in-text.ts'
import { type FittingTerms, fitInTime, jsonOf, type OutputFormat } from './output.ts'

/** The result of reading an answer's text. `note`: says how the answer was extracted from a longer text or from a wrapper. */
export type Answer = { ok: true; json: string; note?: string } | { ok: false; problem: string }

interface ReadingTerms extends FittingTerms {
  /** Whether the text was cut off. A part of such a text can't be the answer. */
  isCut: boolean
}

/**
 * Reads the answer from a text. The whole text should be JSON that fits the schema, bare or in a code fence. Otherwise, the answer is the
 * only JSON value in the text that fits the schema. Never rejects.
 */
export async function readAnswer(format: OutputFormat, text: string, terms: ReadingTerms): Promise<Answer> {
  const parsed = parseArguments(format.wrapped ? asWrapped(unfenced(text)) : unfenced(text))
  const fitted = parsed.ok ? await fitInTime(format.tool, parsed.args, terms) : { problems: [parsed.problem] }
  if (parsed.ok && 'input' in fitted) return { ok: true, json: jsonOf(format, parsed.args) }
  const problem = unfitAnswerProblem('problems' in fitted ? fitted.problems.join('; ') : '')
  return terms.isCut ? { ok: false, problem } : ((await findAnswer(format, text, terms)) ?? { ok: false, problem })
}

/** The maximum number of values to try. A text with more values has no answer. */
const mostTried = 100

/**
 * Finds the answer among the JSON values of a text. If the text's only value does not fit, returns the problems of that value. Undefined if
 * the text has no values, or several values that don't fit.
 */
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

/** One way to read a JSON value as the arguments of the answer tool. */
interface Reading {
  args: JsonObject
  /** The name of the field that contained the answer. */
  wrapper?: string
}

/** Returns the first reading that fits the schema. If none fits, returns the problems of the first reading. */
async function fittingReading(format: OutputFormat, value: Json, terms: FittingTerms): Promise<Reading | { problems: string[] }> {
  let problems: string[] | undefined
  for (const reading of readingsOf(format, value)) {
    const fitted = await fitInTime(format.tool, reading.args, terms)
    if ('input' in fitted) return reading
    problems ??= fitted.problems
  }
  return { problems: problems ?? [] }
}

/**
 * Returns the ways to read a value: the value itself and, if it has only one field, the value of this field. Some models wrap an answer in
 * a field with the name of the schema.
 */
export function readingsOf({ wrapped }: Pick<OutputFormat, 'wrapped'>, value: Json): Reading[] {
  const [field, ...others] = isJsonObject(value) ? Object.entries(value) : []
  const inner = field !== undefined && others.length === 0 ? [{ value: field[1], wrapper: field[0] }] : []
  return [{ value }, ...inner].flatMap(({ value: one, ...rest }): Reading[] => {
    const whole = isJsonObject(one) && (!wrapped || isWrapper(one)) ? [{ args: one, ...rest }] : []
    return wrapped ? [...whole, { args: { value: one }, ...rest }] : whole
  })
}

/** Wraps the answer, unless it is wrapped already. A model that gets the wrapped schema may return the object or only its value. */
function asWrapped(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    return isJsonObject(value) && isWrapper(value) ? json : `{"value":${json}}`
  } catch {
    return json // The text is not JSON. The caller reports the problem.
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
