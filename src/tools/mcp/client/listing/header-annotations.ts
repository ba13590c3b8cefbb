import { isJsonObject, type Json, type JsonObject } from '../../../../core/messages.ts'

/** The characters allowed in a header's name: https://www.rfc-editor.org/rfc/rfc9110#section-5.1 */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const headerTypes: readonly unknown[] = ['string', 'integer', 'boolean']

/**
 * Describes a fault in the `x-mcp-header` annotations, which make a client send arguments as headers. Returns undefined if there is no
 * fault. A client must not offer a tool with such a fault
 * (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#custom-headers-from-tool-parameters).
 */
export function headerProblem(inputSchema: JsonObject): string | undefined {
  const names = new Set<string>()
  // Uses a list instead of recursion, because a schema may be nested very deeply.
  const left: { schema: Json; at: string; isReachable: boolean }[] = [{ schema: inputSchema, at: '', isReachable: true }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { schema, at, isReachable } = next
    if (Array.isArray(schema)) left.push(...schema.map((item) => ({ schema: item, at, isReachable: false })))
    if (!isJsonObject(schema)) continue
    const problem = isReachable || 'x-mcp-header' in schema ? annotationProblem(schema, at, isReachable, names) : undefined
    if (problem !== undefined) return problem
    for (const [key, value] of Object.entries(schema)) {
      if (dataKeywords.has(key)) continue
      if (key !== 'properties' || !isJsonObject(value)) left.push({ schema: value, at, isReachable: false })
      else for (const [name, own] of Object.entries(value)) left.push({ schema: own, at: at === '' ? name : `${at}.${name}`, isReachable })
    }
  }
  return undefined
}

/** Keywords whose values are not schemas. */
const dataKeywords = new Set(['const', 'default', 'enum', 'examples', 'required', 'x-mcp-header'])

function annotationProblem(schema: JsonObject, at: string, isReachable: boolean, names: Set<string>): string | undefined {
  const { 'x-mcp-header': header, type } = schema
  if (header === undefined) return undefined
  const where = `\`x-mcp-header\`${at === '' ? '' : ` of \`${at}\``}`
  if (!isReachable || at === '') return `${where} does not belong to an argument that always has the same place`
  if (typeof header !== 'string' || !token.test(header)) return `${where} is not the name of a header`
  if (!headerTypes.includes(type)) return `${where} belongs to an argument that is neither a string, an integer nor a boolean`
  if (names.has(header.toLowerCase())) return `${where} names a header that another argument has`
  names.add(header.toLowerCase())
  return undefined
}
