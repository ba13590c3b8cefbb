import { ToolloopError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import { type OperationArguments, own } from './arguments.ts'
import type { Credentials } from './credentials.ts'
import { problem } from './document.ts'
import type { Operation } from './operations.ts'
import { type ParameterStyle, pathText, queryPairs } from './serialize.ts'

/** Throws `invalid_option` if the path leaves the API's base address, such as `/../admin`. */
export function checkPath(base: URL, path: string): void {
  if (!isBelow(base, addressWith(base, path.replace(/\{[^{}]+\}/g, 'x')))) {
    throw problem(`Expected the path ${path} to stay below ${base.href}`)
  }
}

/** A call of an API operation. */
export interface OperationCall {
  base: URL
  operation: Operation
  mapping: OperationArguments
  args: JsonObject
  credentials: Credentials
}

/**
 * Returns the URL of a request. Throws `tool_failed` if a path parameter is missing, and `invalid_arguments` if the URL is outside the base
 * address.
 */
export function addressOf({ base, operation: { path }, mapping, args, credentials }: OperationCall): string {
  const given = mapping.parameters.flatMap(([argument, parameter]): { parameter: ParameterStyle; value: Json }[] => {
    const value = own(args, argument)
    return value === undefined ? [] : [{ parameter, value }]
  })
  const filled = path.replace(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const found = given.find(({ parameter }) => parameter.place === 'path' && parameter.name === name)
    if (found === undefined) throw new ToolloopError('tool_failed', `The path ${path} has no parameter \`${name}\``)
    return pathText(found.parameter, found.value)
  })
  const address = addressWith(base, filled)
  if (!isBelow(base, address)) throw new ToolloopError('invalid_arguments', `Expected the arguments to give a URL below ${base.href}`)
  const pairs = given.flatMap(({ parameter, value }) => (parameter.place === 'query' ? queryPairs(parameter, value) : []))
  const search = [...pairs, ...credentials.query].join('&')
  return new URL(search === '' ? address : `${address}${address.includes('?') ? '&' : '?'}${search}`).href
}

function addressWith(base: URL, path: string): string {
  return `${base.href.replace(/(?<!\/)\/+$/, '')}/${path.replace(/^\//, '')}`
}

/** Whether an address is below the base address. Parses the address first, because `..` can be written in many ways. */
function isBelow(base: URL, address: string): boolean {
  if (!URL.canParse(address)) return false
  const { origin, pathname } = new URL(address)
  return origin === base.origin && pathname.startsWith(`${base.pathname.replace(/(?<!\/)\/+$/, '')}/`)
}
