import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { peerNames } from './peers.ts'

/**
 * What a start costs, each time in a fresh process: importing the built package and making a model, a tool and a runner; and all until the first
 * request is at the provider, beside what importing the provider's SDK costs by itself, and a first request of that SDK by itself, over
 * Node's `fetch`; and by how much it is more: the median of the differences of all rounds. In milliseconds. `--peers`: other runtimes as well.
 */
const rounds = 20
const made = `
  const { AgentRunner, createModel, defineTool } = await import('toolloop')
  const model = createModel({ provider: process.env.PROVIDER, model: 'm', baseURL: process.env.BASE_URL, apiKey: 'none', maxRetries: 0 })
  const parameters = { type: 'object', properties: { city: { type: 'string', description: 'Its name' } }, required: ['city'] }
  const tool = defineTool({ name: 'weather', description: 'The weather', parameters, execute: () => '21 °C' })
  const runner = new AgentRunner({ model, tools: [tool] })`

function peerMade(name: string): string {
  const module = new URL(`peers/${name}.js`, import.meta.url).href
  const options = "{ url: process.env.BASE_URL, stream: true, rounds: 1, prompt: '', answer: '', add: ({ a, b }) => a + b }"
  return `const { make } = await import(${JSON.stringify(module)}); make(${options})`
}

const sdks: Record<string, string> = { openai: 'openai', anthropic: '@anthropic-ai/sdk', google: '@google/genai' }
const base = 'process.env.BASE_URL'
/** A request of the SDK itself. */
const asked: Record<string, string> = {
  openai: `const { default: OpenAI } = await import('openai')
    await new OpenAI({ baseURL: ${base}, apiKey: 'none', maxRetries: 0 }).chat.completions.create({ model: 'm', messages: [] }).catch(() => {})`,
  anthropic: `const { default: Anthropic } = await import('@anthropic-ai/sdk')
    await new Anthropic({ baseURL: ${base}, apiKey: 'none', maxRetries: 0 }).messages.create({ model: 'm', max_tokens: 1, messages: [] }).catch(() => {})`,
  google: `const { GoogleGenAI } = await import('@google/genai')
    const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: ${base} } })
    await client.models.generateContent({ model: 'm', contents: 'Hello' }).catch(() => {})`,
}
const sdkAlone = (provider: string): string => `the SDK by itself, ${provider}`
const sdkRequest = (provider: string): string => `first request of the SDK by itself, ${provider}`
const firstRequest = (provider: string): string => `first request, ${provider}`

const peers = process.argv.includes('--peers') ? peerNames : []
const contenders: Record<string, string> = {
  'import, model, tool, runner': made,
  ...Object.fromEntries(peers.map((name) => [`the same, ${name}`, peerMade(name)])),
  ...Object.fromEntries(
    Object.entries(sdks).flatMap(([provider, sdk]) => [
      [sdkAlone(provider), `await import('${sdk}')`],
      [sdkRequest(provider), asked[provider] ?? ''],
      [firstRequest(provider), `${made}\nawait runner.run('Hello')`],
    ]),
  ),
}

const now = () => performance.timeOrigin + performance.now()
let arrivedAt = 0
const server = createServer((_, response) => {
  arrivedAt = now()
  response.writeHead(400).end('{}')
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
const port = typeof address === 'object' ? address?.port : undefined

/** How long a script takes from its first line on: until it ends, or its request is here. */
async function measure(title: string, script: string): Promise<number> {
  const provider = Object.keys(sdks).find((name) => title === firstRequest(name) || title === sdkRequest(name)) ?? 'openai'
  const env = { PATH: process.env.PATH, PROVIDER: provider, BASE_URL: `http://127.0.0.1:${port}/v1` }
  const timed = `
    const startedAt = performance.timeOrigin + performance.now()
    ${script}
    console.log(JSON.stringify([startedAt, performance.timeOrigin + performance.now()]))
    process.exit()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', timed], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [startedAt, endedAt]: [number, number] = JSON.parse(await text(child.stdout))
  return (title.startsWith('first request') ? arrivedAt : endedAt) - startedAt
}

const samples = new Map<string, number[]>(Object.keys(contenders).map((title) => [title, []]))
for (let round = 0; round <= rounds; round++) {
  for (const [title, script] of Object.entries(contenders)) {
    const ms = await measure(title, script)
    // The first one warms the disk's cache.
    if (round > 0) samples.get(title)?.push(ms)
  }
}
server.close()
console.log('| a fresh process | ms (median) | p25..p75 |\n| --- | --- | --- |')
for (const provider of Object.keys(sdks)) {
  const beyond = (title: string) => {
    const alone = samples.get(title) ?? []
    return samples.get(firstRequest(provider))?.map((ms, round) => ms - (alone[round] ?? 0)) ?? []
  }
  samples.set(`first request, ${provider}, beyond importing the SDK`, beyond(sdkAlone(provider)))
  samples.set(`first request, ${provider}, beyond that of the SDK`, beyond(sdkRequest(provider)))
}
for (const [title, all] of samples) {
  const at = (share: number) => all.toSorted((a, b) => a - b)[Math.floor(all.length * share)]?.toFixed(1)
  console.log(`| ${title} | ${at(0.5)} | ${at(0.25)}..${at(0.75)} |`)
}
