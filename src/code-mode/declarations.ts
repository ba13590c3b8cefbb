import { isJsonObject, type Json, type JsonObject } from '../core/messages.ts'
import { keysOfReference } from '../tools/schema/reference.ts'
import { parametersOf } from '../tools/schema/schema.ts'
import type { AnyTool } from '../tools/tool.ts'

const deepest = 8
const longestDescription = 300
const mostValues = 40
const mostSchemas = 300

/** Returns the TypeScript declarations of tools, or undefined if they are longer than `most` characters. */
export function declareTools(tools: readonly AnyTool[], most: number): string | undefined {
  const lines: string[] = []
  let length = 0
  for (const tool of tools) {
    const declared = declareTool(tool) ?? ''
    length += declared.length
    if (length > most) return undefined
    lines.push(declared.replace(/^/gm, '  '))
  }
  return `declare const tools: {\n${lines.join('\n')}\n}`
}

/** Returns the TypeScript declaration of a tool as a method, with its description, its arguments and, if known, its return type. */
export function declareTool(tool: AnyTool | undefined): string | undefined {
  if (tool === undefined) return undefined
  const { name, description, outputSchema } = tool
  const parameters = parametersOf(tool) as Json
  const args = typeOf(parameters, { root: parameters, depth: 0, room: { left: mostSchemas } })
  const isOptional = isJsonObject(parameters) && !(Array.isArray(parameters.required) && parameters.required.length > 0)
  const output = outputSchema as Json | undefined
  const returned = output === undefined ? 'unknown' : typeOf(output, { root: output, depth: 0, room: { left: mostSchemas } })
  return `${comment(description)}${keyOf(name)}(args${isOptional ? '?' : ''}: ${args}): Promise<${returned}>`
}

function comment(text: unknown): string {
  if (typeof text !== 'string' || text.trim() === '') return ''
  const line = text.replace(/\s+/g, ' ').trim().replaceAll('*/', '* /')
  return `/** ${line.length > longestDescription ? `${line.slice(0, longestDescription)}…` : line} */\n`
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

interface Place {
  root: Json
  depth: number
  /**
   * The number of schemas that may still be visited. The limit exists because a few schemas that refer to each other can expand to a huge
   * type.
   */
  room: { left: number }
}

/** Returns the type that a JSON Schema describes, or `unknown` if TypeScript can't express it. */
function typeOf(schema: Json | undefined, { root, depth, room }: Place): string {
  if (!isJsonObject(schema) || depth > deepest || --room.left < 0) return 'unknown'
  const within = (inner: Json | undefined): string => typeOf(inner, { root, depth: depth + 1, room })
  if (typeof schema.$ref === 'string') return within(referred(schema.$ref, root))
  if (Array.isArray(schema.enum)) return union(schema.enum.slice(0, mostValues).map((value) => JSON.stringify(value)))
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return union(choices.map(within))
  if (Array.isArray(schema.allOf) && schema.properties === undefined) return schema.allOf.map(within).join(' & ') || 'unknown'
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? (isJsonObject(schema.properties) ? 'object' : undefined)]
  return union(types.map((type) => plainType(type, schema, within)))
}

function referred(reference: string, root: Json): Json | undefined {
  let found: Json | undefined = root
  for (const key of keysOfReference(reference) ?? ['']) found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
  return found
}

function plainType(type: Json | undefined, schema: JsonObject, within: (inner: Json | undefined) => string): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return type
    case 'integer':
      return 'number'
    case 'array':
      return `Array<${within(schema.items)}>`
    case 'object':
      return objectType(schema, within)
    default:
      return 'unknown'
  }
}

function objectType({ properties, required, additionalProperties }: JsonObject, within: (inner: Json | undefined) => string): string {
  if (!isJsonObject(properties) || Object.keys(properties).length === 0)
    return isJsonObject(additionalProperties)
      ? `Record<string, ${within(additionalProperties)}>`
      : additionalProperties === false
        ? '{}'
        : 'object'
  const needed = Array.isArray(required) ? required : []
  const fields = Object.entries(properties).map(([name, schema]) => {
    const note = isJsonObject(schema) ? comment(schema.description).trimEnd() : ''
    return `${note === '' ? '' : `${note} `}${keyOf(name)}${needed.includes(name) ? '' : '?'}: ${within(schema)}`
  })
  return `{ ${fields.join('; ')} }`
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ') || 'unknown'
}
