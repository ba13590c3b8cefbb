import type { JsonObject } from '../../core/messages.ts'
import { separated } from '../../core/text/text-pieces.ts'
import { version } from '../../core/version.ts'
import { LogReader } from '../../ui/web/log-reader.ts'
import { describeProviders } from '../agents/describe-providers.ts'
import type { FoundSkills } from '../agents/open-tools.ts'
import { testProvider } from '../agents/test-provider.ts'
import { configSchema } from '../config/config-schema.ts'
import type { ConfigChange, ShownConfig } from '../config/config-source.ts'
import { HttpProblem } from '../http/problem.ts'
import { respondWithText } from '../http/reply.ts'
import type { Call, Route } from '../http/route.ts'
import {
  configChangeSchema,
  configSchemaOfResponse,
  skillListSchema,
  stateSchema,
  testedProviderSchema,
  testProviderSchema,
} from '../http/schemas.ts'
import { pendingOf } from '../runs/listed/list-runs.ts'
import type { ServiceParts } from '../service-parts.ts'
import { describeTools } from './health.ts'
import { readLastEventId } from './runs.ts'

/** The routes that the admin page uses. No response contains a key. */
export function adminRoutes(parts: ServiceParts): Route[] {
  const { config, host, runs, streams, limiter } = parts
  return [
    {
      method: 'GET',
      path: '/admin/api/config',
      access: 'admin',
      summary: 'The configuration in the file. Changing it needs its `etag`.',
      responses: { 200: { description: 'The configuration', schema: configSchemaOfResponse } },
      answer: async () => shown(await config.show(), parts),
    },
    {
      method: 'PUT',
      path: '/admin/api/config',
      access: 'admin',
      summary:
        'Replaces the configuration: from JSON (comments in the file are kept), or as the text of the file. Applies from the next request on.',
      headers: [{ name: 'if-match', required: true, description: 'The `etag` of the configuration that the change is based on, or `*`.' }],
      body: configChangeSchema,
      responses: {
        200: { description: 'The new configuration', schema: configSchemaOfResponse },
        412: { description: 'The configuration has changed since it was read' },
        422: { description: 'The configuration is invalid; nothing was changed' },
        428: { description: '`if-match` is missing' },
      },
      answer: (call) => changeConfig(call, parts),
    },
    {
      method: 'GET',
      path: '/admin/api/config/schema',
      access: 'admin',
      summary: 'The JSON Schema of the configuration.',
      responses: { 200: { description: 'The schema', schema: { type: 'object' } } },
      answer: () => Response.json(configSchema),
    },
    {
      method: 'POST',
      path: '/admin/api/providers/test',
      access: 'admin',
      summary: 'Sends a model a tiny request and reports whether it worked.',
      body: testProviderSchema,
      responses: { 200: { description: 'The outcome', schema: testedProviderSchema } },
      answer: async ({ body, request, sender }) => {
        const order = body as { model: string | JsonObject; providers?: JsonObject }
        const result = await testProvider(order, config, request.signal)
        const { provider, model, baseURL } =
          typeof order.model === 'string' ? { provider: undefined, model: order.model, baseURL: undefined } : order.model
        const fields = {
          ...sender,
          provider,
          model,
          baseURL,
          providers: Object.keys(order.providers ?? {}),
          ok: result.ok,
          error: result.error?.code,
        }
        parts.logger.info(fields, 'a provider was tested over the API')
        return Response.json(result)
      },
    },
    {
      method: 'GET',
      path: '/admin/api/state',
      access: 'admin',
      forTenants: true,
      summary: 'The state of the service. For a token with a tenant: of its runs, without configuration, providers and streams.',
      query: [{ name: 'runs', description: '`none`: without `runs` and `pending`, which `/v1/runs` lists a page at a time.' }],
      headers: [{ name: 'if-none-match', description: 'The `etag` of an earlier response: 304 if nothing has changed.' }],
      responses: { 200: { description: 'The state', schema: stateSchema }, 304: { description: 'Nothing has changed' } },
      answer: async ({ caller, request, url }) => {
        const isWhole = url.searchParams.get('runs') !== 'none'
        const { data: listed } = isWhole ? await runs.list(caller, { limit: 200 }) : { data: [] }
        const waitingRuns = isWhole ? await runs.list(caller, { status: 'waiting', limit: 1_000 }) : { data: [] }
        const pending = pendingOf(waitingRuns.data)
        const waiting = await runs.waiting(caller.tenant)
        const isOfAll = caller.tenant === undefined
        const state = {
          version,
          startedAt: parts.startedAt.toISOString(),
          draining: parts.isDraining(),
          config: isOfAll ? config.state : { ...nothingChanged, loadedAt: config.state.loadedAt },
          providers: isOfAll ? describeProviders(host.agents, config.config) : [],
          models: host.agents.map(({ name, model }) => ({ name, provider: model.provider, model: model.model })),
          tools: describeTools(parts),
          waiting,
          ...(isOfAll ? { openStreams: streams.size } : {}),
        }
        const beginning = JSON.stringify(state).slice(0, -1)
        const lists = isWhole ? [',"runs":[', ...separated(listed), '],"pending":[', ...separated(pending), ']'] : []
        return respondWithText([beginning, ...lists, '}'], { caller: caller.name, limiter, request })
      },
    },
    {
      method: 'GET',
      path: '/admin/api/skills',
      access: 'admin',
      summary: 'The configured Skills with their instructions, and why others were left out.',
      responses: { 200: { description: 'The Skills', schema: skillListSchema } },
      answer: () => Response.json(describeSkills(host.skills)),
    },
    {
      method: 'GET',
      path: '/admin/api/feed',
      access: 'admin',
      forTenants: true,
      summary:
        'The events of all runs: the latest ones, then new ones as they occur. For a token with a tenant: those of its runs, since the first request for them.',
      headers: [{ name: 'last-event-id', description: 'The id of the last event received; the stream continues after it.' }],
      responses: { 200: { description: 'Events', types: ['text/event-stream'] } },
      answer: async ({ request, caller }) => {
        const release = limiter.admitStream(caller.name)
        try {
          const feed = runs.feed.of(caller.tenant)
          const response = streams.respond(new LogReader(feed, { after: readLastEventId(request) }), { onClose: release })
          // Shows the events that were buffered while the feed had no reader.
          await runs.showAll()
          return response
        } catch (error) {
          release()
          throw error
        }
      },
    },
  ]
}

/** Callers with a tenant see this instead of the configuration's state. */
const nothingChanged = { file: null, reloads: 0, lastError: null, needsRestart: [] }

function describeSkills({ skills, problems }: FoundSkills): object {
  const data = skills.map(({ name, description, scope, folder, allowedTools, tools, scripts, body }) => ({
    name,
    description,
    source: scope,
    folder,
    allowedTools,
    tools: tools.map((tool) => tool.name),
    scripts,
    instructions: body,
  }))
  return { object: 'list', data, problems }
}

async function changeConfig({ request, body, sender }: Call, parts: ServiceParts): Promise<Response> {
  const etag = request.headers.get('if-match')
  if (etag === null)
    throw new HttpProblem(428, 'if_match_required', 'Expected the header `if-match` with the `etag` of the configuration', {
      param: 'if-match',
    })
  return shown(await parts.config.change(body as ConfigChange, etag, sender), parts)
}

function shown(config: ShownConfig, parts: ServiceParts): Response {
  return Response.json({ ...config, state: parts.config.state }, { headers: { etag: config.etag } })
}
