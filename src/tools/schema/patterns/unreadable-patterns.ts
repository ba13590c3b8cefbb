import { isJsonObject } from '../../../core/messages.ts'
import { mapSchemas } from '../map-schemas.ts'
import { readPattern } from './read-pattern.ts'

type JsonSchema = Record<string, unknown>

/**
 * Removes patterns that can't be read. Calls `note` with the position of each. Without a pattern for field names, `additionalProperties`
 * would refuse valid fields, so it is removed too.
 */
export function withoutUnreadablePatterns(schema: JsonSchema, note: (at: string) => void): JsonSchema {
  return mapSchemas(schema, (one, at) => {
    const { pattern, patternProperties } = one
    const isOdd = typeof pattern === 'string' && readPattern(pattern) === undefined
    const names = Object.keys(isJsonObject(patternProperties) ? patternProperties : {})
    const oddNames = names.filter((name) => readPattern(name) === undefined)
    if (!isOdd && oddNames.length === 0) return one
    const { pattern: _, patternProperties: _names, additionalProperties, unevaluatedProperties, ...rest } = one
    if (isOdd) note(`${at}/pattern`)
    if (oddNames.length === 0) return { ...one, pattern: undefined }
    for (const name of oddNames) note(`${at}/patternProperties/${name}`)
    const readable = Object.entries(patternProperties ?? {}).filter(([name]) => !oddNames.includes(name))
    return { ...rest, ...(isOdd || pattern === undefined ? {} : { pattern }), patternProperties: Object.fromEntries(readable) }
  })
}
