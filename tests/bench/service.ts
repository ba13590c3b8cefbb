/**
 * `node tests/bench/service.ts`: the service under load. 1,000 streamed runs at once, each of three turns with two tool calls, against a
 * provider on the loopback interface; provider, service and clients have a process each. Every answer is checked; ends with exit code 1 if one
 * is wrong or lost. `--total=50000` makes that many, a thousand at a time, and shows whether the service's memory stays flat;
 * `--at-once=N` changes the thousand.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createLogger, defineTool } from '../../src/index.ts'
import { createService, listen } from '../../src/service/index.ts'

const token = 'bench'
const turns = 2
const numberOf = (flag: string, otherwise: number) =>
  Number(process.argv.find((argument) => argument.startsWith(`--${flag}=`))?.split('=')[1] ?? otherwise)

/** What the service's process says of itself. */
interface Health {
  delayP99Ms: number
  delayMaxMs: number
  rssMB: number
  heapMB: number
  cpuMs: number
}

async function serveBench(provider: string): Promise<void> {
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
    execute: ({ a, b }) => a + b,
  })
  const service = createService({
    model: { provider: 'custom', model: 'bench', baseURL: `${provider}/turns/${turns}`, apiKey: 'key' },
    tools: [add],
    authenticate: (asked) =>
      asked.headers.get('authorization') === `Bearer ${token}` ? { name: asked.headers.get('x-user') ?? '', roles: ['run'] } : undefined,
    logger: createLogger({ level: 'error' }),
    env: {},
  })
  const { url } = await listen(service, { port: 0 })
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  let cpu = process.cpuUsage()
  process.on('message', () => {
    global.gc?.()
    const { user, system } = process.cpuUsage(cpu)
    cpu = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    const health: Health = {
      delayP99Ms: delay.percentile(99) / 1e6,
      delayMaxMs: delay.max / 1e6,
      rssMB: rss / 2 ** 20,
      heapMB: heapUsed / 2 ** 20,
      cpuMs: (user + system) / 1000,
    }
    delay.reset()
    process.send?.(health)
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.(url)
}

/** One streamed run; resolves with its milliseconds, rejects when the answer is not whole. */
async function oneRun(url: string, agent: Agent, user: string): Promise<number> {
  const started = performance.now()
  const body = JSON.stringify({ model: 'toolloop', messages: [{ role: 'user', content: 'Add.' }], stream: true })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-user': user, 'content-length': body.length }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, resolve).on('error', reject).end(body)
  })
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  // Every turn says the same words; all of them have to be there.
  const said = text.match(/"content":"please/g)?.length
  const isWhole = said === turns + 1 && text.includes('"finish_reason":"stop"') && text.endsWith('data: [DONE]\n\n')
  if (response.statusCode !== 200 || !isWhole) throw new Error(`a run was lost: status ${response.statusCode}, ${text.slice(-200)}`)
  return performance.now() - started
}

async function load(): Promise<void> {
  const atOnce = numberOf('at-once', 1_000)
  const total = numberOf('total', atOnce * 3)
  const provider = fork(new URL('./server.ts', import.meta.url), { execArgv: [] })
  const [port] = await once(provider, 'message')
  const service = fork(new URL(import.meta.url), ['--role=service', `http://127.0.0.1:${String(port)}`], {
    execArgv: ['--expose-gc'],
  })
  const [url] = await once(service, 'message')
  const health = async (): Promise<Health> => {
    service.send('how are you')
    const [answer] = await once(service, 'message')
    return answer as Health
  }
  const row = (...cells: (string | number)[]) =>
    console.log(`| ${cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(0) : cell)).join(' | ')} |`)
  row('runs so far', 'runs/s', 'p50, ms', 'p99, ms', 'CPU a run, µs', 'loop delay p99, ms', 'loop delay max, ms', 'RSS, MB', 'heap, MB')
  row('---', '---', '---', '---', '---', '---', '---', '---', '---')
  await health()
  try {
    for (let done = 0; done < total; done += atOnce) {
      // Not kept for the next thousand: a connection that is idle for long is closed by the other end, perhaps just when it is used.
      const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
      const started = performance.now()
      // As many users as it takes for none to be over its share.
      const times = await Promise.all(
        Array.from({ length: atOnce }, (_, at) => oneRun(String(url), agent, `user ${done % 50_000} ${at % 20}`)),
      )
      const seconds = (performance.now() - started) / 1000
      times.sort((a, b) => a - b)
      agent.destroy()
      const { delayP99Ms, delayMaxMs, rssMB, heapMB, cpuMs } = await health()
      const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
      row(done + atOnce, atOnce / seconds, at(0.5), at(0.99), (cpuMs * 1000) / atOnce, delayP99Ms, delayMaxMs, rssMB, heapMB)
    }
  } finally {
    service.disconnect()
    provider.disconnect()
  }
}

if (process.argv.includes('--role=service')) await serveBench(process.argv.at(-1) ?? '')
else await load()
