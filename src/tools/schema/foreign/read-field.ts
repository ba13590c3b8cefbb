import { isJsonObject } from '../../../core/messages.ts'

/** Returns the value of a keyword: unchanged if it is valid, repaired if its meaning is clear, otherwise undefined. */
type Read = (value: unknown) => unknown

const text: Read = (value) => (typeof value === 'string' ? value : undefined)
const prose: Read = (value) => {
  if (Array.isArray(value) && value.every((line) => typeof line === 'string')) return value.join('\n')
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : text(value)
}
const number: Read = (value) => {
  const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof read === 'number' && Number.isFinite(read) ? read : undefined
}
const above = (least: number, read: Read): Read => {
  return (value) => {
    const found = read(value)
    return typeof found === 'number' && found >= least ? found : undefined
  }
}
const count = above(0, (value) => {
  const read = number(value)
  return Number.isInteger(read) ? read : undefined
})
const flag: Read = (value) => (typeof value === 'string' && /^(true|false)$/i.test(value) ? /^t/i.test(value) : isFlag(value))
const isFlag: Read = (value) => (typeof value === 'boolean' ? value : undefined)

/** PHP and Lua write an empty object as an empty list. */
const object: Read = (value) => (Array.isArray(value) && value.length === 0 ? {} : isJsonObject(value) ? value : undefined)
const schema: Read = (value) => {
  const type = typeof value === 'string' ? readType(value) : undefined
  return object(value) ?? flag(value) ?? (type === undefined ? undefined : { type })
}
const named: Read = (value) => {
  const read = object(value)
  if (!isJsonObject(read)) return undefined
  // A field with an unusable schema accepts every value.
  const fields = Object.entries(read).map(([name, one]) => [name, schema(one) ?? {}] as const)
  return fields.every(([name, one]) => read[name] === one) ? read : Object.fromEntries(fields)
}
const several: Read = (value) => {
  const given: unknown = isJsonObject(value) ? [value] : value
  if (!Array.isArray(given) || given.length === 0) return undefined
  const read = given.map((one: unknown) => schema(one) ?? {})
  return Array.isArray(value) && read.every((one, at) => one === value[at]) ? value : read
}
const items: Read = (value) => (Array.isArray(value) ? several(value) : schema(value))

const different = (value: readonly unknown[]): readonly unknown[] => {
  const all = [...new Set(value)]
  return all.length === value.length ? value : all
}
const names: Read = (value) => {
  const given: unknown = typeof value === 'string' ? [value] : value
  if (!Array.isArray(given)) return undefined
  const read = different(given.filter((name) => typeof name === 'string'))
  return read.length === given.length && Array.isArray(value) ? value : read
}
const values: Read = (value) => (Array.isArray(value) && value.length > 0 ? different(value) : undefined)
const list: Read = (value) => (Array.isArray(value) ? value : [value])

const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
/** Names of types in other languages. */
const otherTypes: Readonly<Record<string, string>> = {
  str: 'string',
  text: 'string',
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  bool: 'boolean',
  dict: 'object',
  list: 'array',
  none: 'null',
}

function readType(name: string): string | undefined {
  const lower = name.toLowerCase()
  return types.includes(lower) ? lower : Object.hasOwn(otherTypes, lower) ? otherTypes[lower] : undefined
}

/** Undefined for an unknown type (`any`, `file`), so that every value is allowed. */
const type: Read = (value) => {
  if (typeof value === 'string') return readType(value)
  if (!Array.isArray(value) || value.length === 0) return undefined
  const read = value.map((name: unknown) => (typeof name === 'string' ? readType(name) : undefined))
  if (read.includes(undefined)) return undefined
  const all = different(read)
  return all.length === value.length && all.every((name, at) => name === value[at]) ? value : all
}

/** Removes the delimiters of a pattern such as `/^a$/`. With the delimiters, the pattern would not match any text. */
const pattern: Read = (value) => {
  const [, inner] = typeof value === 'string' ? (/^\/(\^[\s\S]*\$)\/u?$/.exec(value) ?? []) : []
  return inner ?? text(value)
}
/** Refuses an id with a fragment that is not empty, which is invalid since draft 2019-09, and the id of a dialect. */
const id: Read = (value) =>
  typeof value === 'string' && /^[^#]+#?$/.test(value) && !value.includes('//json-schema.org/') ? value : undefined
const anchor: Read = (value) => (typeof value === 'string' && /^[A-Za-z_][\w.-]*$/.test(value) ? value : undefined)
const nothing: Read = () => undefined

const byForm: readonly (readonly [Read, string])[] = [
  [prose, 'title description $comment'],
  [text, '$schema $ref $dynamicRef format contentEncoding contentMediaType'],
  [id, '$id'],
  [anchor, '$anchor $dynamicAnchor'],
  [pattern, 'pattern'],
  [number, 'minimum maximum exclusiveMinimum exclusiveMaximum'],
  [above(Number.MIN_VALUE, number), 'multipleOf'],
  [count, 'minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains'],
  [flag, 'uniqueItems readOnly writeOnly deprecated'],
  [schema, 'additionalProperties additionalItems unevaluatedProperties unevaluatedItems contains propertyNames not if then else'],
  [items, 'items'],
  [several, 'allOf anyOf oneOf prefixItems'],
  [named, 'properties patternProperties dependentSchemas $defs definitions'],
  [object, 'dependentRequired dependencies'],
  [names, 'required'],
  [values, 'enum'],
  [list, 'examples'],
  [type, 'type'],
  // `id` (draft-04) does not work as the target of a reference. `$async` schemas are not supported.
  [nothing, 'id $async'],
]
const readers: ReadonlyMap<string, Read> = new Map(
  byForm.flatMap(([read, keywords]) => keywords.split(' ').map((keyword) => [keyword, read])),
)

/** Returns the valid or repaired value of a keyword. Undefined if the value has no clear meaning. */
export function readField(keyword: string, value: unknown): unknown {
  const read = readers.get(keyword)
  return read === undefined ? value : read(value)
}
