import { clip, show } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/messages.ts'
import { mapSchemas } from '../map-schemas.ts'
import { keysOfReference } from '../reference.ts'
import type { JsonSchema } from '../schema.ts'
import { readField } from './read-field.ts'

/** Receives a description of each change to a schema. */
type Note = (what: string) => void

/**
 * Converts a schema to draft 2020-12 or draft-07. Repairs deviations with a clear meaning, such as keywords of older drafts and of OpenAPI
 * 3.0, or type names of other languages. Removes other invalid parts. Returns the schema itself if nothing has to change.
 */
export function mendSchema(schema: JsonSchema, note: Note): JsonSchema {
  const mended = mapSchemas(schema, (one, at) => compared(one, mendOne(one, at === '#'), at, note))
  const mendReference = referenceMender(mended)
  return mapSchemas(mended, (one, at) => compared(one, mendReference(one), at, note))
}

/** Calls `note` for each difference between a schema and its original. */
function compared(before: JsonSchema, after: JsonSchema, at: string, note: Note): JsonSchema {
  const keywords = after === before ? [] : new Set([...Object.keys(before), ...Object.keys(after)])
  let isSame = true
  for (const keyword of keywords) {
    const [was, is] = [before[keyword], after[keyword]]
    if (was === is) continue
    isSame = false
    const change = was === undefined ? `${show(is)} added` : is === undefined ? `${show(was)} left out` : `${show(was)} read as ${show(is)}`
    note(`${clip(`${at}/${keyword}`)}: ${change}`)
  }
  return isSame ? before : after
}

function mendOne(schema: JsonSchema, isRoot: boolean): JsonSchema {
  const whole = withNames(withBounds(schema))
  const read = Object.entries(whole).flatMap(([keyword, value]) => {
    const field = readField(keyword, value)
    return field === undefined ? [] : [[keyword, field] as const]
  })
  const { nullable, ...mended } = withNull(Object.fromEntries(read))
  return isRoot && Array.isArray(mended.type) && mended.type.includes('object') ? { ...mended, type: 'object' } : mended
}

/** Converts `minimum: 1, exclusiveMinimum: true` (draft-04 and OpenAPI 3.0) to `exclusiveMinimum: 1`. */
export function withBounds(schema: JsonSchema): JsonSchema {
  let mended = schema
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (mended[exclusive] !== true && mended[exclusive] !== false) continue
    const { [bound]: limit, [exclusive]: isExclusive, ...rest } = mended
    mended = limit === undefined ? rest : { ...rest, [isExclusive ? exclusive : bound]: limit }
  }
  return mended
}

/** Moves `required: true` of a field (draft-03) to the list of required names. */
function withNames(schema: JsonSchema): JsonSchema {
  const { properties, required } = schema
  const names = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, one]) =>
    isJsonObject(one) && one.required === true ? [name] : [],
  )
  return names.length === 0 ? schema : { ...schema, required: [...(Array.isArray(required) ? required : []), ...names] }
}

/** Converts `nullable` of OpenAPI 3.0 to the type `null`. */
function withNull(schema: JsonSchema): JsonSchema {
  const { nullable, type, enum: values } = schema
  if (nullable !== true || type === undefined) return schema
  const types = [type].flat()
  const all = types.includes('null') ? type : [...types, 'null']
  return { ...schema, type: all, ...(Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {}) }
}

/**
 * Redirects a broken reference to the only definition with the same name, or removes the reference. Keeps all references if the schema
 * contains ids to which they may refer.
 */
function referenceMender(root: JsonSchema): (schema: JsonSchema) => JsonSchema {
  const definitions = new Map<string, string[]>()
  const ids = new Set<string>()
  mapSchemas(root, (one, at) => {
    for (const [keyword, named] of [
      ['$defs', one.$defs],
      ['definitions', one.definitions],
    ] as const)
      for (const name of Object.keys(isJsonObject(named) ? named : {})) {
        const keys = [...at.slice(1).split('/').slice(1), keyword, name.replaceAll('~', '~0').replaceAll('/', '~1')]
        definitions.set(name, [...(definitions.get(name) ?? []), `#/${keys.map(encodeURIComponent).join('/')}`])
      }
    for (const id of [at === '#' ? undefined : one.$id, one.$anchor, one.$dynamicAnchor]) if (typeof id === 'string') ids.add(id)
    return one
  })
  if (ids.size > 0) return (schema) => schema
  return (schema) => {
    const { $ref, ...rest } = schema
    if (typeof $ref !== 'string' || leadsSomewhere(root, $ref)) return schema
    const places = definitions.get(decodedName($ref)) ?? []
    return places.length === 1 ? { ...rest, $ref: places[0] } : rest
  }
}

function leadsSomewhere(root: JsonSchema, reference: string): boolean {
  const isOfOwnId = typeof root.$id === 'string' && reference.startsWith(root.$id.replace(/#$/, ''))
  if (isOfOwnId || /^https?:\/\/json-schema\.org\//.test(reference)) return true
  let value: unknown = root
  for (const key of keysOfReference(reference) ?? [undefined]) {
    if (typeof value !== 'object' || value === null || key === undefined || !Object.hasOwn(value, key)) return false
    value = Reflect.get(value, key)
  }
  return typeof value === 'boolean' || isJsonObject(value)
}

/** Returns the name at the end of a reference: `Pet` for `#/components/schemas/Pet`. */
function decodedName(reference: string): string {
  return keysOfReference(`#/${reference.replace(/^.*[#/]/, '')}`)?.[0] ?? ''
}
