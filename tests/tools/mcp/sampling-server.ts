/** An MCP server, as a program, that asks the model during its calls, and holds a call open until it has an answer. */
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })

/** The model was asked something. */
const hasAsked = Promise.withResolvers<string>()

serveStdio(() => {
  const server = new Server({ name: 'poet', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: ['ask', 'ask-often', 'ask-slowly', 'ask-whatever-comes', 'listen'].map((name) => ({
      name,
      inputSchema: { type: 'object' as const },
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params: { name } }, { mcpReq }) => {
    const ask = (question: string) => {
      const asked = mcpReq.requestSampling({
        systemPrompt: 'Be brief.',
        messages: [{ role: 'user', content: { type: 'text', text: question } }],
        maxTokens: 50,
      })
      hasAsked.resolve('asked')
      return asked
    }
    if (name === 'listen') return text(await hasAsked.promise)
    if (name === 'ask') return text(await ask('A rhyme?'))
    if (name === 'ask-slowly') {
      const answer = await ask('A rhyme?')
      const { progressToken } = mcpReq._meta ?? {}
      if (progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
      if (process.env.SLOW === 'yes') await new Promise(() => {})
      return text(answer)
    }
    if (name === 'ask-whatever-comes') {
      const problems: string[] = []
      for (let n = 0; n < 6; n++) await ask(`Once more, ${n}`).catch((error: Error) => problems.push(error.message))
      return text(problems)
    }
    for (let n = 0; ; n++) await ask(`Once more, ${n}`)
  })
  return server
})
