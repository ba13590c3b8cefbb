import type { JsonSchema } from '../../tools/tool.ts'
import type { Caller, Role } from './auth.ts'

/** A request on its way to a route: admitted, its body read and checked. */
export interface Call {
  request: Request
  url: URL
  /** What stands for the `{name}`s of the path. */
  params: Readonly<Record<string, string>>
  /** Nobody, on a route that is open to all. */
  caller: Caller
  body: unknown
  requestId: string
  sender: Sender
}

/** Who sent a request, from where: what is logged of it. */
export interface Sender {
  requestId: string
  caller: string
  /** The network's; undefined: the service is mounted where that is not known. */
  address: string | undefined
}

export interface RouteResponse {
  description: string
  /** Of its JSON. */
  schema?: JsonSchema
  /** What else than JSON it may be. */
  types?: readonly string[]
}

/** One operation of the API: what it does, and what is said of it in `/openapi.json`. The two can't part: there is no other list of routes. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** With `{name}` for a part that varies. */
  path: string
  /** Who may use it. */
  access: 'open' | Role
  /** Whether it answers callers with a tenant, and tells them of nothing else. Default: true for the role `run`. */
  forTenants?: boolean
  /** Answered while the service shuts down, and whatever the host is called: probes. */
  probe?: boolean
  summary: string
  body?: JsonSchema
  /** Whose bound on the values of a body holds. Default: that of `access`. */
  values?: 'mcp'
  /** By status; errors are those of every route. */
  responses: Readonly<Record<number, RouteResponse>>
  query?: readonly { name: string; description: string }[]
  headers?: readonly { name: string; required?: boolean; description: string }[]
  /** Throws or rejects with an `HttpProblem` for what is the caller's fault. */
  answer(call: Call): Response | Promise<Response>
}
