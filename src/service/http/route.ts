import type { JsonSchema } from '../../tools/tool.ts'
import type { Caller, Role } from './auth.ts'
import type { Answer } from './reply.ts'

/** A request that was admitted and whose body was validated. */
export interface Call {
  request: Request
  url: URL
  /** The values of the path's `{name}` parameters. */
  params: Readonly<Record<string, string>>
  /** The caller. If the route is open, an anonymous caller. */
  caller: Caller
  body: unknown
  requestId: string
  sender: Sender
}

/** The sender of a request, as it is logged. */
export interface Sender {
  requestId: string
  caller: string
  /** The address of the client. Undefined if the surrounding server doesn't provide the address. */
  address: string | undefined
}

export interface RouteResponse {
  description: string
  /** The schema of a JSON body. */
  schema?: JsonSchema
  /** The content types that are accepted in addition to JSON. */
  types?: readonly string[]
}

/**
 * One operation of the API: its handler, and its entry in `/openapi.json`. Both come from the same list of routes, so that they can't
 * diverge.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path, with `{name}` for parameters. */
  path: string
  /** The role that a caller needs. */
  access: 'open' | Role
  /** Whether the route serves callers with a tenant, and shows them only that tenant's data. Default: true for the role `run`. */
  forTenants?: boolean
  /** Whether the route is a probe. Probes are answered during a shutdown and for any host name. */
  probe?: boolean
  summary: string
  body?: JsonSchema
  /** The limit on the number of values in a body, as a key of `mostValues`. Default: the limit for `access`. */
  values?: 'mcp'
  /** The responses by status. Error responses are not listed, because they are the same for all routes. */
  responses: Readonly<Record<number, RouteResponse>>
  query?: readonly { name: string; description: string }[]
  headers?: readonly { name: string; required?: boolean; description: string }[]
  /**
   * Answers a request.
   *
   * Contract: if the caller is at fault, throws or rejects with an `HttpProblem`. A failure of the journal becomes a 503. Any other error
   * is logged and becomes a 500.
   */
  answer(call: Call): Answer | Promise<Answer>
}
