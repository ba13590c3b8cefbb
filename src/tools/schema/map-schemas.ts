import { isJsonObject, setField } from '../../core/messages.ts'

type JsonSchema = Record<string, unknown>

/** Keywords whose value is a schema (`oneSchema`), a list of schemas (`severalSchemas`), or schemas by name (`namedSchemas`). */
export const oneSchema: ReadonlySet<string> = new Set([
  ...['items', 'additionalItems', 'additionalProperties', 'unevaluatedItems', 'unevaluatedProperties', 'contains', 'propertyNames'],
  ...['not', 'if', 'then', 'else'],
])
export const severalSchemas: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
export const namedSchemas: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])

/** Maximum depth. Deeper schemas are not changed. */
const maxDepth = 200

/**
 * Changes a schema and all schemas in it, from the outermost inwards. Returns the schema itself if nothing changes. `at` is the position of
 * a schema, as `#` and a JSON Pointer. A schema that occurs in several places is changed only once.
 */
export function mapSchemas(root: JsonSchema, change: (schema: JsonSchema, at: string) => JsonSchema): JsonSchema {
  const known = new Map<JsonSchema, JsonSchema>()

  function mapOne(given: JsonSchema, at: string, depth: number): JsonSchema {
    const before = known.get(given)
    if (before !== undefined || depth > maxDepth) return before ?? given
    // A schema may contain itself.
    known.set(given, given)
    const changed = change(given, at)
    const mapped = mapFields(changed, (keyword, value) => mapKeyword(keyword, value, `${at}/${keyword}`, depth))
    known.set(given, mapped)
    return mapped
  }

  function mapKeyword(keyword: string, value: unknown, at: string, depth: number): unknown {
    const mapAny = (one: unknown, key: string) => (isJsonObject(one) ? mapOne(one, `${at}/${escaped(key)}`, depth + 1) : one)
    if (Array.isArray(value)) return severalSchemas.has(keyword) ? mapItems(value, (one, index) => mapAny(one, String(index))) : value
    if (!isJsonObject(value)) return value
    if (oneSchema.has(keyword)) return mapOne(value, at, depth + 1)
    return namedSchemas.has(keyword) ? mapFields(value, (name, one) => mapAny(one, name)) : value
  }

  return mapOne(root, '#', 0)
}

function mapFields(object: JsonSchema, map: (name: string, value: unknown) => unknown): JsonSchema {
  const mapped = Object.entries(object).map(([name, value]) => ({ name, value, to: map(name, value) }))
  if (mapped.every(({ value, to }) => value === to)) return object
  const copy: JsonSchema = {}
  for (const { name, to } of mapped) setField(copy, name, to)
  return copy
}

function mapItems(items: readonly unknown[], map: (item: unknown, at: number) => unknown): readonly unknown[] {
  const mapped = items.map(map)
  return mapped.every((item, at) => item === items[at]) ? items : mapped
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
