import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ErrorObject } from 'ajv'
import { clip, show } from '../../core/errors.ts'
import { fieldName, firstProblems, inWords, maxInWords } from './problems-in-words.ts'

/** Keywords whose errors ajv describes completely. */
const exact = new Set(['type', 'enum', 'const', 'required', 'additionalProperties', 'unevaluatedProperties', 'anyOf', 'oneOf'])
/** Keywords whose errors ajv describes completely, but for which a developer may have written a message. */
const bounds = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'])
/** Maximum number of errors to consider. Limited because each issue is compared with all errors. */
const maxErrors = 500

/**
 * Describes the issues of a Standard Schema for the model. `errors`: the errors of the tool's JSON Schema for the same value. An error
 * replaces an issue about the same problem, because the model knows the JSON Schema. Some libraries report no details about a union, but
 * the errors do.
 */
export function issuesInWords(issues: readonly StandardSchemaV1.Issue[], errors: readonly ErrorObject[], value: unknown): string[] {
  const known = errors.slice(0, maxErrors).filter(({ keyword }) => exact.has(keyword) || bounds.has(keyword))
  const told = issues.slice(0, maxInWords).flatMap((issue) => {
    // The path may be an instance of a class whose `map` returns another type.
    const keys = Array.from(issue.path ?? [], (segment) => (typeof segment === 'object' ? segment.key : segment))
    const same = errorsAt(keys, known)
    if (same.length === 0) return [ownWords(issue.message, keys, value)]
    return same.map((error) => (bounds.has(error.keyword) ? `${inWords(error)} (${clip(issue.message)})` : inWords(error)))
  })
  return firstProblems(new Set(told), Math.max(0, issues.length - maxInWords))
}

function errorsAt(keys: readonly PropertyKey[], errors: readonly ErrorObject[]): ErrorObject[] {
  const parent = pointerTo(keys.slice(0, -1))
  const place = pointerTo(keys)
  const last = keys.at(-1)
  const isAt = ({ instancePath, params }: ErrorObject) => instancePath === place && params.missingProperty === undefined
  const isOfField = ({ instancePath, params }: ErrorObject) => instancePath === parent && fieldOf(params) === String(last)
  const here = errors.filter((error) => isAt(error) || isOfField(error))
  const isUnion = here.some(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  return isUnion ? errors.filter((error) => isOfField(error) || `${error.instancePath}/`.startsWith(`${place}/`)) : here
}

/** Returns the name of the missing or unknown field. */
function fieldOf({ missingProperty, additionalProperty, unevaluatedProperty }: ErrorObject['params']): unknown {
  return missingProperty ?? additionalProperty ?? unevaluatedProperty
}

function ownWords(message: string, keys: readonly PropertyKey[], value: unknown): string {
  if (keys.length === 0) return `arguments: ${clip(message)}`
  const found = keys.reduce(stepInto, value)
  const at = `\`${clip(fieldName(pointerTo(keys)))}\``
  const got = show(found)
  return found === undefined || message.includes(got) ? `${at}: ${clip(message)}` : `${at}: ${clip(message)}, got ${got}`
}

function stepInto(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined
}

/** Converts a path to a JSON Pointer: `['list', 0, 'na/me']` to `/list/0/na~1me`. */
function pointerTo(keys: readonly PropertyKey[]): string {
  return keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
