/** An MCP server, as a program, that asks people questions during its calls, and holds a call open until it has an answer. */
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const form = {
  type: 'object' as const,
  properties: {
    colour: { type: 'string' as const, enum: ['red', 'blue'] },
    amount: { type: 'integer' as const, default: 3 },
  },
  required: ['colour'],
}

/** A question was sent. */
const asked = Promise.withResolvers<void>()

serveStdio(() => {
  const server = new Server({ name: 'asking', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: ['paint', 'paint-twice', 'visit', 'dry'].map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  }))
  server.setRequestHandler('tools/call', async ({ params: { name } }, { mcpReq }) => {
    const answers = []
    if (name === 'visit') {
      answers.push(
        await mcpReq.elicitInput({ mode: 'url', message: 'Pay here.', url: 'https://pay.example.com/1', elicitationId: 'pay-1' }),
      )
    }
    if (name.startsWith('paint')) {
      const answer = mcpReq.elicitInput({ message: 'Which colour?', requestedSchema: form })
      asked.resolve()
      answers.push(await answer)
    }
    if (name === 'dry') await asked.promise
    if (name === 'paint-twice') answers.push(await mcpReq.elicitInput({ message: 'And the second?', requestedSchema: form }))
    return { content: [{ type: 'text' as const, text: JSON.stringify(answers) }] }
  })
  return server
})
