import { AgentRunner, type RunStream } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools: builtinTools() })
const runs = new Map<string, RunStream>()

/** Starts a run that continues if its client leaves, and is kept for a minute after its end. */
async function start(request: Request): Promise<Response> {
  const id = crypto.randomUUID()
  const run = runner.stream(await request.text())
  runs.set(id, run)
  const forget = () => void setTimeout(() => runs.delete(id), 60_000).unref()
  run.result.then(forget, forget)
  return run.toResponse({ onDisconnect: 'continue', headers: { 'x-run': id } })
}

/** An `EventSource` sends the id of the last event that it has seen; 204 tells it not to reconnect. */
function reconnect(request: Request): Response {
  const run = runs.get(new URL(request.url).searchParams.get('run') ?? '')
  if (run === undefined) return new Response(null, { status: 204 })
  return run.toResponse({ onDisconnect: 'continue', lastEventId: request.headers.get('last-event-id') })
}

const first = await start(new Request('http://localhost/runs', { method: 'POST', body: 'What is 17 * 23?' }))
await first.text()
// As if the connection had been lost after the second event.
const again = new Request(`http://localhost/runs?run=${first.headers.get('x-run')}`, { headers: { 'last-event-id': '2' } })
const frames = (await reconnect(again).text()).split('\n\n')
console.log(frames[0]?.split('\n')[0], '…', frames.at(-2)?.split('\n')[0])
