import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { ToolFunction } from '../../tools/tool.ts'
import { objectSchema, type TopRules } from './object-schema.ts'

/** Maximum length of the description of removed rules, in characters. A longer description is left out. */
const longestNote = 4000

/** A tool's description and parameters in a form that an API accepts. */
export interface FittedTool {
  words: { description?: string }
  parameters: JsonObject
  warnings: readonly string[]
}

/**
 * Converts a tool's parameters. Rules that the API's schema can't express are added to the description, and a warning names them. Arguments
 * are still checked against the tool's own schema.
 */
export function fitParameters({ name, description, parameters = {} }: ToolFunction, provider: string, topRules?: TopRules): FittedTool {
  const { schema, removed, beyond } = objectSchema(isJsonObject(parameters) ? parameters : {}, topRules)
  const warnings: string[] = []
  const rules = beyond.map(inWords).join('\n')
  const isTold = rules.length <= longestNote
  if (removed.length > 0) {
    const what = removed.map((one) => `\`${one}\``).join(', ')
    const told = rules === '' ? '' : isTold ? '; the description mentions it instead' : '; the model does not learn of it'
    warnings.push(`The parameters of tool \`${name}\` were sent without ${what} at their top, which ${provider} does not support${told}`)
  }
  const words = [description ?? '', isTold ? rules : ''].filter((text) => text !== '').join('\n\n')
  return { words: words === '' ? {} : { description: words }, parameters: schema, warnings }
}

/** Describes a rule for the model. */
function inWords(rule: JsonObject): string {
  const [[keyword = '', value] = []] = Object.entries(rule)
  const json = JSON.stringify(value)
  switch (keyword) {
    case 'oneOf':
      return `The arguments must match exactly one of these JSON Schemas: ${json}`
    case 'anyOf':
      return `The arguments must match at least one of these JSON Schemas: ${json}`
    case 'not':
      return `The arguments must not match this JSON Schema: ${json}`
    case 'enum':
      return `The arguments must be one of: ${json}`
    case 'const':
      return `The arguments must be: ${json}`
    default:
      return `The arguments must also match this JSON Schema: ${JSON.stringify(rule)}`
  }
}
