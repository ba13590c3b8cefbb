import { json } from '../data/format.ts'
import { isWithin, walk } from '../reading/json-nodes.ts'
import { hiddenPart } from '../ui/hidden-text.ts'
import { inSlices } from '../ui/slices.ts'

/** The limits up to which a value is shown or edited as a whole. */
const mostAtOnce = { values: 1_500, characters: 60_000 }
/** The limits for a value that is written as JSON in one step. */
const mostInStep = { values: 100, characters: 4_000 }
/** Maximum number of fields of an object that is split. */
const mostFields = 50

/** Whether a value is too large to be shown or edited at once. */
export function isLarge(value: unknown): boolean {
  return !isWithin(value, mostAtOnce)
}

type Fields = Record<string, unknown>

/** Splits an object into fields that are shown and edited together, and fields that are too large to be shown at once. */
export function splitLarge(value: Fields): { small: Fields; large: Fields } {
  if (!isLarge(value)) return { small: value, large: {} }
  if (Object.keys(value).length > mostFields) return { small: {}, large: value }
  const small: [string, unknown][] = []
  const large: [string, unknown][] = []
  for (const field of Object.entries(value)) (isLarge([...small, field]) ? large : small).push(field)
  return { small: Object.fromEntries(small), large: Object.fromEntries(large) }
}

/**
 * Resolves with the placeholder of the first part of a value that the service hides, or with undefined if nothing is hidden. The value may
 * have any size.
 */
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

/** Converts a value of any size to text: a text stays unchanged, and any other value becomes indented JSON. */
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
