import type { ErrorObject } from 'ajv'
import { clip, show } from '../../core/errors.ts'
import { jsonType } from '../../core/json.ts'

/** Maximum number of problems to list. */
const maxProblems = 8
/** Maximum number of problems to describe, because describing takes longer than finding. Further problems are only counted. */
export const maxInWords = 100

/** Describes the problems of a value for the model. */
export function problemsOf(errors: readonly ErrorObject[]): string[] {
  const inTime = errors.slice(0, maxInWords)
  return firstProblems(new Set(inTime.map(inWords)), errors.length - inTime.length)
}

/** Returns the first problems and the number of further problems. `others`: the number of problems that are not in `problems`. */
export function firstProblems(problems: Iterable<string>, others = 0): string[] {
  const all = [...problems]
  const first = all.slice(0, maxProblems)
  const more = all.length - first.length + others
  return more === 0 ? first : [...first, `and ${more} more`]
}

/** Describes one violation so that the model can correct it: the field, the expected value, and the actual value. */
export function inWords({ instancePath, keyword, params, message, data }: ErrorObject): string {
  const at = instancePath === '' ? 'arguments' : `\`${clip(fieldName(instancePath))}\``
  switch (keyword) {
    case 'required':
      return `${at}: missing required \`${params.missingProperty}\``
    case 'additionalProperties':
      return `${at}: unknown \`${clip(params.additionalProperty)}\``
    case 'unevaluatedProperties':
      return `${at}: unknown \`${clip(params.unevaluatedProperty)}\``
    case 'type':
      return `${at}: expected ${[params.type].flat().join(' or ')}, got ${jsonType(data)}${data === null ? '' : ` ${show(data)}`}`
    case 'enum':
      return `${at}: expected one of ${show(params.allowedValues)}, got ${show(data)}`
    case 'const':
      return `${at}: expected ${show(params.allowedValue)}, got ${show(data)}`
    default:
      return `${at}: ${message ?? `violates \`${keyword}\``}, got ${show(data)}`
  }
}

/** Converts `/items/0/na~1me` to `items[0].na/me`. */
export function fieldName(pointer: string): string {
  let name = ''
  for (const raw of pointer.slice(1).split('/')) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    name += /^\d+$/.test(key) ? `[${key}]` : name === '' ? key : `.${key}`
  }
  return name
}
