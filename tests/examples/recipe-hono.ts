import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { AgentRunner } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools: builtinTools(), limits: { deadlineMs: 60_000 } })

const app = new Hono()
app.post('/ask', async (c) => {
  const prompt = await c.req.text()
  const run = runner.stream(prompt, { signal: c.req.raw.signal })
  return streamSSE(c, async (stream) => {
    for await (const event of run) {
      if (stream.aborted) break // The client has disconnected. Leaving the loop aborts the run.
      await stream.writeSSE({ event: event.type, data: JSON.stringify(event) })
    }
    const { stopReason, output } = await run.result
    await stream.writeSSE({ event: 'RESULT', data: JSON.stringify({ stopReason, output }) })
  })
})

const response = await app.request('/ask', { method: 'POST', body: 'What is 17 * 23?' })
console.log(response.headers.get('content-type'), (await response.text()).split('\n\n').at(-2))
