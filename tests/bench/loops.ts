/** The loops that are compared: ours, one written by hand on `fetch`, and one on the openai SDK as its README shows it. */
import OpenAI from 'openai'
import { AgentRunner, createModel, defineTool, type ModelSettings } from '../../src/index.ts'

export interface LoopOptions {
  url: string
  stream: boolean
  rounds: number
  /** Called with the visible text as it comes, where the loop streams. */
  onText?(text: string): void
  onRound?(round: number): void
}

/** Runs one task to its end and returns the length of its last turn's text. */
export type Loop = (options: LoopOptions) => Promise<number>

let calls = 0

/** How many calls have run since it was asked the last time, in all runs. */
export function takeCalls(): number {
  const taken = calls
  calls = 0
  return taken
}

export function add({ a, b }: { a: number; b: number }): number {
  calls++
  return a + b
}

function store({ text }: { text: string }): number {
  calls++
  return text.length
}

const parameters = {
  add: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'], additionalProperties: false },
  store: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}
export const prompt = 'Do the sums.'

export const addTool = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: parameters.add,
  effect: 'read',
  execute: ({ a, b }) => add({ a: Number(a), b: Number(b) }),
})

const tools = [
  addTool,
  defineTool({
    name: 'store',
    description: 'Stores a text.',
    parameters: parameters.store,
    execute: ({ text }) => store({ text: String(text) }),
  }),
]

const byHand: Record<string, (args: { a: number; b: number; text: string }) => number> = { add, store }
export function runByHand(name: string, json: string): number | undefined {
  return byHand[name]?.(JSON.parse(json))
}

export const definitions = Object.entries(parameters).map(([name, schema]) => ({
  type: 'function' as const,
  function: { name, description: name === 'add' ? 'Adds two numbers.' : 'Stores a text.', parameters: schema },
}))

/** Our loop over the model that `settings` and the task's address make. */
export function oursWith(settings: Omit<ModelSettings, 'baseURL'>): Loop {
  const runners = new Map<string, AgentRunner>()
  return async ({ url, stream, rounds, onText, onRound }) => {
    const key = `${url} ${stream} ${rounds}`
    const runner =
      runners.get(key) ?? new AgentRunner({ model: createModel({ ...settings, baseURL: url }), tools, stream, maxIterations: rounds + 2 })
    runners.set(key, runner)
    if (onRound !== undefined) {
      let round = 0
      const off = runner.on('MODEL_START', () => onRound(round++))
      const { output } = await runner.run(prompt)
      off()
      return output.length
    }
    if (onText === undefined) return (await runner.run(prompt)).output.length
    const run = runner.stream(prompt)
    for await (const text of run.text) onText(text)
    return (await run.result).output.length
  }
}

export const ours: Loop = oursWith({ provider: 'custom', model: 'bench', apiKey: 'key' })

/** Ours without the iterator: events straight to a listener, as a service that writes to a socket uses it. */
export const oursListening: Loop = async ({ onText, ...options }) => {
  const runner = new AgentRunner({
    model: createModel({ provider: 'custom', model: 'bench', baseURL: options.url, apiKey: 'key' }),
    tools,
    stream: options.stream,
    maxIterations: options.rounds + 2,
  })
  runner.on('TEXT_DELTA', ({ text }) => onText?.(text))
  return (await runner.run(prompt)).output.length
}

interface Delta {
  content?: string | null
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[]
}

interface Call {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

export const handWritten: Loop = async ({ url, stream, onText, onRound }) => {
  const messages: object[] = [{ role: 'user', content: prompt }]
  for (let round = 0; ; round++) {
    onRound?.(round)
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
      body: JSON.stringify({ model: 'bench', messages, tools: definitions, stream }),
    })
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`)
    let text = ''
    let calls: Call[] = []
    const take = (delta: Delta) => {
      if (delta.content) {
        text += delta.content
        onText?.(delta.content)
      }
      for (const {
        index,
        id,
        function: { name, arguments: json },
      } of delta.tool_calls ?? []) {
        const call = calls[index]
        if (call === undefined) calls[index] = { id: id ?? '', type: 'function', function: { name: name ?? '', arguments: json ?? '' } }
        else call.function.arguments += json ?? ''
      }
    }
    if (stream) {
      const decoder = new TextDecoder()
      let rest = ''
      for await (const bytes of response.body) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
          const [choice] = JSON.parse(line.slice(6)).choices
          if (choice !== undefined) take(choice.delta)
        }
      }
    } else {
      const message = JSON.parse(await response.text()).choices[0].message
      text = message.content ?? ''
      calls = message.tool_calls ?? []
    }
    if (calls.length === 0) return text.length
    messages.push({ role: 'assistant', content: text || null, tool_calls: calls })
    for (const call of calls) {
      const result = runByHand(call.function.name, call.function.arguments)
      messages.push({ role: 'tool', tool_call_id: call.id, content: String(result) })
    }
  }
}

const clients = new Map<string, OpenAI>()

export const plainSdk: Loop = async ({ url, stream, onText, onRound }) => {
  const client = clients.get(url) ?? new OpenAI({ baseURL: url, apiKey: 'key' })
  clients.set(url, client)
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
  for (let round = 0; ; round++) {
    onRound?.(round)
    let text = ''
    let calls: Call[] = []
    if (stream) {
      const chunks = await client.chat.completions.create({ model: 'bench', messages, tools: definitions, stream: true })
      for await (const chunk of chunks) {
        const delta = chunk.choices[0]?.delta
        if (delta?.content) {
          text += delta.content
          onText?.(delta.content)
        }
        for (const { index, id, function: body } of delta?.tool_calls ?? []) {
          const call = calls[index]
          const json = body?.arguments ?? ''
          if (call === undefined) calls[index] = { id: id ?? '', type: 'function', function: { name: body?.name ?? '', arguments: json } }
          else call.function.arguments += json
        }
      }
    } else {
      const message = (await client.chat.completions.create({ model: 'bench', messages, tools: definitions })).choices[0]?.message
      text = message?.content ?? ''
      calls = (message?.tool_calls ?? []).filter((call) => call.type === 'function')
    }
    if (calls.length === 0) return text.length
    messages.push({ role: 'assistant', content: text || null, tool_calls: calls })
    for (const call of calls) {
      const result = runByHand(call.function.name, call.function.arguments)
      messages.push({ role: 'tool', tool_call_id: call.id, content: String(result) })
    }
  }
}
