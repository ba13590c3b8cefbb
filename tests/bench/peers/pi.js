/** pi-agent-core over pi-ai. An agent of it is one conversation, so each run has its own. It always streams. */
import { Agent } from '@earendil-works/pi-agent-core'
import { createAssistantMessageEventStream, Type } from '@earendil-works/pi-ai'
import { streamSimple } from '@earendil-works/pi-ai/api/openai-completions'

const usage = { input: 20, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 30 }
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

function textOf(message) {
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** @type {import('../peers.ts').Peer} */
export const make = ({ url, prompt, add, streamFn = streamSimple }) => {
  const model = {
    id: 'bench',
    name: 'bench',
    api: 'openai-completions',
    provider: 'bench',
    baseUrl: url,
    reasoning: false,
    input: ['text'],
  }
  const tool = {
    name: 'add',
    label: 'add',
    description: 'Adds two numbers.',
    parameters: Type.Object({ a: Type.Number(), b: Type.Number() }),
    execute: async (_id, args) => ({ content: [{ type: 'text', text: String(add(args)) }], details: {} }),
  }
  const initialState = { systemPrompt: '', model: { ...model, cost, contextWindow: 10_000_000, maxTokens: 8192 }, tools: [tool] }
  return async (onText) => {
    const agent = new Agent({ streamFn, getApiKey: () => 'key', initialState })
    agent.subscribe(({ type, assistantMessageEvent: event }) => {
      if (type === 'message_update' && event.type === 'text_delta') onText(event.delta)
    })
    await agent.prompt(prompt)
    const last = agent.state.messages.at(-1)
    if (last.stopReason === 'error') throw new Error(last.errorMessage)
    return textOf(last)
  }
}

/** @type {import('../peers.ts').Peer} */
export const makeInMemory = (options) => {
  const streamFn = ({ api, provider, id: model }, { messages }) => {
    const round = messages.filter(({ role }) => role === 'toolResult').length
    const calls = round < options.rounds
    const call = { type: 'toolCall', id: `call_${round}`, name: 'add', arguments: { a: round, b: 1 } }
    const content = [calls ? call : { type: 'text', text: options.answer }]
    const stopReason = calls ? 'toolUse' : 'stop'
    const total = { ...usage, cost: { ...cost, total: 0 } }
    const message = { role: 'assistant', content, api, provider, model, usage: total, stopReason, timestamp: Date.now() }
    const stream = createAssistantMessageEventStream()
    stream.push({ type: 'start', partial: message })
    stream.push({ type: 'done', reason: stopReason, message })
    return stream
  }
  return make({ ...options, streamFn })
}
