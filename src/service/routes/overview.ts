import { HttpProblem } from '../http/problem.ts'
import type { Route } from '../http/route.ts'
import { beginOf, overviewOf, windows } from '../overview/overview.ts'
import type { ServiceParts } from '../service-parts.ts'
import { overviewSchema } from './admin-schemas.ts'

/** The route for the outcomes of the runs of the last hour or day. */
export function overviewRoutes({ finished, runs }: ServiceParts): Route[] {
  return [
    {
      method: 'GET',
      path: '/admin/api/overview',
      access: 'admin',
      forTenants: true,
      summary:
        'The runs that ended in the last hour or day, everybody’s or those of the token’s tenant, added up: how many, failures, durations, tokens, cost, tools.',
      query: [{ name: 'window', description: '`hour`, in steps of 2 minutes, or `day`, in steps of 30. Default `hour`.' }],
      responses: { 200: { description: 'The overview', schema: overviewSchema } },
      answer: async ({ url, caller }) => {
        const name = url.searchParams.get('window') ?? 'hour'
        const window = Object.hasOwn(windows, name) ? windows[name] : undefined
        if (window === undefined) throw new HttpProblem(400, 'invalid_request', 'Expected `hour` or `day`', { param: 'window' })
        const now = Date.now()
        const { runs: ended, since } = await finished.of(caller.tenant).since(beginOf(window, now))
        const overview = await overviewOf(ended, window, now)
        return Response.json({
          object: 'overview',
          window: name,
          ...overview,
          since: new Date(since).toISOString(),
          running: runs.running(caller.tenant),
          waiting: await runs.waiting(caller.tenant),
        })
      },
    },
  ]
}
