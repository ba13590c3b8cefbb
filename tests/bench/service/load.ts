/** Requests of the workloads, and blocks of them. */
import { Agent, type ClientRequest, get, type IncomingMessage, request } from 'node:http'
import type { Gateway, Target } from './gateways.ts'

const atOnce = 10
const agent = new Agent({ keepAlive: true })

/** Makes one request after another as a client; rejects if an answer is not whole. */
export type Work = (gateway: Gateway) => Promise<void>

export interface Block {
  /** Processor time of the gateway, a request. */
  cpuUs: number
  p50: number
  p99: number
}

/** Does `count` pieces of work, ten at once. */
export async function block(gateway: Gateway, work: Work, count: number): Promise<Block> {
  const times: number[] = []
  let left = count
  const client = async () => {
    while (left-- > 0) {
      const started = performance.now()
      await work(gateway)
      times.push(performance.now() - started)
    }
  }
  const before = await gateway.usage()
  await Promise.all(Array.from({ length: atOnce }, client))
  const after = await gateway.usage()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  return { cpuUs: ((after.cpuMs - before.cpuMs) * 1000) / count, p50: at(0.5), p99: at(0.99) }
}

/** Sends a request; resolves with the head of its response. */
export function send({ url, headers }: Target, body: object, via: Agent | false = agent): Promise<IncomingMessage> {
  const text = JSON.stringify(body)
  const all = { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(url, { method: 'POST', agent: via, headers: all }, resolve)
    sent.on('error', reject).end(text)
  })
}

async function answerTo(target: Target, body: object): Promise<string> {
  const response = await send(target, body)
  let text = ''
  for await (const piece of response.setEncoding('utf8')) text += piece
  if (response.statusCode !== 200 && response.statusCode !== 202)
    throw new Error(`${target.url}: status ${response.statusCode}, ${text.slice(0, 300)}`)
  return text
}

function expectIn(text: string, ...parts: string[]): void {
  for (const part of parts) if (!text.includes(part)) throw new Error(`Expected ${part} in ${text.slice(-500)}`)
}

const prompt = 'What is one and two, and is it fine?'
const messages = [
  { role: 'system', content: 'You answer briefly.' },
  { role: 'user', content: prompt },
]
const parameters = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] }
const tools = [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters } }]

function endOf(stream: boolean): string[] {
  return stream ? ['"fine."', '"finish_reason":"stop"', 'data: [DONE]'] : ['one moment please. It is fine.', '"finish_reason":"stop"']
}

/** A chat completion that goes to the model as it is. */
export function completion(stream: boolean): Work {
  return async (gateway) => {
    const target = gateway.target('/v1/chat/completions', 'text')
    expectIn(await answerTo(target, { model: target.model, messages, stream }), ...endOf(stream))
  }
}

/**
 * A chat completion whose model calls a tool. toolloop runs the tool itself. Clients of the others run it, and send its result in a second
 * request.
 */
export function withTool(stream: boolean): Work {
  return async (gateway) => {
    const target = gateway.target('/v1/chat/completions', 'call')
    const { model } = target
    if (gateway.name === 'toolloop') {
      expectIn(await answerTo(target, { model, messages, stream }), ...endOf(stream))
      return
    }
    expectIn(await answerTo(target, { model, messages, tools, stream }), '"add"')
    const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
    const told = [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '3' },
    ]
    expectIn(await answerTo(target, { model, messages: told, tools, stream }), ...endOf(stream))
  }
}

/** A response of the Responses API, not stored. */
export function response(stream: boolean): Work {
  return async (gateway) => {
    const target = gateway.target('/v1/responses', 'text')
    const body = { model: target.model, instructions: 'You answer briefly.', input: prompt, store: false, stream }
    expectIn(await answerTo(target, body), 'one moment please. It is fine.', ...(stream ? ['response.completed'] : []))
  }
}

/** A run of `/v1/runs` with one tool call. */
export const runWithTool: Work = async (gateway) => {
  const target = gateway.target('/v1/runs', 'call')
  expectIn(await answerTo(target, { model: target.model, input: prompt }), '"stopReason":"answered"', 'one moment please. It is fine.')
}

/** A run that waits for an approval, and gets it. */
export const approval: Work = async (gateway) => {
  const target = gateway.target('/v1/runs', 'ask')
  const waiting: { id: string; pending: { toolCallId: string; fingerprint: string }[] } = JSON.parse(
    await answerTo(target, { model: target.model, input: prompt }),
  )
  const decisions = waiting.pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true }))
  const decide = gateway.target(`/v1/runs/${waiting.id}/decisions`, 'ask')
  expectIn(await answerTo(decide, { decisions }), '"stopReason":"answered"')
}

/** Opens `count` streamed completions that have got their first word, and get no other. Resolves with a function that closes them. */
export function openStreams(gateway: Gateway, count: number): Promise<() => void> {
  const target = gateway.target('/v1/chat/completions', 'hold')
  return openMany(count, () => send(target, { model: target.model, messages, stream: true }, false))
}

/** Opens `count` readers of the events of one run, as `openStreams` does. */
export async function openReaders(gateway: Gateway, count: number): Promise<() => void> {
  const target = gateway.target('/v1/runs', 'hold')
  const { id }: { id: string } = JSON.parse(await answerTo(target, { model: target.model, input: prompt, background: true }))
  const { url, headers } = gateway.target(`/v1/runs/${id}/events`, 'hold')
  return openMany(count, () => new Promise((resolve, reject) => get(url, { agent: false, headers }, resolve).on('error', reject)))
}

async function openMany(count: number, start: () => Promise<IncomingMessage>): Promise<() => void> {
  const open: IncomingMessage[] = []
  const openOne = async () => {
    const stream = await start()
    open.push(stream)
    let text = ''
    for await (const piece of stream.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      text += piece
      if (text.includes('"Let ')) return
    }
    throw new Error(`A stream ended: ${text.slice(-300)}`)
  }
  for (let at = 0; at < count; at += 50) await Promise.all(Array.from({ length: Math.min(50, count - at) }, openOne))
  return () => {
    for (const stream of open) stream.destroy()
  }
}
