import { AgentRunner } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools: builtinTools(), limits: { deadlineMs: 60_000 } })

/** Streams the text as it arrives. If the client stops reading, the run is aborted. */
export async function POST(request: Request): Promise<Response> {
  const { text } = runner.stream(await request.text(), { signal: request.signal })
  const body = ReadableStream.from(text).pipeThrough(new TextEncoderStream())
  return new Response(body, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
}

const response = await POST(new Request('http://localhost/ask', { method: 'POST', body: 'What is 17 * 23?' }))
console.log(await response.text())
