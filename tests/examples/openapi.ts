import { createServer } from 'node:http'
import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { openApiTools } from '../../src/tools/openapi/index.ts'

const document = `
openapi: 3.1.0
info: { title: Weather, version: '1' }
security: [{ key: [] }]
paths:
  /weather/{city}:
    get:
      operationId: weather
      summary: The weather in a city.
      parameters:
        - { name: city, in: path, required: true, schema: { type: string } }
        - { name: units, in: query, schema: { enum: [metric, imperial] } }
components:
  securitySchemes: { key: { type: apiKey, in: header, name: x-api-key } }
`
const api = createServer(({ url, headers }, response) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ url, key: headers['x-api-key'] }))
})
await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
const address = api.address()
const port = typeof address === 'object' ? address?.port : undefined

process.env.WEATHER_KEY = 'a key that no model sees'
const tools = await openApiTools(document, { baseURL: `http://127.0.0.1:${port}`, auth: { key: 'WEATHER_KEY' }, methods: ['get'] })
const model = scriptedModel([{ toolCalls: [{ name: 'weather', args: { city: 'São Paulo', units: 'metric' } }] }, 'Warm.'])
const { toolCalls } = await new AgentRunner({ model, tools }).run('Do I need a coat?')
console.log(toolCalls[0]?.content)
api.close()
