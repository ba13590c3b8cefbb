import { isDeepEqual } from '../../core/json.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'

/**
 * A tool's parameters as most APIs take them: an object schema without alternatives at its top. Alternatives are joined into one object
 * that has the properties of all and requires what all require; arguments are still checked against the tool's own schema.
 */
export function objectSchema(parameters: Readonly<Record<string, unknown>> = {}): { schema: JsonObject; joined: boolean } {
  const { oneOf, anyOf, allOf, ...rest } = parameters
  const own = plain(rest)
  const alternatives = [oneOf, anyOf].flatMap((list) => (Array.isArray(list) ? [list.filter(isJsonObject)] : []))
  const parts = Array.isArray(allOf) ? allOf.filter(isJsonObject) : []
  if (alternatives.length === 0 && parts.length === 0) return { schema: { ...own, type: 'object' }, joined: false }

  const variants = alternatives.flat()
  const properties: JsonObject = {}
  for (const { properties: some } of [own, ...parts, ...variants]) {
    for (const [name, schema] of Object.entries(isJsonObject(some) ? some : {})) addProperty(properties, name, plain(schema))
  }
  const inAll = alternatives.flatMap((list) =>
    [...new Set(list.flatMap(requiredOf))].filter((name) => list.every((one) => requiredOf(one).includes(name))),
  )
  const required = [...new Set([...requiredOf(own), ...parts.flatMap(requiredOf), ...inAll])]
  return { schema: { ...own, type: 'object', properties, ...(required.length === 0 ? {} : { required }) }, joined: true }
}

/** What differs between alternatives may be any of them. */
function addProperty(properties: JsonObject, name: string, schema: JsonObject): void {
  const known = Object.hasOwn(properties, name) ? properties[name] : undefined
  if (!isJsonObject(known)) {
    Object.defineProperty(properties, name, { value: schema, enumerable: true, configurable: true, writable: true })
    return
  }
  const choices = Object.keys(known).length === 1 && Array.isArray(known.anyOf) ? known.anyOf : [known]
  if (!choices.some((choice) => isDeepEqual(choice, schema))) properties[name] = { anyOf: [...choices, schema] }
}

function requiredOf({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

function plain(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
