import { Hono } from 'hono'
import { AgentRunner } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools: builtinTools(), limits: { deadlineMs: 60_000 } })

const app = new Hono()
app.post('/ask', async (c) => runner.stream(await c.req.text()).toResponse())

const response = await app.request('/ask', { method: 'POST', body: 'What is 17 * 23?' })
console.log(response.headers.get('content-type'), (await response.text()).split('\n\n').at(-2))
