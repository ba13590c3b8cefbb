import { randomUUID } from 'node:crypto'
import { type ShownSession, shownOrders } from '../../agent/journal/shown-runs.ts'
import type { RunInput, RunLimits, RunOptions } from '../../agent/types/options.ts'
import { type ChatMessage, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { separated } from '../../core/text/text-pieces.ts'
import { LogReader } from '../../ui/web/log-reader.ts'
import { type ClientTool, toClientTools } from '../agents/client-tools.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Answer, respondWithText } from '../http/reply.ts'
import type { Call, Route, RouteResponse } from '../http/route.ts'
import { decisionsSchema, runListSchema, runSchema, sessionListSchema, startRunSchema, steeringSchema } from '../http/schemas.ts'
import { checkDecisions, type GivenDecision } from '../redaction/hidden-arguments.ts'
import { type Begin, idempotencyKey, StartOnce } from '../run-requests/start-once.ts'
import { streamRun } from '../run-requests/stream-run.ts'
import { readListQuery } from '../runs/listed/list-query.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import type { ServiceParts } from '../service-parts.ts'

interface StartRun {
  input: RunInput
  model?: string
  messages?: ChatMessage[]
  tools?: ClientTool[]
  activeTools?: string[]
  maxIterations?: number
  limits?: RunLimits
  temperature?: number
  maxOutputTokens?: number
  effects?: RunOptions['effects']
  metadata?: JsonObject
  session?: string
  background?: boolean
  stream?: boolean
}

const aRun: RouteResponse = { description: 'The run', schema: runSchema }
const events = ['text/event-stream']
const lastEventId = { name: 'last-event-id', description: 'The id of the last event received; the stream continues after it.' }

const chosenRuns = [
  { name: 'limit', description: 'The maximum number, up to 1,000. Default 100.' },
  { name: 'offset', description: 'How many to skip. Default 0.' },
  { name: 'status', description: 'Only runs with this status: `running`, `waiting` or `ended`.' },
  { name: 'stopReason', description: 'Only runs that ended like this, such as `model_error`; several are separated by commas.' },
  { name: 'errorCode', description: 'Only runs that ended with this error.' },
  { name: 'tool', description: 'Only runs that called this tool.' },
  {
    name: 'model',
    description: 'Only runs of this model: its name here, or the `provider/model` or `model` of the one that was asked last.',
  },
  { name: 'session', description: 'Only runs of this session: a chat `ui/<id>`, a thread `agui/<threadId>`, or the `session` of the run.' },
  {
    name: 'process',
    description: 'Only running runs: those whose process is `alive`, or those whose process is `gone` and that no other has resumed yet.',
  },
  { name: 'owner', description: 'Only runs of the token of this name; for an admin.' },
  { name: 'metadata.FIELD', description: 'Only runs whose `metadata` has this value in this field: `metadata.ticket=T-17`.' },
  { name: 'id', description: 'Only runs with these ids, separated by commas; at most 100.' },
  {
    name: 'q',
    description:
      'Only runs that have each of these words in their input, answer, error, id, `user:<token>`, `model:<name>` or `tool:<name>`.',
  },
  { name: 'after', description: 'Only runs started at this time or later (ISO 8601).' },
  { name: 'before', description: 'Only runs started before this time (ISO 8601).' },
  { name: 'endedAfter', description: 'Only runs that have ended at this time or later (ISO 8601).' },
  { name: 'endedBefore', description: 'Only runs that have ended before this time (ISO 8601).' },
  { name: 'minCostUsd', description: 'Only runs that cost at least this much, in US dollars.' },
  { name: 'minWorkedMs', description: 'Only runs that worked at least this long, without their waits for decisions.' },
]

const listQuery = [
  { name: 'cursor', description: 'The `next` of the previous page.' },
  {
    name: 'sort',
    description: `The order: ${shownOrders.map((order) => `\`${order}\``).join(', ')}, with \`-\` before it to begin with the largest. Default \`-started\`. Runs without a value come last.`,
  },
  { name: 'totals', description: '`true`: also adds up all runs that are selected, whatever the page.' },
  { name: 'output', description: '`short`: of each output only the first 500 characters.' },
  ...chosenRuns,
]
const listNames = listQuery.map(({ name }) => name)

/** The routes that start, follow, steer and cancel runs, and decide on their calls. A run continues even if no client follows it. */
export function runRoutes(parts: ServiceParts): Route[] {
  const { runs } = parts
  const once = new StartOnce(runs)
  return [
    {
      method: 'POST',
      path: '/v1/runs',
      access: 'run',
      summary: 'Starts a run. Responds with its result once it ends, with its events as they occur, or at once.',
      body: startRunSchema,
      headers: [idempotencyKey],
      responses: { 200: { ...aRun, types: events }, 202: { description: 'The run continues in the background', schema: runSchema } },
      answer: (call) => startRun(call, parts, once),
    },
    {
      method: 'GET',
      path: '/v1/runs',
      access: 'run',
      summary:
        "The caller's runs, newest first; for an admin, everyone's or those of its tenant. Finished runs are kept for a limited time.",
      query: listQuery,
      headers: [{ name: 'if-none-match', description: 'The `etag` of an earlier response: 304 if nothing has changed.' }],
      responses: {
        200: { description: 'The runs, without their results', schema: runListSchema },
        304: { description: 'Nothing has changed' },
      },
      answer: async ({ caller, request, url }) => {
        const { data, ...others } = await runs.list(caller, readListQuery(url.searchParams, listNames))
        return respondWithText(
          ['{"object":"list","data":[', ...separated(data), `],${JSON.stringify(others).slice(1)}`.replace(/,}$/, '}')],
          {
            caller: caller.name,
            limiter: parts.limiter,
            request,
          },
        )
      },
    },
    {
      method: 'GET',
      path: '/v1/sessions',
      access: 'run',
      summary:
        'The sessions of the caller’s runs, the one with the newest run first; for an admin, everyone’s or those of its tenant. Takes the filters of `/v1/runs`.',
      query: chosenRuns,
      responses: { 200: { description: 'The sessions', schema: sessionListSchema } },
      answer: async ({ caller, url }) => {
        const query = readListQuery(
          url.searchParams,
          chosenRuns.map(({ name }) => name),
        )
        const found = await runs.sessions(caller, { ...query, limit: query.limit + 1 })
        const offset = query.offset ?? 0
        return Response.json({
          object: 'list',
          data: found.slice(0, query.limit).map(describeSession),
          ...(found.length > query.limit ? { nextOffset: offset + query.limit } : {}),
        })
      },
    },
    {
      method: 'GET',
      path: '/v1/runs/{id}',
      access: 'run',
      summary: 'A run, with its result.',
      responses: { 200: aRun },
      answer: async (call) => respondWith(await find(call, parts), call, parts),
    },
    {
      method: 'GET',
      path: '/v1/runs/{id}/events',
      access: 'run',
      summary: 'The events of a run: past ones, then new ones as they occur. The last is `RESULT`.',
      headers: [lastEventId],
      responses: { 200: { description: 'Events', types: events } },
      answer: (call) => streamEvents(() => find(call, parts), call, parts, { after: readLastEventId(call.request) }),
    },
    {
      method: 'GET',
      path: '/v1/runs/{id}/recording',
      access: 'admin',
      forTenants: true,
      summary: 'The recording of a run, for `toolloop replay`, without secrets. Has instructions and tools too, hence the role admin.',
      responses: { 200: { description: 'The recording', schema: { type: 'object' } } },
      answer: async (call) => {
        const run = await find(call, parts)
        const headers = { 'content-disposition': `attachment; filename="${run.id}.json"` }
        return respondWithText(await runs.recordingOf(run), { headers, caller: call.caller.name, limiter: parts.limiter })
      },
    },
    {
      method: 'POST',
      path: '/v1/runs/{id}/cancel',
      access: 'run',
      summary: 'Aborts a run. A finished run does not change.',
      responses: { 200: aRun },
      answer: async (call) => {
        const run = await find(call, parts)
        // If the run has already ended, the request has no effect, and the response may be refused.
        const mustArrive = run.status !== 'ended'
        await runs.cancel(run, 'cancelled')
        return respondWith(run, call, parts, { mustArrive })
      },
    },
    {
      method: 'POST',
      path: '/v1/runs/{id}/messages',
      access: 'run',
      summary: 'Sends a message to a running run. The model sees it in its next request; if there is none, it is in the result’s `unread`.',
      body: steeringSchema,
      responses: { 202: { description: 'Accepted', schema: runSchema } },
      answer: async (call) => steer(await find(call, parts), call, parts),
    },
    {
      method: 'POST',
      path: '/v1/runs/{id}/decisions',
      access: 'run',
      summary: 'Decides on the pending calls of a run that waits and resumes it.',
      body: decisionsSchema,
      responses: { 200: { ...aRun, types: events } },
      answer: async (call) => decide(await find(call, parts), call, parts),
    },
  ]
}

function describeSession({ thread, caller, createdAt, latestAt, latestRunId, title, ...sums }: ShownSession): object {
  const time = (milliseconds: number) => new Date(milliseconds).toISOString()
  return { session: thread, owner: caller, input: title, createdAt: time(createdAt), latestAt: time(latestAt), latestRunId, ...sums }
}

function find({ params, caller }: Call, { runs }: ServiceParts): Promise<ServiceRun> {
  return runs.get(params.id ?? '', caller)
}

function respondWith(
  run: ServiceRun,
  { caller }: Call,
  { limiter }: ServiceParts,
  options: { status?: number; mustArrive?: boolean } = {},
): Answer {
  return respondWithText(run.toParts(), { ...options, headers: { 'x-run-id': run.id }, caller: caller.name, limiter })
}

async function startRun(call: Call, parts: ServiceParts, once: StartOnce): Promise<Answer> {
  const body = call.body as StartRun
  const { input, model = 'toolloop', tools, background, session } = body
  const order = {
    caller: call.caller,
    kind: 'run' as const,
    agent: model,
    input,
    options: { ...optionsOf(body, parts), context: await parts.contextOf(call.request, call.caller) },
    clientTools: toClientTools(tools),
    ...withoutUndefined({ thread: session }),
  }
  const wantsEvents = body.stream === true || accepts(call.request)
  if (background === true && body.stream === true)
    throw new HttpProblem(400, 'invalid_request', 'Expected `background` or `stream`, not both', { param: 'stream' })
  const begin: Begin = (id, request) => parts.runs.start({ ...order, id, ...withoutUndefined({ request }) })
  const start = () => once.start(call, `run_${randomUUID()}`, begin)
  if (background === true) return respondWith(await start(), call, parts, { status: 202, mustArrive: true })
  return wantsEvents ? streamEvents(start, call, parts, { after: 0 }) : whenEnded(start, call, parts)
}

/** Returns the options of a run. Limits that exceed those of the service are lowered. */
function optionsOf(
  { messages, activeTools, maxIterations, limits = {}, temperature, maxOutputTokens, effects, metadata }: StartRun,
  { host }: ServiceParts,
): RunOptions {
  const most = host.bounds
  const bounded = Object.entries(limits).map(([name, limit]) => [
    name,
    Math.min(limit, Number(most[name as keyof typeof most] ?? Number.POSITIVE_INFINITY)),
  ])
  return {
    ...withoutUndefined({ messages, activeTools }),
    ...(maxIterations === undefined ? {} : { maxIterations: Math.min(maxIterations, most.maxIterations ?? mostIterations) }),
    ...withoutUndefined({ temperature, maxOutputTokens, effects, metadata }),
    limits: Object.fromEntries(bounded),
  }
}

/** The default limit on iterations. It applies if neither the configuration nor the program sets a limit. */
const mostIterations = 50

function accepts(request: Request): boolean {
  return (request.headers.get('accept') ?? '').includes('text/event-stream')
}

/**
 * Waits until the run has ended or the client disconnects. The limits are checked before the run begins, because a refused client would
 * start it again.
 */
async function whenEnded(begin: () => Promise<ServiceRun>, call: Call, parts: ServiceParts): Promise<Answer> {
  const { request } = call
  parts.limiter.checkCharacters(call.caller.name)
  const run = await begin()
  const gone = Promise.withResolvers<void>()
  const leave = () => gone.resolve()
  request.signal.addEventListener('abort', leave, { once: true })
  try {
    await Promise.race([run.ended, gone.promise])
    return respondWith(run, call, parts, { mustArrive: true })
  } finally {
    request.signal.removeEventListener('abort', leave)
  }
}

/** Streams the events of a run. The limits are checked before the run begins, because a refused client would start it again. */
async function streamEvents(
  begin: () => ServiceRun | Promise<ServiceRun>,
  { caller }: Call,
  parts: ServiceParts,
  { after }: { after: number },
): Promise<Answer> {
  const release = parts.limiter.admitStream(caller.name)
  try {
    const run = await begin()
    return await streamRun(run, () => readerOf(run, after), { release }, parts)
  } catch (error) {
    release()
    throw error
  }
}

function readerOf(run: ServiceRun, after: number): LogReader {
  // A slow reader gets this result even if the run has resumed meanwhile.
  let ended: string[] | undefined
  void run.ended.then(() => {
    ended = run.toParts()
  })
  const result = () => ended ?? (run.status === 'running' ? undefined : run.toParts())
  return new LogReader(run.log, {
    after,
    end: () => {
      const parts = result()
      return parts && ['event: RESULT\ndata: ', ...parts, '\n\n']
    },
  })
}

/** Reads the header `last-event-id`. Throws an `HttpProblem` 400 if it is invalid. */
export function readLastEventId(request: Request): number {
  const given = request.headers.get('last-event-id')
  if (given === null || given === '') return 0
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw new HttpProblem(400, 'invalid_request', 'Expected `last-event-id` to be the id of an event', { param: 'last-event-id' })
}

async function steer(run: ServiceRun, call: Call, parts: ServiceParts): Promise<Answer> {
  const { input } = call.body as { input: RunInput }
  parts.limiter.checkCharacters(call.caller.name)
  await parts.runs.say(run, input)
  return respondWith(run, call, parts, { status: 202, mustArrive: true })
}

async function decide(run: ServiceRun, call: Call, parts: ServiceParts): Promise<Answer> {
  const { decisions: given } = call.body as { decisions: GivenDecision[] }
  // The limit is checked before anything is decided, so that a refused caller can retry.
  parts.limiter.checkCharacters(call.caller.name)
  const outcome = parts.runs.pauseOf(run)
  const { waitsFor, summary } = outcome
  const unknown = given.findIndex(
    ({ toolCallId, fingerprint }) => !waitsFor.some((item) => item.toolCallId === toolCallId && item.fingerprint === fingerprint),
  )
  if (unknown >= 0) throw new HttpProblem(409, 'not_pending', 'No call waits for this decision', { param: `decisions.${unknown}` })
  const decisions = checkDecisions(given, summary.pending)
  const after = run.log.lastId
  const resume = async () => {
    const context = await parts.contextOf(call.request, run.head.caller)
    await parts.runs.resume(run, outcome, { decisions, by: call.caller, context })
    return run
  }
  return accepts(call.request) ? streamEvents(resume, call, parts, { after }) : whenEnded(resume, call, parts)
}
