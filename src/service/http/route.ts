import type { JsonSchema } from '../../tools/tool.ts'
import type { Caller, Role } from './auth.ts'
import type { Answer } from './reply.ts'

/** A request that was admitted, and whose body was validated. */
export interface Call {
  request: Request
  url: URL
  /** The values of the path's `{name}` parameters. */
  params: Readonly<Record<string, string>>
  /** An anonymous caller if the route is open. */
  caller: Caller
  body: unknown
  requestId: string
  sender: Sender
}

/** The sender of a request, for the log. */
export interface Sender {
  requestId: string
  caller: string
  /** The client's address; undefined if the service is mounted where that is unknown. */
  address: string | undefined
}

export interface RouteResponse {
  description: string
  /** The schema of a JSON body. */
  schema?: JsonSchema
  /** Content types accepted besides JSON. */
  types?: readonly string[]
}

/** One operation of the API: its handler, and its entry in `/openapi.json`. There is no other list of routes, so the two can't diverge. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path, with `{name}` for parameters. */
  path: string
  /** The role a caller needs. */
  access: 'open' | Role
  /** Whether the route serves callers with a tenant, and shows them only that tenant's data. Default: true for the role `run`. */
  forTenants?: boolean
  /** Marks probes, which are answered during a shutdown and for any host name. */
  probe?: boolean
  summary: string
  body?: JsonSchema
  /** Selects the limit on the number of values in a body. Default: the limit for `access`. */
  values?: 'mcp'
  /** The responses by status. Errors are the same for all routes. */
  responses: Readonly<Record<number, RouteResponse>>
  query?: readonly { name: string; description: string }[]
  headers?: readonly { name: string; required?: boolean; description: string }[]
  /**
   * Answers the request.
   *
   * Contract: throws or rejects with an `HttpProblem` if the caller is at fault; a fault of the
   * journal becomes a 503; anything else is logged and becomes a 500.
   */
  answer(call: Call): Answer | Promise<Answer>
}
