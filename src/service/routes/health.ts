import { convertToOpenAITool } from '../../tools/tool.ts'
import type { Route } from '../http/route.ts'
import { statusSchema, toolListSchema } from '../http/schemas.ts'
import { contentTypes, formatFor } from '../metrics.ts'
import type { ServiceParts } from '../service-parts.ts'
import { openApiDocument } from './openapi.ts'

/** The routes for probes, metrics, the OpenAPI document and the list of tools. */
export function healthRoutes(parts: ServiceParts, all: () => readonly Route[]): Route[] {
  return [
    {
      method: 'GET',
      path: '/healthz',
      access: 'open',
      probe: true,
      summary: 'Liveness: whether the process responds.',
      responses: { 200: { description: 'Alive', schema: statusSchema } },
      answer: () => Response.json({ status: 'ok' }),
    },
    {
      method: 'GET',
      path: '/readyz',
      access: 'open',
      probe: true,
      summary: 'Readiness: whether the service accepts new work.',
      responses: {
        200: { description: 'Ready', schema: statusSchema },
        503: { description: 'Shutting down (`draining`), or unable to store runs (`not_storing`)', schema: statusSchema },
      },
      answer: async () => {
        if (parts.isDraining()) return Response.json({ status: 'draining' }, { status: 503 })
        if (!(await parts.runs.canStore())) return Response.json({ status: 'not_storing' }, { status: 503 })
        return Response.json({ status: 'ready' })
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      // A token with the role `metrics` is required, because metrics include the usage of all callers.
      access: 'metrics',
      probe: true,
      summary: 'Metrics for Prometheus.',
      responses: {
        200: { description: 'The Prometheus text format, or OpenMetrics', types: ['text/plain', 'application/openmetrics-text'] },
      },
      answer: async ({ request }) => {
        const format = formatFor(request.headers.get('accept'))
        const headers = { 'content-type': contentTypes[format], vary: 'accept' }
        return new Response(await parts.metrics.toText(format), { headers })
      },
    },
    {
      method: 'GET',
      path: '/openapi.json',
      access: 'open',
      summary: 'The OpenAPI document of this API.',
      responses: { 200: { description: 'An OpenAPI 3.1 document', schema: { type: 'object' } } },
      answer: () => Response.json(openApiDocument(all())),
    },
    {
      method: 'GET',
      path: '/v1/tools',
      access: 'run',
      summary: 'The tools of the agent.',
      responses: { 200: { description: 'The tools', schema: toolListSchema } },
      answer: () => Response.json({ object: 'list', data: describeTools(parts) }),
    },
  ]
}

export function describeTools({ host }: Pick<ServiceParts, 'host'>): object[] {
  return host.tools.list().map((tool) => ({
    ...convertToOpenAITool(tool),
    effect: tool.effect ?? 'unsafe',
    approval: tool.approval === true ? 'always' : typeof tool.approval === 'function' ? 'depends' : 'never',
  }))
}
