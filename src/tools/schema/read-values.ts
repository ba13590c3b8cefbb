import { jsonType } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { keysOfReference } from './reference.ts'
import type { JsonSchema } from './schema.ts'

/** A schema may refer to itself. */
const maxDepth = 64

/**
 * How many parts of schemas are looked at: so many for the arguments, and so many more for each value. A schema can combine others so that each
 * value takes very many; values are then left as they are.
 */
const lookedAt = { inAll: 50_000, aValue: 30 }

/** How a value is read under a schema, without what is inside it: the value itself if it stays as it is. */
export type ReadValue = (value: Json, schema: JsonSchema, schemas: Schemas) => Json

/** A copy of the arguments, each value as `read` reads it under its schema. What is inside a value is read after the value itself. */
export function readArguments(args: JsonObject, schema: JsonSchema, read: ReadValue): JsonObject {
  const copy = readIn(args, schema, new Schemas(schema), read, 0)
  return isJsonObject(copy) ? copy : args
}

function readIn(given: Json, schema: unknown, schemas: Schemas, read: ReadValue, depth: number): Json {
  schemas.enterValue()
  const shape = schemas.partsOf(schema)
  if (shape.length === 0 || depth > maxDepth) return given
  const value = shape.reduce((one, part) => read(one, part, schemas), given)
  if (typeof value !== 'object' || value === null) return value
  const parts = schemas.partsOf(schema, value)
  const readInside = (item: Json, schemaIn: (part: JsonSchema) => unknown): Json =>
    parts.reduce((one, part) => readIn(one, schemaIn(part), schemas, read, depth + 1), item)
  if (Array.isArray(value)) return value.map((item, at) => readInside(item, (part) => itemSchema(part, at)))
  // Built from entries, so that `__proto__` is a key like any other.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, readInside(item, (part) => fieldSchema(part, key))]))
}

/** A schema and those inside it. */
export class Schemas {
  readonly #root: JsonSchema
  readonly #referred = new Map<string, unknown>()
  #left = lookedAt.inAll

  constructor(root: JsonSchema) {
    this.#root = root
  }

  /** One more value is read. */
  enterValue(): void {
    this.#left += lookedAt.aValue
  }

  /**
   * The schemas that a value has to fit at once: this one, those it combines with `allOf`, and, for a `value`, of each choice the only branch
   * that the value can be.
   */
  partsOf(given: unknown, value?: Json, parts: JsonSchema[] = []): JsonSchema[] {
    const schema = this.resolve(given)
    if (schema === undefined || parts.includes(schema) || this.#left-- <= 0) return parts
    parts.push(schema)
    for (const part of listed(schema.allOf)) this.partsOf(part, value, parts)
    if (value === undefined) return parts
    for (const choice of [schema.anyOf, schema.oneOf]) {
      const [branch, ...others] = listed(choice).filter((one) => this.#canBe(value, one))
      if (others.length === 0) this.partsOf(branch, value, parts)
    }
    return parts
  }

  /** Whether a schema's types, constants and choices leave room for a value. What is inside it, and its size and form, are not looked at. */
  admit(value: Json, given: unknown, seen: Set<unknown> = new Set()): boolean {
    if (typeof given === 'boolean') return given
    const schema = this.resolve(given)
    // What leads back to itself, or nowhere, says nothing.
    if (schema === undefined || seen.has(schema) || this.#left-- <= 0) return true
    seen.add(schema)
    const { type } = schema
    if (type !== undefined && !hasType(value, Array.isArray(type) ? type : [type])) return false
    if ('const' in schema && !isSame(schema.const, value)) return false
    if (Array.isArray(schema.enum) && !schema.enum.some((one) => isSame(one, value))) return false
    const admits = (one: unknown) => this.admit(value, one, seen)
    const choices = [schema.anyOf, schema.oneOf].filter(Array.isArray)
    return listed(schema.allOf).every(admits) && choices.every((choice) => choice.some(admits))
  }

  /** The schema itself, or the one of the same document it refers to. */
  resolve(given: unknown): JsonSchema | undefined {
    let schema = given
    for (let hops = 0; isJsonObject(schema) && typeof schema.$ref === 'string'; hops++) {
      if (hops > maxDepth) return undefined
      schema = this.#find(schema.$ref)
    }
    return isJsonObject(schema) ? schema : undefined
  }

  #find(reference: string): unknown {
    if (this.#referred.has(reference)) return this.#referred.get(reference)
    const step = (at: unknown, key: string) =>
      (Array.isArray(at) || isJsonObject(at)) && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined
    const found = keysOfReference(reference)?.reduce<unknown>(step, this.#root)
    this.#referred.set(reference, found)
    return found
  }

  /** Whether a value has the type of a branch, all that it requires, and its constants. */
  #canBe(value: Json, branch: unknown): boolean {
    if (!this.admit(value, branch)) return false
    if (!isJsonObject(value)) return true
    return this.partsOf(branch).every(({ required, properties }) => {
      if (listed(required).some((key) => !Object.hasOwn(value, String(key)))) return false
      const fields = Object.entries(isJsonObject(properties) ? properties : {})
      return fields.every(([key, field]) => !hasConstant(field) || !Object.hasOwn(value, key) || this.admit(value[key] ?? null, field))
    })
  }
}

/** A value of the schema's types, which are as JSON Schema names them. */
export function hasType(value: Json, types: readonly unknown[]): boolean {
  return types.includes(jsonType(value)) || (types.includes('integer') && Number.isInteger(value))
}

function hasConstant(schema: unknown): boolean {
  return isJsonObject(schema) && ('const' in schema || Array.isArray(schema.enum))
}

/** What is inside objects and arrays is not compared. */
function isSame(constant: unknown, value: Json): boolean {
  return constant === value || (typeof value === 'object' && value !== null && typeof constant === 'object')
}

function itemSchema({ items, prefixItems, additionalItems }: JsonSchema, at: number): unknown {
  if (Array.isArray(items)) return at < items.length ? items[at] : additionalItems
  return Array.isArray(prefixItems) && at < prefixItems.length ? prefixItems[at] : items
}

function fieldSchema({ properties, additionalProperties }: JsonSchema, key: string): unknown {
  return isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
