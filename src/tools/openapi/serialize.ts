import { ToolloopError } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'

export type Place = 'path' | 'query' | 'header' | 'cookie'

/** How to write the value of a parameter (https://spec.openapis.org/oas/v3.1.1.html#style-values). */
export interface ParameterStyle {
  name: string
  place: Place
  style: string
  explode: boolean
  /** Whether to write the value as JSON. `style` and `explode` are then ignored. */
  isJson: boolean
  /** Whether to leave `:/?#[]@!$&'()*+,;=` unencoded. Used only for queries. */
  allowReserved: boolean
}

/** Returns the text that replaces `{name}` in a path. Throws `invalid_arguments` for a value that would change the path. */
export function pathText(parameter: ParameterStyle, value: Json): string {
  const { name, style, explode } = parameter
  const separator = style === 'label' ? '.' : style === 'matrix' ? ';' : ','
  const lead = style === 'label' ? '.' : style === 'matrix' ? ';' : ''
  let text: string
  if (parameter.isJson) text = encode(JSON.stringify(value))
  else if (Array.isArray(value)) {
    const items = value.map((item) => encode(plain(item)))
    if (style !== 'matrix') text = lead + items.join(explode ? separator : ',')
    else text = explode ? items.map((item) => `;${name}=${item}`).join('') : `;${name}=${items.join(',')}`
  } else if (isJsonObject(value)) {
    const pairs = Object.entries(value).map(([key, item]) => [encode(key), encode(plain(item))])
    const joined = explode ? pairs.map((pair) => pair.join('=')).join(separator) : pairs.flat().join(',')
    text = style === 'matrix' && !explode ? `;${name}=${joined}` : lead + joined
  } else if (style === 'matrix') text = value === '' ? `;${name}` : `;${name}=${encode(plain(value))}`
  else text = lead + encode(plain(value))
  if (text === '' || text === '.' || text === '..') {
    throw new ToolloopError('invalid_arguments', `Expected \`${name}\` to be a path segment, got ${JSON.stringify(value)}`)
  }
  return text
}

/** Returns the encoded `name=value` pairs of a query. */
export function queryPairs(parameter: ParameterStyle, value: Json): string[] {
  const { style, explode, allowReserved } = parameter
  const write = allowReserved ? encodeLoosely : encode
  const name = encode(parameter.name)
  if (parameter.isJson) return [`${name}=${write(JSON.stringify(value))}`]
  const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ','
  if (Array.isArray(value)) {
    const items = value.map((item) => write(plain(item)))
    if (items.length === 0) return []
    if (explode) return items.map((item) => `${name}=${item}`)
    return [`${name}=${items.join(separator)}`]
  }
  if (!isJsonObject(value)) return [`${name}=${write(plain(value))}`]
  if (style === 'deepObject') return deepPairs(parameter.name, value, write)
  const pairs = Object.entries(value).map(([key, item]) => [encode(key), write(plain(item))])
  if (explode) return pairs.map((pair) => pair.join('='))
  return pairs.length === 0 ? [] : [`${name}=${pairs.flat().join(separator)}`]
}

function deepPairs(name: string, value: Json, write: (text: string) => string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => deepPairs(name, item, write))
  if (!isJsonObject(value)) return [`${encode(name)}=${write(plain(value))}`]
  return Object.entries(value).flatMap(([key, item]) => deepPairs(`${name}[${key}]`, item, write))
}

/** Returns the value of a header, which is not encoded. */
export function headerText({ explode, isJson }: ParameterStyle, value: Json): string {
  if (isJson) return JSON.stringify(value)
  if (Array.isArray(value)) return value.map(plain).join(',')
  if (!isJsonObject(value)) return plain(value)
  const pairs = Object.entries(value).map(([key, item]) => [key, plain(item)])
  return explode ? pairs.map((pair) => pair.join('=')).join(',') : pairs.flat().join(',')
}

/** Writes a nested value: texts unchanged, other values as JSON. */
function plain(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Encodes a text for a query. Keeps reserved characters, but not separators such as `&`, with which a value could add parameters. */
function encodeLoosely(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/%(3A|2F|3F|5B|5D|40|24|2C|3B)/g, (code) => decodeURIComponent(code))
}
