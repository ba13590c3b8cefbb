/** LangChain: `createAgent`. */
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

/** @type {import('../peers.ts').Peer} */
export const make = ({ url, stream, rounds, prompt, add }) => {
  const schema = z.object({ a: z.number(), b: z.number() })
  const agent = createAgent({
    model: new ChatOpenAI({ model: 'bench', apiKey: 'key', configuration: { baseURL: url }, streaming: stream }),
    tools: [tool(add, { name: 'add', description: 'Adds two numbers.', schema })],
  })
  const input = { messages: [{ role: 'user', content: prompt }] }
  // Each round is two steps of its graph.
  const recursionLimit = 2 * rounds + 10
  return async (onText) => {
    if (!stream) return (await agent.invoke(input, { recursionLimit })).messages.at(-1).content
    let text = ''
    let turn
    for await (const [piece, { langgraph_node: node, langgraph_step: step }] of await agent.stream(input, {
      recursionLimit,
      streamMode: 'messages',
    })) {
      if (node === 'tools' || typeof piece.content !== 'string' || piece.content === '') continue
      if (step !== turn) text = ''
      turn = step
      text += piece.content
      onText(piece.content)
    }
    return text
  }
}
