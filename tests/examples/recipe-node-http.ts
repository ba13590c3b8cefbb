import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { AgentRunner } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { pipeToNode } from '../../src/ui/index.ts'

const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools: builtinTools(), limits: { deadlineMs: 60_000 } })

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let prompt = ''
  for await (const chunk of request.setEncoding('utf8')) {
    prompt += chunk
    if (prompt.length > 10_000) return void response.writeHead(413).end()
  }
  // If the client disconnects, the run is aborted.
  await pipeToNode(runner.stream(prompt), response)
}

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy())
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = server.address()
const port = typeof address === 'object' ? address?.port : undefined
const reply = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'What is 17 * 23?' })
console.log((await reply.text()).split('\n\n').at(-2))
server.close()
