import { ToolloopError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/messages.ts'
import { type OperationArguments, own } from './arguments.ts'
import type { Credentials } from './credentials.ts'
import { problem } from './document.ts'
import type { Operation } from './operations.ts'
import { type ParameterStyle, pathText, queryPairs } from './serialise.ts'

/** Throws `invalid_option` for a path of a document that leads out of the API's own address, such as `/../admin`. */
export function checkPath(base: URL, path: string): void {
  if (!isBelow(base, addressWith(base, path.replace(/\{[^{}]+\}/g, 'x')))) {
    throw problem(`Expected the path ${path} to stay below ${base.href}`)
  }
}

/** Where a request goes. Throws `tool_failed` for a path without its parameters, `invalid_arguments` for one that leads elsewhere. */
export function addressOf(
  base: URL,
  { path }: Operation,
  { parameters }: OperationArguments,
  args: JsonObject,
  { query }: Credentials,
): string {
  const given = parameters.flatMap(([argument, parameter]): { parameter: ParameterStyle; value: Json }[] => {
    const value = own(args, argument)
    return value === undefined ? [] : [{ parameter, value }]
  })
  const filled = path.replace(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const found = given.find(({ parameter }) => parameter.place === 'path' && parameter.name === name)
    if (found === undefined) throw new ToolloopError('tool_failed', `The path ${path} has no parameter \`${name}\``)
    return pathText(found.parameter, found.value)
  })
  const address = addressWith(base, filled)
  if (!isBelow(base, address)) throw new ToolloopError('invalid_arguments', `Expected the arguments to name a place below ${base.href}`)
  const pairs = given.flatMap(({ parameter, value }) => (parameter.place === 'query' ? queryPairs(parameter, value) : []))
  const search = [...pairs, ...query].join('&')
  return new URL(search === '' ? address : `${address}${address.includes('?') ? '&' : '?'}${search}`).href
}

function addressWith(base: URL, path: string): string {
  return `${base.href.replace(/\/+$/, '')}/${path.replace(/^\//, '')}`
}

/** By what a URL makes of it: `..` may be written in many ways. */
function isBelow(base: URL, address: string): boolean {
  if (!URL.canParse(address)) return false
  const { origin, pathname } = new URL(address)
  return origin === base.origin && pathname.startsWith(`${base.pathname.replace(/\/+$/, '')}/`)
}
