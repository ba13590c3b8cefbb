/** Mastra: `Agent`. */
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'

/** @type {import('../peers.ts').Peer} */
export const make = ({ url, stream, rounds, prompt, add }) => {
  const inputSchema = z.object({ a: z.number(), b: z.number() })
  const agent = new Agent({
    id: 'bench',
    name: 'bench',
    instructions: 'Answer.',
    model: { id: 'bench/bench', url, apiKey: 'key', api: 'chat' },
    tools: { add: createTool({ id: 'add', description: 'Adds two numbers.', inputSchema, execute: add }) },
  })
  const maxSteps = rounds + 2
  return async (onText) => {
    if (!stream) return (await agent.generate(prompt, { maxSteps })).steps.at(-1).text
    const result = await agent.stream(prompt, { maxSteps })
    for await (const piece of result.textStream) onText(piece)
    return (await result.steps).at(-1).text
  }
}
