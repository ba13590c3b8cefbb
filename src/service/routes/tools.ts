import type { JsonObject } from '../../core/messages.ts'
import { redactText } from '../../core/redaction/redact.ts'
import { originOf } from '../../tools/tool-names.ts'
import { tryTool } from '../agents/try-tool.ts'
import { HttpProblem } from '../http/problem.ts'
import type { Call, Route } from '../http/route.ts'
import type { ServiceParts } from '../service-parts.ts'
import { adminToolListSchema, triedCallSchema, tryToolSchema } from './admin-schemas.ts'
import { describeTools } from './health.ts'

/** The routes with which an admin lists and tries tools. */
export function toolRoutes(parts: ServiceParts): Route[] {
  return [
    {
      method: 'GET',
      path: '/admin/api/tools',
      access: 'admin',
      summary: 'The tools of the agent: where each is from, how its calls since the start of this process have ended; and the MCP servers.',
      responses: { 200: { description: 'The tools', schema: adminToolListSchema } },
      answer: () => Response.json(describeAll(parts)),
    },
    {
      method: 'POST',
      path: '/admin/api/tools/{name}/calls',
      access: 'admin',
      summary:
        'Runs one call of a tool, outside of any run: validated, with its time limit and retries. It is logged, without its arguments.',
      body: tryToolSchema,
      responses: {
        200: { description: 'How the call ended', schema: triedCallSchema },
        404: { description: 'There is no such tool' },
        409: { description: 'The tool may have side effects or needs an approval, and `approved` is not true' },
        422: { description: 'The arguments are not valid' },
      },
      answer: (call) => runCall(call, parts),
    },
  ]
}

function describeAll({ host, calls }: ServiceParts): object {
  const described = describeTools({ host })
  const data = host.tools.list().map((tool, at) => ({
    ...described[at],
    source: originOf(tool) ?? { kind: host.tools.sourceOf(tool.name) },
    runsHere: tool.execute !== undefined,
    calls: calls.of(tool.name),
  }))
  const servers = host.mcpServers.map(({ problem, ...server }) => ({
    ...server,
    ...(problem === undefined ? {} : { problem: redactText(problem) }),
  }))
  return { object: 'list', data, servers }
}

async function runCall({ body, params, caller, request, sender }: Call, parts: ServiceParts): Promise<Response> {
  const { host, limiter, calls, trials, contextOf, logger } = parts
  const { arguments: args, approved = false } = body as { arguments: JsonObject; approved?: boolean }
  const tool = host.tools.get(params.name ?? '')
  if (tool === undefined) throw new HttpProblem(404, 'tool_not_found', 'There is no tool with this name', { param: 'name' })
  const context = await contextOf(request, caller)
  const giveBack = limiter.admitRun(caller.name)
  try {
    const tried = await trials.run(request.signal, (signal) => tryTool({ tool, args, approved, context, signal }, parts))
    const { outcome, durationMs, errorCode } = tried
    const ended = { outcome, durationMs, errorCode }
    calls.add(tool.name, { at: new Date(Date.now() - durationMs).toISOString(), ...ended })
    logger.info({ ...sender, tool: tool.name, ...ended }, 'a tool was tried over the API')
    return Response.json(tried)
  } finally {
    giveBack()
  }
}
