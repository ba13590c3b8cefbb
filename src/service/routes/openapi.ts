import { withoutUndefined } from '../../core/messages.ts'
import type { JsonSchema } from '../../tools/tool.ts'
import type { Route } from '../http/route.ts'
import { errorSchema } from '../http/schemas.ts'

/** Returns the OpenAPI 3.1 document of the routes. https://spec.openapis.org/oas/v3.1.1.html */
export function openApiDocument(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'toolloop',
      version: '1',
      description: 'Runs of a tool-using agent. Errors use OpenAI’s format.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: { schemas: { Error: errorSchema }, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{ token: [] }],
  }
}

function operationOf({
  method,
  path,
  access,
  forTenants = access === 'run',
  summary,
  body,
  responses,
  query = [],
  headers = [],
}: Route): object {
  const noTenant = forTenants ? '' : ' and no tenant'
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  const inQuery = query.map((field) => ({ ...field, in: 'query', schema: { type: 'string' } }))
  const inHeader = headers.map((header) => ({ ...header, in: 'header', schema: { type: 'string' } }))
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^a-zA-Z]+(\w?)/g, (_whole, first: string) => first.toUpperCase())}`,
    summary,
    ...(access === 'open' ? { security: [] } : { description: `Needs a token with the role \`${access}\`${noTenant}.` }),
    parameters: [...inPath, ...inQuery, ...inHeader],
    ...withoutUndefined({ requestBody: body && { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, { description, schema, types = [] }]) => [
          status,
          { description, content: contentOf(schema, types) },
        ]),
      ),
      default: { description: 'An error', content: contentOf({ $ref: '#/components/schemas/Error' }, []) },
    },
  }
}

function contentOf(schema: JsonSchema | undefined, types: readonly string[]): object {
  return {
    ...withoutUndefined({ 'application/json': schema && { schema } }),
    ...Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
  }
}
