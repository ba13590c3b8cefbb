import { it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { startService } from '../service/start-service.ts'
import { expectPinned } from './expect-pinned.ts'
import { fieldsOf, type Schema } from './json-schema-fields.ts'

type Contents = Record<string, { schema?: Schema }>
interface Operation {
  parameters?: { in: string; name: string }[]
  requestBody?: { content: Contents }
  responses: Record<string, { content?: Contents }>
}
interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const contentLines = (at: string, content: Contents = {}) =>
  Object.entries(content).flatMap(([type, { schema = {} }]) => [`${at} ${type}`, ...fieldsOf(schema, at)])

it('the routes of the service, with their parameters, fields and status codes', async () => {
  const { ask } = await startService({ model: scriptedModel([]) })
  const { paths, components } = (await (await ask('/openapi.json')).json()) as OpenApi
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ route: `${path} ${method.toUpperCase()}`, ...operation })),
  )
  const lines = routes.flatMap(({ route, parameters = [], requestBody, responses }) => [
    ...parameters.map((parameter) => `${route} ${parameter.in} ${parameter.name}`),
    ...contentLines(`${route} body`, requestBody?.content),
    ...Object.entries(responses).flatMap(([status, { content }]) => [`${route} ${status}`, ...contentLines(`${route} ${status}`, content)]),
  ])
  const shared = Object.entries(components.schemas).flatMap(([name, schema]) => fieldsOf(schema, name))
  expectPinned('http-routes.txt', [...lines, ...shared])
})

it('the metrics of the service, and their labels', async () => {
  const { post, ask } = await startService({
    model: scriptedModel([{ toolCalls: [{ name: 'calculate', args: { expression: '1+1' } }] }, '2']),
  })
  await (await post('/v1/runs', { input: 'go' })).text()
  const text = await (await ask('/metrics')).text()
  const types = [...text.matchAll(/^# TYPE (.+)$/gm)].map(([, type = '']) => type)
  const samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? /gm)].map(([, name = '', labels = '']) => {
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
    return names.length === 0 ? name : `${name}{${names.join(', ')}}`
  })
  expectPinned('service-metrics.txt', [...types, ...samples])
})
