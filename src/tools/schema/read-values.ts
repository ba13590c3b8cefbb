import { jsonType } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { keysOfReference } from './reference.ts'
import type { JsonSchema } from './schema.ts'

/** Maximum depth, because a schema may refer to itself. */
const maxDepth = 64

/**
 * Maximum number of schemas to visit: `inAll`, plus `aValue` for each value. Limited because combined schemas can require very many visits.
 * After that, values stay unchanged.
 */
const lookedAt = { inAll: 50_000, aValue: 30 }

/** Returns the value of one argument or field, converted to fit its schema. Values inside it are converted separately. */
export type ReadValue = (value: Json, schema: JsonSchema, schemas: Schemas) => Json

/** Copies the arguments and replaces each value by the result of `read`, from the outermost inwards. */
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
  // `fromEntries` treats `__proto__` as an ordinary key.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, readInside(item, (part) => fieldSchema(part, key))]))
}

export class Schemas {
  readonly #root: JsonSchema
  readonly #referred = new Map<string, unknown>()
  #left = lookedAt.inAll

  constructor(root: JsonSchema) {
    this.#root = root
  }

  enterValue(): void {
    this.#left += lookedAt.aValue
  }

  /**
   * Returns the schemas that apply to a value: the schema, those in its `allOf`, and a branch of `anyOf` or `oneOf` if `value` can match
   * only that branch.
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

  /**
   * Whether a value has an allowed type and, if the schema lists constants, equals one of them. Does not check its fields, size or format.
   */
  admit(value: Json, given: unknown, seen: Set<unknown> = new Set()): boolean {
    if (typeof given === 'boolean') return given
    const schema = this.resolve(given)
    // Circular and broken references allow every value.
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

  /** Resolves references. Undefined if a reference has no target in the schema. */
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

  /** Whether a value can match a branch, judged by its type, required fields and constants. */
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

/** Whether a value has one of these JSON Schema types. */
export function hasType(value: Json, types: readonly unknown[]): boolean {
  return types.includes(jsonType(value)) || (types.includes('integer') && Number.isInteger(value))
}

function hasConstant(schema: unknown): boolean {
  return isJsonObject(schema) && ('const' in schema || Array.isArray(schema.enum))
}

/** Whether a value equals a constant. Treats all objects and arrays as equal. */
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
