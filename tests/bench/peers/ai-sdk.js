/** The Vercel AI SDK: `ToolLoopAgent`. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { stepCountIs, ToolLoopAgent, tool } from 'ai'
import { z } from 'zod'

/** @type {import('../peers.ts').Peer} */
export const make = ({ url, model, stream, rounds, prompt, add }) => {
  const agent = new ToolLoopAgent({
    model: model ?? createOpenAICompatible({ name: 'bench', baseURL: url, apiKey: 'key' })('bench'),
    tools: { add: tool({ description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }), execute: add }) },
    stopWhen: stepCountIs(rounds + 2),
  })
  return async (onText) => {
    if (!stream) return (await agent.generate({ prompt })).text
    const result = await agent.stream({ prompt })
    for await (const piece of result.textStream) onText(piece)
    return result.text
  }
}

const usage = { inputTokens: { total: 20 }, outputTokens: { total: 10 } }

/** @type {import('../peers.ts').Peer} */
export const makeInMemory = (options) => {
  const model = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    doGenerate: async ({ prompt }) => {
      const round = prompt.filter(({ role }) => role === 'tool').length
      const calls = round < options.rounds
      const call = { type: 'tool-call', toolCallId: `call_${round}`, toolName: 'add', input: `{"a":${round},"b":1}` }
      const finishReason = { unified: calls ? 'tool-calls' : 'stop', raw: undefined }
      return { content: [calls ? call : { type: 'text', text: options.answer }], finishReason, usage, warnings: [] }
    },
  }
  return make({ ...options, model })
}
