import { HttpProblem } from '../http/problem.ts'
import type { Route, RouteResponse } from '../http/route.ts'
import { metadataPath, resourceMetadata } from '../mcp/authorization.ts'
import type { ServiceParts } from '../service-parts.ts'

const messages: RouteResponse = { description: 'JSON-RPC, whole or as events', types: ['application/json', 'text/event-stream'] }
const headers = [
  { name: 'mcp-protocol-version', description: 'The revision of the protocol.' },
  { name: 'mcp-session-id', description: 'The session, where the revision has sessions.' },
]

/** The route that offers tools and agents to MCP clients over streamable HTTP, if `service.mcp` is on. */
export function mcpRoutes({ mcp }: ServiceParts): Route[] {
  const route = { path: '/mcp', access: 'run', headers, answer: (call) => mcp.answer(call) } satisfies Partial<Route>
  return [
    {
      ...route,
      method: 'POST',
      summary: 'A message of an MCP client: a call of a tool, the list of tools, …',
      body: { type: ['object', 'array'], maxItems: 100 },
      values: 'mcp',
      responses: { 200: messages, 202: { description: 'Taken; there is nothing to answer' } },
    },
    { ...route, method: 'GET', summary: 'The notifications of an MCP session.', responses: { 200: messages } },
    { ...route, method: 'DELETE', summary: 'Ends an MCP session.', responses: { 200: { description: 'It has ended' } } },
    {
      method: 'GET',
      path: metadataPath,
      access: 'open',
      summary: 'The issuer of tokens for `/mcp` (RFC 9728), if that is not the service itself.',
      responses: { 200: { description: 'The metadata of the protected resource' } },
      answer: () => {
        if (mcp.authorization === undefined) throw new HttpProblem(404, 'not_found', 'The tokens of this service are its own')
        return Response.json(resourceMetadata(mcp.authorization))
      },
    },
  ]
}
