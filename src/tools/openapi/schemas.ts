import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { withBounds } from '../schema/foreign/mend-schema.ts'
import { namedSchemas, oneSchema, severalSchemas } from '../schema/map-schemas.ts'
import { isReference, type OpenApiDocument } from './document.ts'

/** Keywords that have no meaning in JSON Schema, or a different meaning. */
const leftOut = new Set(['example', 'examples', 'xml', 'externalDocs', 'discriminator', 'nullable', '$schema'])

/**
 * Converts the schemas of one operation to JSON Schema. References stay references, because a schema may refer to itself: their targets are
 * collected in `$defs`.
 */
export class OperationSchemas {
  readonly #document: OpenApiDocument
  readonly #names = new Map<string, string>()
  readonly defs: JsonObject = {}

  constructor(document: OpenApiDocument) {
    this.#document = document
  }

  /** Converts a schema for requests. Read-only properties are left out. Throws `invalid_option` for an invalid reference. */
  convert(schema: Json | undefined): Json {
    if (!isJsonObject(schema)) return schema === false ? false : {}
    if (isReference(schema)) {
      const reference = { $ref: `#/$defs/${this.#define(schema.$ref)}` }
      // In version 3.0, other keywords beside a reference have no effect.
      const { $ref: _, ...rest } = schema
      return this.#document.is30 || Object.keys(rest).length === 0 ? reference : { ...this.#keywords(rest), ...reference }
    }
    return this.#document.is30 ? asNullable(this.#keywords(withBounds(schema) as JsonObject), schema) : this.#keywords(schema)
  }

  resolved(schema: Json | undefined): JsonObject {
    const found = this.#document.resolve(schema)
    return isJsonObject(found) ? found : {}
  }

  #define(pointer: string): string {
    const known = this.#names.get(pointer)
    if (known !== undefined) return known
    const target = this.#document.resolve({ $ref: pointer })
    const base = (pointer.split('/').at(-1) ?? '').replace(/%..|~[01]|[^\w.-]/g, '_') || 'schema'
    let name = base
    for (let turn = 2; Object.hasOwn(this.defs, name); turn++) name = `${base}_${turn}`
    this.#names.set(pointer, name)
    // The name is reserved first, because the schema may refer to itself.
    Object.defineProperty(this.defs, name, { value: {}, enumerable: true, configurable: true, writable: true })
    this.defs[name] = this.convert(target as Json)
    return name
  }

  #keywords(schema: JsonObject): JsonObject {
    const hidden = new Set(Object.entries(isJsonObject(schema.properties) ? schema.properties : {}).flatMap(this.#hiddenName))
    const entries = Object.entries(schema)
      .filter(([key]) => !leftOut.has(key) && !key.startsWith('x-'))
      .map(([key, value]): [string, Json] => {
        if (key === 'required' && Array.isArray(value)) return [key, value.filter((name) => !hidden.has(String(name)))]
        if (severalSchemas.has(key) && Array.isArray(value)) return [key, value.map((item) => this.convert(item))]
        if (oneSchema.has(key)) return [key, typeof value === 'boolean' ? value : this.convert(value)]
        if (!namedSchemas.has(key) || !isJsonObject(value)) return [key, value]
        const named = Object.entries(value).filter(([name]) => key !== 'properties' || !hidden.has(name))
        return [key, Object.fromEntries(named.map(([name, item]) => [name, typeof item === 'boolean' ? item : this.convert(item)]))]
      })
    return Object.fromEntries(entries)
  }

  readonly #hiddenName = ([name, schema]: [string, Json]): string[] => (this.resolved(schema).readOnly === true ? [name] : [])
}

/** Converts `nullable` of version 3.0 to the type `null`. Without a type, `nullable` has no meaning. */
function asNullable(converted: JsonObject, { nullable, type, enum: values }: JsonObject): JsonObject {
  if (nullable !== true || typeof type !== 'string') return converted
  return {
    ...converted,
    type: [type, 'null'],
    ...(Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {}),
  }
}
