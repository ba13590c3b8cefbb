import { AgentRunner, createLogger, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const search = defineTool({
  name: 'search',
  description: 'Searches the catalog.',
  parameters: { type: 'object', properties: { query: { type: 'string', minLength: 2 } }, required: ['query'] },
  effect: 'read',
  timeoutMs: 2_000,
  retries: 1,
  execute: async ({ query }, { signal }) => {
    signal.throwIfAborted()
    return [`a book about ${query}`]
  },
})

// This model never stops calling tools. The run ends anyway and says why.
const model = scriptedModel((_request, index) => ({ toolCalls: [{ name: 'search', args: { query: `try ${index}` } }] }))
const runner = new AgentRunner({
  model,
  tools: [search],
  maxIterations: 10,
  limits: { toolCalls: 4, deadlineMs: 60_000 },
  logger: createLogger({ level: 'silent' }),
})

const result = await runner.run('Find me something to read.')
console.log(result.stopReason, result.toolCalls.length)

// Nothing is lost: the conversation continues where it stopped.
const next = await runner.run('Stop searching.', { messages: result.messages, maxIterations: 1 })
console.log(next.stopReason, next.messages.length > result.messages.length)
