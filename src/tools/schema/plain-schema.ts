import { isJsonObject } from '../../core/messages.ts'

type Check = (value: unknown, depth: number) => boolean

const isText: Check = (value) => typeof value === 'string'
const isAnything: Check = () => true
const isNumber: Check = (value) => typeof value === 'number'
const isCount: Check = (value) => Number.isInteger(value) && Number(value) >= 0
const isTypeName: Check = (value) =>
  typeof value === 'string' && ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'].includes(value)
const isSchema: Check = (value, depth) => typeof value === 'boolean' || isPlainSchema(value, depth + 1)
const isListOf =
  (check: Check, least: number): Check =>
  (value, depth) =>
    Array.isArray(value) && value.length >= least && value.every((item) => check(item, depth))
const isSetOf =
  (check: Check, least: number): Check =>
  (value, depth) =>
    isListOf(check, least)(value, depth) && new Set(value as unknown[]).size === (value as unknown[]).length

/** The keywords that nearly all tools use, with a check for each. Schemas with other keywords are left to the compiler. */
const keywords: Readonly<Record<string, Check>> = {
  title: isText,
  description: isText,
  default: isAnything,
  type: (value, depth) => isTypeName(value, depth) || isSetOf(isTypeName, 1)(value, depth),
  enum: isListOf(isAnything, 1),
  const: isAnything,
  format: isText,
  minLength: isCount,
  maxLength: isCount,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  properties: (value, depth) =>
    isJsonObject(value) && Object.entries(value).every(([name, schema]) => name !== '__proto__' && isSchema(schema, depth)),
  required: isSetOf(isText, 0),
  additionalProperties: isSchema,
  items: isSchema,
  minItems: isCount,
  maxItems: isCount,
  anyOf: isListOf(isSchema, 1),
  oneOf: isListOf(isSchema, 1),
  allOf: isListOf(isSchema, 1),
}
const deepest = 20

/**
 * Whether a JSON Schema is certain to compile. An application can then start without loading the compiler. False means that only the
 * compiler can decide. `schema` must be plain JSON.
 */
export function isPlainSchema(schema: unknown, depth = 0): boolean {
  return (
    isJsonObject(schema) &&
    depth < deepest &&
    Object.entries(schema).every(([name, value]) => Object.hasOwn(keywords, name) && keywords[name]?.(value, depth) === true)
  )
}
