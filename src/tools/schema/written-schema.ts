import type { StandardSchemaV1 } from '@standard-schema/spec'
import { ToolloopError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { isStandardSchema, type JsonSchema } from './schema.ts'

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text

/** Keywords whose value is a schema, or may look like a schema. */
const schemaValued =
  'items additionalItems additionalProperties unevaluatedItems unevaluatedProperties contains contentSchema propertyNames not if then else properties patternProperties definitions dependencies dependentSchemas default const example xml externalDocs discriminator'
type SchemaValued = Words<typeof schemaValued> | Extension
type Extension = `x-${string}` | `$${string}`

/** All other keywords of all drafts since 4, and of OpenAPI. */
const plainValued =
  'id type enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern prefixItems maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired allOf anyOf oneOf format contentEncoding contentMediaType title description deprecated readOnly writeOnly examples nullable'
type Keyword = SchemaValued | Words<typeof plainValued>

/** Keywords that allow `required` to name a field that is not in `properties`. */
const addsProperties =
  '$ref $dynamicRef patternProperties additionalProperties unevaluatedProperties dependencies dependentSchemas anyOf oneOf allOf not if then else'
type AddsProperties = Words<typeof addsProperties>

const typeNames = 'string number integer boolean object array null'
type TypeName = Words<typeof typeNames>

type LooksLikeSchema =
  | StandardSchemaV1
  | { type: TypeName | readonly TypeName[] }
  | { enum: readonly unknown[] }
  | { properties: object }
  | { anyOf: readonly unknown[] }
  | { oneOf: readonly unknown[] }

type FieldsInPlaceOfSchema = "Expected a schema, not fields: write z.object({ … }) or { type: 'object', properties: { … } }"

/**
 * Checks at compile time whether a schema is written correctly: `unknown` if it is, otherwise a type to which the schema is not assignable.
 */
export type WrittenSchema<S> = S extends StandardSchemaV1
  ? unknown
  : string extends keyof S
    ? unknown
    : keyof S extends never
      ? unknown
      : keyof S & Keyword extends never
        ? { readonly [K in keyof S]: FieldsInPlaceOfSchema }
        : {
            readonly [K in keyof S as S[K] extends StandardSchemaV1
              ? K
              : K extends SchemaValued
                ? never
                : S[K] extends LooksLikeSchema
                  ? K
                  : never]: FieldsInPlaceOfSchema
          } & RequiredOf<S>

type RequiredOf<S> = keyof S & AddsProperties extends never
  ? S extends { properties: infer P; required: readonly (infer R)[] }
    ? string extends R
      ? unknown
      : { readonly required: readonly (keyof P)[] }
    : unknown
  : unknown

const schemaValuedNames = new Set(schemaValued.split(' '))
const keywords = new Set(`${schemaValued} ${plainValued}`.split(' '))
const namesThatAdd = new Set(addsProperties.split(' '))
const namesOfTypes = new Set(typeNames.split(' '))

/** Schemas that need no check, or that have passed it. */
const accepted = new WeakSet<JsonSchema>()

/** Exempts a schema from `checkWritten`, because a schema of another author may have any keyword. */
export function acceptSchema<Schema extends JsonSchema>(schema: Schema): Schema {
  accepted.add(schema)
  return schema
}

/**
 * Describes a mistake in a JSON Schema that compiles but does not mean what its author intended. For example, fields outside `properties`,
 * or a zod schema inside a JSON Schema. The model would not see such fields.
 */
export function problemOfWritten(schema: JsonSchema): string | undefined {
  if (accepted.has(schema)) return undefined
  const problem = isFieldList(schema) ? fieldsProblem(schema) : problemIn(schema, '', new Set())
  if (problem === undefined) accepted.add(schema)
  return problem
}

/** Throws `invalid_tool` if `problemOfWritten` finds a problem. */
export function checkWritten(schema: JsonSchema, toolName: string): void {
  const problem = problemOfWritten(schema)
  if (problem !== undefined) throw new ToolloopError('invalid_tool', `Tool \`${toolName}\`: ${problem}`)
}

/** Whether a schema is only a mapping of fields, such as `{ city: z.string() }`, `{ city: { type: 'string' } }`, `{ city: 'string' }`. */
function isFieldList(schema: JsonSchema): boolean {
  const names = Object.keys(schema)
  return names.length > 0 && !names.some((name) => keywords.has(name) || isExtension(name))
}

function fieldsProblem(schema: JsonSchema): string {
  const [name = '', value] = Object.entries(schema)[0] ?? []
  return `expected a schema, got fields (${quoted(Object.keys(schema))}); write \`${objectOf(name, value)}\``
}

/** Returns the object schema that the author probably meant, as code. */
function objectOf(name: string, value: unknown): string {
  if (!isStandardSchema(value)) return `{ type: 'object', properties: { ${name}: … } }`
  const { vendor } = value['~standard']
  return vendor === 'zod' ? `z.object({ ${name}: … })` : `an object schema of ${vendor} with \`${name}\``
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function isExtension(name: string): boolean {
  return name.startsWith('x-') || name.startsWith('$')
}

const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const schemaLists = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const innerSchemas = ['items', 'additionalProperties', 'contains']
const conditionalSchemas = ['not', 'if', 'then', 'else']
/** Keywords whose schemas combine with another schema. `required` in them may name properties of the other schema. */
const sharedSchemas = new Set([
  ...conditionalSchemas,
  ...['contains', 'anyOf', 'oneOf', 'allOf', 'dependentSchemas', 'patternProperties', '$defs', 'definitions'],
])

/** Returns the first problem in a schema. `isShared`: whether `required` may name properties of another schema. */
function problemIn(schema: unknown, path: string, seen: Set<unknown>, isShared = false): string | undefined {
  if (isStandardSchema(schema))
    return `expected \`${path}\` to be JSON Schema, got a schema of ${schema['~standard'].vendor}; write the whole schema in one of the two`
  if (!isJsonObject(schema) || seen.has(schema)) return undefined
  seen.add(schema)
  const at = path === '' ? '' : ` at \`${path}\``
  for (const [name, value] of Object.entries(schema)) {
    if (!schemaValuedNames.has(name) && !isExtension(name) && looksLikeSchema(value))
      return `expected \`${name}\`${at} to be among \`properties\`, got it as a keyword of the schema; write \`${objectOf(name, value)}\``
  }
  return requiredProblem(schema, at, isShared) ?? problemInside(schema, path, seen, isShared)
}

function looksLikeSchema(value: unknown): boolean {
  if (isStandardSchema(value)) return true
  if (!isJsonObject(value)) return false
  const { type, properties } = value
  const types: unknown[] = Array.isArray(type) ? type : [type]
  const lists = [value.enum, value.anyOf, value.oneOf]
  return types.every((one) => namesOfTypes.has(one as string)) || isJsonObject(properties) || lists.some(Array.isArray)
}

function requiredProblem({ required, ...schema }: JsonSchema, at: string, isShared: boolean): string | undefined {
  if (typeof required === 'boolean')
    return `expected \`required\`${at} to be a list of names, got \`${required}\`; name the property in its object's \`required\``
  if (isShared || !Array.isArray(required) || !isJsonObject(schema.properties)) return undefined
  if (Object.keys(schema).some((name) => namesThatAdd.has(name))) return undefined
  const properties = Object.keys(schema.properties)
  const missing = required.find((name) => typeof name === 'string' && !properties.includes(name))
  if (missing === undefined) return undefined
  return `expected \`required\`${at} to name \`properties\`, which are ${quoted(properties) || 'none'}, got \`${missing}\`${didYouMean(missing, properties)}`
}

function problemInside(schema: JsonSchema, path: string, seen: Set<unknown>, isShared: boolean): string | undefined {
  const areShared = (name: string) => isShared || sharedSchemas.has(name)
  const under = (name: string) => (path === '' ? name : `${path}.${name}`)
  for (const map of schemaMaps) {
    const schemas = schema[map]
    if (!isJsonObject(schemas)) continue
    for (const [name, one] of Object.entries(schemas)) {
      const problem = problemIn(one, under(`${map}.${name}`), seen, areShared(map))
      if (problem !== undefined) return problem
    }
  }
  for (const name of [...innerSchemas, ...conditionalSchemas]) {
    const problem = problemIn(schema[name], under(name), seen, areShared(name))
    if (problem !== undefined) return problem
  }
  for (const list of schemaLists) {
    const schemas = schema[list]
    if (!Array.isArray(schemas)) continue
    for (const [at, one] of schemas.entries()) {
      const problem = problemIn(one, under(`${list}[${at}]`), seen, areShared(list))
      if (problem !== undefined) return problem
    }
  }
  return undefined
}
