import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Telemetry } from '../agent/observe/telemetry.ts'
import { InvalidOptionError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { ServiceLimits } from './config/service-limits.ts'
import { type Authenticate, type Caller, checkRole, type Role } from './http/auth.ts'
import { checkOf, type SchemaCheck } from './http/check-schema.ts'
import { errorResponse, HttpProblem } from './http/problem.ts'
import { mostValues, readBody } from './http/read-body.ts'
import { type Answer, finish, type NodeExchange } from './http/reply.ts'
import { checkOrigin, corsHeaders, preflightHeaders } from './http/request-source.ts'
import type { Call, Route } from './http/route.ts'
import { challenged } from './mcp/authorization.ts'
import { adminRoutes } from './routes/admin.ts'
import { chatRoutes } from './routes/chat.ts'
import { healthRoutes } from './routes/health.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { overviewRoutes } from './routes/overview.ts'
import { servePage } from './routes/page.ts'
import { responseRoutes } from './routes/responses.ts'
import { runRoutes } from './routes/runs.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { threadRoutes } from './routes/threads.ts'
import { toolRoutes } from './routes/tools.ts'
import { isJournalFault } from './runs/recorded/problems.ts'
import type { ServiceParts } from './service-parts.ts'
import { isTenant } from './tenants/tenant.ts'

export interface AppParts extends ServiceParts {
  limits(): ServiceLimits
  authenticate?: Authenticate
  /** The prefix of every path; may be `''`. */
  basePath: string
  telemetry(): Telemetry | undefined
}

const anyBody = {}
const nobody: Caller = { name: '', roles: [] }

/** Answers a request, which may come from a Node.js server or from any other server. Never rejects. */
export type App = (request: Request, address: string | undefined, node?: NodeExchange) => Promise<Response>

/** A route, and the check of its request bodies. */
interface Operation extends Pick<Route, 'method' | 'path'> {
  route: Route
  check: SchemaCheck
}

interface Asked {
  request: Request
  url: URL
  /** The path without the base path. */
  pathname: string
  requestId: string
  address: string | undefined
  incoming: IncomingMessage | undefined
}

/** Creates the handler of all requests to the service. Every request passes the same checks in the same order. */
export function createApp(parts: AppParts): App {
  const { basePath, logger } = parts
  const routes: Route[] = []
  const ofAgents = () => [...chatRoutes(parts), ...responseRoutes(parts), ...threadRoutes(parts), ...runRoutes(parts)]
  const others = () => [...ofAgents(), ...signInRoutes(parts), ...overviewRoutes(parts), ...toolRoutes(parts), ...adminRoutes(parts)]
  routes.push(...mcpRoutes(parts), ...healthRoutes(parts, () => routes), ...(parts.mcp.only ? [] : others()))
  const find = routeFinder(
    routes.map((route) => ({ method: route.method, path: route.path, route, check: checkOf(route.body ?? anyBody) })),
  )
  const count = parts.metrics.counter('toolloop_http_requests_total', 'Requests, by route and status.')
  const duration = parts.metrics.histogram('toolloop_http_request_duration_seconds', 'Time to the head of the response.')
  return async (request, address, node) => {
    const started = performance.now()
    const requestId = requestIdOf(request)
    const url = new URL(request.url)
    const pathname = pathBelow(basePath, url)
    const found = find(pathname)
    const asked = { request, url, pathname, requestId, address, incoming: node?.incoming }
    const isProbe = found?.routes.some(({ route }) => route.probe === true) ?? false
    // Unknown methods share one label, because clients could otherwise create any number of metric series.
    const method = found?.routes.some((one) => one.method === request.method) ? request.method : 'any'
    const route = found?.path ?? (pathname.startsWith('/admin/') ? '/admin/' : 'none')
    const answered = () => respond(asked, found, isProbe, parts).catch((error: unknown) => respondToFailure(error, requestId, logger))
    const telemetry = isProbe ? undefined : parts.telemetry()
    const measured = { method, route, path: pathname, headers: request.headers, logger }
    const response = await (telemetry === undefined ? answered() : telemetry.aroundHttpRequest(measured, answered))
    const { status } = response
    count({ route, method, status: String(status) })
    duration({ route }, (performance.now() - started) / 1000)
    logger.debug({ requestId, method: request.method, route, status, durationMs: Math.round(performance.now() - started) }, 'request')
    return finish(response, { 'x-request-id': requestId, ...corsHeaders(request, parts.limits()) }, node)
  }
}

async function respond(asked: Asked, found: FoundRoutes | undefined, isProbe: boolean, parts: AppParts): Promise<Answer> {
  const { request, pathname } = asked
  const { method } = request
  if (method === 'OPTIONS') return preflight(request, parts.limits())
  if (found === undefined) return respondWithPage(pathname, request, parts)
  // Only probes answer HEAD. On other routes, a HEAD request could open a stream that nobody reads.
  const operation = found.routes.find((one) => one.method === (method === 'HEAD' && isProbe ? 'GET' : method))
  if (operation === undefined) throw notAllowed(found.routes.map((one) => one.method).join(', '))
  const response = await answer(operation, found.params, asked, parts)
  return method === 'HEAD' && response instanceof Response ? new Response(null, response) : response
}

function notAllowed(allow: string): HttpProblem {
  return new HttpProblem(405, 'method_not_allowed', `Expected ${allow}`, { headers: { allow } })
}

function respondToFailure(error: unknown, requestId: string, logger: Logger): Response {
  if (error instanceof HttpProblem) return errorResponse(error)
  logger.error({ requestId, error }, 'a request failed')
  if (isJournalFault(error))
    return errorResponse(new HttpProblem(503, 'not_readable', 'The stored runs are not available; the log says why'))
  return errorResponse(new HttpProblem(500, 'internal_error', 'The service failed to answer this request; its log says why'))
}

/** Answers a preflight request. Throws an `HttpProblem` 403 for a page of another site. */
function preflight(request: Request, limits: ServiceLimits): Response {
  checkOrigin(request, limits)
  return new Response(null, { status: 204, headers: preflightHeaders(request) })
}

async function answer({ route, check }: Operation, params: Call['params'], asked: Asked, parts: AppParts): Promise<Answer> {
  const limits = parts.limits()
  const { request, url, requestId, address, incoming } = asked
  if (!route.probe) {
    checkOrigin(request, limits)
    checkDraining(request, parts)
  }
  const caller = route.access === 'open' ? nobody : await admit(asked, route.access, route, parts)
  const body =
    route.body === undefined
      ? undefined
      : await readBody(request, {
          maxBytes: limits.maxBodyBytes,
          maxValues: mostValues[route.values ?? (route.access === 'admin' ? 'admin' : 'run')],
          check,
          incoming,
        })
  // Checks again, because the shutdown may have started while the body was being read.
  if (!route.probe) checkDraining(request, parts)
  const sender = { requestId, caller: caller.name, address }
  return route.answer({ request, url, params, caller, body, requestId, sender })
}

/** Refuses new work during a shutdown. Clients can still read the results of runs. */
function checkDraining({ method }: Request, { isDraining }: AppParts): void {
  if (isDraining() && method !== 'GET')
    throw new HttpProblem(503, 'shutting_down', 'The service is shutting down', { headers: { 'retry-after': '5', connection: 'close' } })
}

/** Serves the admin page. Throws an `HttpProblem`: 404 for an unknown path, 405 for an unsupported method. */
async function respondWithPage(pathname: string, request: Request, { mcp, limits }: AppParts): Promise<Response> {
  const name = /^\/admin\/([^/]*)$/.exec(pathname)?.[1]
  if (mcp.only || (name === undefined && pathname !== '/admin'))
    throw new HttpProblem(404, 'not_found', 'Nothing at this path; /openapi.json lists all paths')
  if (request.method !== 'GET') throw notAllowed('GET')
  // The redirect is relative, because the service may be mounted below a path that it doesn't know.
  if (name === undefined) return new Response(null, { status: 308, headers: { location: 'admin/' } })
  checkOrigin(request, limits())
  return servePage(name === '' ? 'index.html' : name, request)
}

async function admit(
  asked: Asked,
  role: Role,
  { path, forTenants = role === 'run' }: Route,
  { limiter, mcp, ...parts }: AppParts,
): Promise<Caller> {
  try {
    const caller = await identify(asked, parts)
    checkRole(caller, role, forTenants)
    limiter.admitRequest(caller.name)
    return caller
  } catch (error) {
    if (path !== '/mcp' || mcp.authorization === undefined || !(error instanceof HttpProblem)) throw error
    throw challenged(error, mcp.authorization)
  }
}

async function identify(
  { request, address }: Asked,
  { auth, authenticate, signIns, logger }: Pick<AppParts, 'auth' | 'authenticate' | 'signIns' | 'logger'>,
): Promise<Caller> {
  const signedIn = signIns.callerOf(request)
  if (signedIn !== undefined) return signedIn
  return authenticate === undefined ? auth.authenticate(request, address) : askProgram(authenticate, request, logger)
}

async function askProgram(authenticate: Authenticate, request: Request, logger: Logger): Promise<Caller> {
  let caller: Caller | undefined | null
  try {
    caller = await authenticate(request)
    if (caller && !isCaller(caller)) throw new InvalidOptionError('authenticate', expectedCaller, caller)
  } catch (error) {
    caller = undefined
    logger.error({ error }, '`authenticate` failed')
  }
  if (!caller) throw new HttpProblem(401, 'unauthorized', 'The request is not authenticated')
  return caller
}

const expectedCaller = 'a function that returns `{name, roles}`, and `tenant`, if it is there, with at least one field and texts as values'

/** Whether a value is a valid caller. An invalid `tenant` is refused, because ignoring it would give access to all tenants. */
function isCaller({ name, roles, tenant }: Partial<Caller>): boolean {
  return typeof name === 'string' && Array.isArray(roles) && (tenant === undefined || isTenant(tenant))
}

/** Returns the id that the request contains, if it is safe to log. Otherwise returns a new id. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id') ?? ''
  return /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}

/** Removes the base path. For a request outside the base path, returns an empty path, which matches no route. */
function pathBelow(basePath: string, { pathname }: URL): string {
  if (basePath === '') return pathname
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : ''
}

interface FoundRoutes {
  path: string
  routes: readonly Operation[]
  /** The values of the path's `{name}` parameters, decoded. */
  params: Readonly<Record<string, string>>
}

/** Returns a function that finds the routes of a path. The first matching path wins. */
function routeFinder(routes: readonly Operation[]): (pathname: string) => FoundRoutes | undefined {
  const byPath = Map.groupBy(routes, ({ path }) => path)
  const patterns = [...byPath].map(([path, those]) => ({ path, parts: path.split('/'), routes: those }))
  const noParams = {}
  return (pathname) => {
    const fixed = byPath.get(pathname)
    if (fixed !== undefined) return { path: pathname, routes: fixed, params: noParams }
    const parts = pathname.split('/')
    for (const { path, parts: pattern, routes } of patterns) {
      const params = paramsOf(pattern, parts)
      if (params !== undefined) return { path, routes, params }
    }
    return undefined
  }
}

/** Returns the parameters of a path that matches a pattern. Returns undefined if the path doesn't match. */
function paramsOf(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, expected] of pattern.entries()) {
    const part = parts[at] ?? ''
    if (expected.startsWith('{') && part !== '') params[expected.slice(1, -1)] = decoded(part)
    else if (expected !== part) return undefined
  }
  return params
}

/** Decodes a part of a path. If the part is not valid percent-encoding, returns it unchanged. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
