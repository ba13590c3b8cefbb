import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Context, Hono } from 'hono'
import type { Telemetry } from '../agent/observe/telemetry.ts'
import { InvalidOptionError, messageOf } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { ServiceLimits } from './config/service-limits.ts'
import { type Authenticate, type Caller, checkRole, type Role } from './http/auth.ts'
import { checkOf, type SchemaCheck } from './http/check-schema.ts'
import { errorResponse, HttpProblem } from './http/problem.ts'
import { mostValues, readBody } from './http/read-body.ts'
import { finishResponse, type NodeExchange } from './http/reply.ts'
import { checkOrigin, corsHeaders, preflightHeaders } from './http/request-source.ts'
import type { Route } from './http/route.ts'
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

/** Answers a request, from a Node.js server or another one. Never rejects. */
export type App = (request: Request, address: string | undefined, node?: NodeExchange) => Promise<Response>

/** Handles every request of the service. Each passes the same checks in the same order. */
export function createApp(parts: AppParts): App {
  const { basePath } = parts
  const app = new Hono({ getPath: (request) => pathBelow(basePath, request) })
  const routes: Route[] = []
  const ofAgents = () => [...chatRoutes(parts), ...responseRoutes(parts), ...threadRoutes(parts), ...runRoutes(parts)]
  const others = () => [...ofAgents(), ...signInRoutes(parts), ...overviewRoutes(parts), ...toolRoutes(parts), ...adminRoutes(parts)]
  routes.push(...mcpRoutes(parts), ...healthRoutes(parts, () => routes), ...(parts.mcp.only ? [] : others()))
  for (const route of routes) {
    const check = checkOf(route.body ?? anyBody)
    app.on(route.method, honoPath(route.path), (context) => answer(route, check, context, parts))
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = routes.flatMap((route) => (route.path === path ? [route.method] : [])).join(', ')
    app.all(honoPath(path), () => {
      throw new HttpProblem(405, 'method_not_allowed', `Expected ${allow}`, { headers: { allow } })
    })
  }
  if (!parts.mcp.only) addPage(app, parts)
  app.notFound(() => errorResponse(new HttpProblem(404, 'not_found', 'Nothing at this path; /openapi.json lists all paths')))
  app.onError((error, { req }) => respondToFailure(error, req.raw, parts.logger))
  const routesOf = finderOf(routes)
  const count = parts.metrics.counter('toolloop_http_requests_total', 'Requests, by route and status.')
  const duration = parts.metrics.histogram('toolloop_http_request_duration_seconds', 'Time to the head of the response.')
  return async (request, address, node) => {
    const started = performance.now()
    const requestId = requestIdOf(request)
    origins.set(request, { requestId, address, incoming: node?.incoming })
    const pathname = pathBelow(basePath, request)
    const found = routesOf(pathname)
    const isProbe = found.some(({ probe }) => probe === true)
    // Clients choose methods, so only known ones get their own series.
    const method = found.some((one) => one.method === request.method) ? request.method : 'any'
    const route = found[0]?.path ?? (pathname.startsWith('/admin/') ? '/admin/' : 'none')
    // Hono passes a thrown value to `onError` only if it is an Error.
    const answered = () => respond(app, request, isProbe, parts).catch((error: unknown) => respondToFailure(error, request, parts.logger))
    const { logger } = parts
    const telemetry = isProbe ? undefined : parts.telemetry()
    const measured = { method, route, path: pathname, headers: request.headers, logger }
    const response = await (telemetry === undefined ? answered() : telemetry.aroundHttpRequest(measured, answered))
    const { status } = response
    count({ route, method, status: String(status) })
    duration({ route }, (performance.now() - started) / 1000)
    parts.logger.debug({ requestId, method: request.method, route, status, durationMs: Math.round(performance.now() - started) }, 'request')
    return finishResponse(response, { 'x-request-id': requestId, ...corsHeaders(request, parts.limits()) }, node)
  }
}

const origins = new WeakMap<Request, { requestId: string; address: string | undefined; incoming: IncomingMessage | undefined }>()

async function respond(app: Hono, request: Request, isProbe: boolean, { limits }: AppParts): Promise<Response> {
  if (request.method === 'OPTIONS') return preflight(request, limits())
  // A HEAD request would leave a stream open without a reader.
  if (request.method === 'HEAD' && !isProbe) return errorResponse(new HttpProblem(405, 'method_not_allowed', 'HEAD is not supported'))
  return app.fetch(request)
}

function respondToFailure(error: unknown, request: Request, logger: Logger): Response {
  if (error instanceof HttpProblem) return errorResponse(error)
  logger.error({ requestId: origins.get(request)?.requestId, error }, 'a request failed')
  if (isJournalFault(error))
    return errorResponse(new HttpProblem(503, 'not_readable', 'The stored runs are not available; the log says why'))
  return errorResponse(new HttpProblem(500, 'internal_error', 'The service failed to answer this request; its log says why'))
}

function preflight(request: Request, limits: ServiceLimits): Response {
  try {
    checkOrigin(request, limits)
    return new Response(null, { status: 204, headers: preflightHeaders(request) })
  } catch (error) {
    return errorResponse(error instanceof HttpProblem ? error : new HttpProblem(400, 'invalid_request', messageOf(error)))
  }
}

async function answer(route: Route, check: SchemaCheck, { req }: Context, parts: AppParts): Promise<Response> {
  const limits = parts.limits()
  const request = req.raw
  if (!route.probe) {
    checkOrigin(request, limits)
    checkDraining(request, parts)
  }
  const caller = route.access === 'open' ? nobody : await admit(request, route.access, route, parts)
  const body =
    route.body === undefined
      ? undefined
      : await readBody(request, {
          maxBytes: limits.maxBodyBytes,
          maxValues: mostValues[route.values ?? (route.access === 'admin' ? 'admin' : 'run')],
          check,
          incoming: origins.get(request)?.incoming,
        })
  // A request admitted before the shutdown may have sent its body only now.
  if (!route.probe) checkDraining(request, parts)
  const { requestId = '', address } = origins.get(request) ?? {}
  const sender = { requestId, caller: caller.name, address }
  return route.answer({ request, url: new URL(req.url), params: req.param(), caller, body, requestId, sender })
}

/** Refuses new work during a shutdown. Results of runs can be read until the end. */
function checkDraining({ method }: Request, { isDraining }: AppParts): void {
  if (isDraining() && method !== 'GET')
    throw new HttpProblem(503, 'shutting_down', 'The service is shutting down', { headers: { 'retry-after': '5', connection: 'close' } })
}

function addPage(app: Hono, parts: AppParts): void {
  // Relative, because the service may be mounted below a path it doesn't see.
  app.get('/admin', (context) => context.redirect('admin/', 308))
  app.get('/admin/', (context) => respondWithPage('index.html', context, parts))
  app.get('/admin/:file', (context) => respondWithPage(context.req.param('file'), context, parts))
}

async function respondWithPage(name: string, { req }: Context, { limits }: AppParts): Promise<Response> {
  checkOrigin(req.raw, limits())
  return servePage(name, req.raw)
}

async function admit(
  request: Request,
  role: Role,
  { path, forTenants = role === 'run' }: Route,
  { limiter, mcp, ...parts }: AppParts,
): Promise<Caller> {
  try {
    const caller = await identify(request, parts)
    checkRole(caller, role, forTenants)
    limiter.admitRequest(caller.name)
    return caller
  } catch (error) {
    if (path !== '/mcp' || mcp.authorization === undefined || !(error instanceof HttpProblem)) throw error
    throw challenged(error, mcp.authorization)
  }
}

async function identify(
  request: Request,
  { auth, authenticate, signIns, logger }: Pick<AppParts, 'auth' | 'authenticate' | 'signIns' | 'logger'>,
): Promise<Caller> {
  const signedIn = signIns.callerOf(request)
  if (signedIn !== undefined) return signedIn
  return authenticate === undefined ? auth.authenticate(request, origins.get(request)?.address) : askProgram(authenticate, request, logger)
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

/** An invalid `tenant` must not count as an absent one. */
function isCaller({ name, roles, tenant }: Partial<Caller>): boolean {
  return typeof name === 'string' && Array.isArray(roles) && (tenant === undefined || isTenant(tenant))
}

/** Returns the request's own id if it is safe to log, otherwise a new one. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id') ?? ''
  return /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

/** Removes the base path. A path outside the base matches no route. */
function pathBelow(basePath: string, { url }: Request): string {
  const { pathname } = new URL(url)
  if (basePath === '') return pathname
  return pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : ''
}

/** Returns a function that finds the routes of a path. */
function finderOf(routes: readonly Route[]): (pathname: string) => readonly Route[] {
  const patterns = routes.map((route) => ({ route, pattern: route.path.split('/') }))
  return (pathname) => {
    const parts = pathname.split('/')
    const matches = (pattern: readonly string[]) =>
      pattern.length === parts.length && pattern.every((part, at) => part === parts[at] || part.startsWith('{'))
    return patterns.flatMap(({ route, pattern }) => (matches(pattern) ? [route] : []))
  }
}
