/** The OpenAI Agents SDK, over Chat Completions. Its tracing is off: it would be sent to OpenAI. */
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'

setTracingDisabled(true)

/** @type {import('../peers.ts').Peer} */
export const make = ({ url, stream, rounds, prompt, add }) => {
  const parameters = z.object({ a: z.number(), b: z.number() })
  const agent = new Agent({
    name: 'bench',
    model: new OpenAIChatCompletionsModel(new OpenAI({ apiKey: 'key', baseURL: url }), 'bench'),
    tools: [tool({ name: 'add', description: 'Adds two numbers.', parameters, execute: add })],
  })
  const maxTurns = rounds + 2
  return async (onText) => {
    if (!stream) return (await run(agent, prompt, { maxTurns })).finalOutput
    const result = await run(agent, prompt, { maxTurns, stream: true })
    for await (const piece of result.toTextStream()) onText(piece)
    await result.completed
    return result.finalOutput
  }
}
