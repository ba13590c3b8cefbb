import { json } from '../data/format.ts'
import { isWithin, walk } from '../reading/json-nodes.ts'
import { hiddenPart } from '../ui/hidden-text.ts'
import { inSlices } from '../ui/slices.ts'

/** The largest value that is shown or edited as a whole. */
const mostAtOnce = { values: 1_500, characters: 60_000 }
/** The largest value that is converted to JSON in one step. */
const mostInStep = { values: 100, characters: 4_000 }
/** Maximum number of fields of an object that `splitLarge` splits. */
const mostFields = 50

/** Whether a value is too large to be shown or edited at once. */
export function isLarge(value: unknown): boolean {
  return !isWithin(value, mostAtOnce)
}

type Fields = Record<string, unknown>

/** Splits an object into fields that together are small enough to be edited, and the other fields. */
export function splitLarge(value: Fields): { small: Fields; large: Fields } {
  if (!isLarge(value)) return { small: value, large: {} }
  if (Object.keys(value).length > mostFields) return { small: {}, large: value }
  const small: [string, unknown][] = []
  const large: [string, unknown][] = []
  for (const field of Object.entries(value)) (isLarge([...small, field]) ? large : small).push(field)
  return { small: Object.fromEntries(small), large: Object.fromEntries(large) }
}

/** Resolves with the placeholder of the first redacted part of a value of any size, or with undefined if nothing is redacted. */
export async function hiddenIn(value: unknown): Promise<string | undefined> {
  let hidden: string | undefined
  const look = function* () {
    for (const { path, value: part } of walk(value)) {
      hidden ??= hiddenPart(String(path.at(-1) ?? '')) ?? (typeof part === 'string' ? hiddenPart(part) : undefined)
      yield
    }
  }
  await inSlices(look(), () => hidden !== undefined)
  return hidden
}

/** Returns a string unchanged, and converts any other value to indented JSON. */
export async function writtenOut(value: unknown): Promise<string> {
  if (typeof value === 'string') return value
  const pieces: string[] = []
  await inSlices(writing(value, '', pieces))
  return pieces.join('')
}

/** Writes JSON in small steps, so that the page stays responsive. */
function* writing(value: unknown, indent: string, pieces: string[]): Generator<void> {
  if (typeof value !== 'object' || value === null || isWithin(value, mostInStep)) {
    pieces.push(json(value).replaceAll('\n', `\n${indent}`))
    return yield
  }
  const isList = Array.isArray(value)
  const inner = `${indent}  `
  let before = isList ? '[' : '{'
  for (const [key, part] of Object.entries(value)) {
    pieces.push(`${before}\n${inner}${isList ? '' : `${JSON.stringify(key)}: `}`)
    yield* writing(part, inner, pieces)
    before = ','
  }
  pieces.push(`\n${indent}${isList ? ']' : '}'}`)
}
