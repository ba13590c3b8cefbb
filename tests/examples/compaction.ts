import { AgentRunner, type ChatMessage, compactMessages, defineTool, estimateTokens } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const sizeOf = (messages: readonly ChatMessage[]) => messages.reduce((sum, message) => sum + estimateTokens(message), 0)
const page = defineTool({ name: 'read_page', description: 'Reads a page.', effect: 'read', execute: () => `${Math.random()} `.repeat(400) })
const sent: number[] = []
const model = scriptedModel(({ messages }, index) => {
  sent.push(sizeOf(messages))
  return index < 4 ? { toolCalls: [{ name: 'read_page' }] } : 'That was all.'
})

const { messages } = await new AgentRunner({ model, tools: [page] }).run('Read everything.', {
  compaction: { maxTokens: 3_000, summarise: (left) => `${left.length} messages with numbers` },
})
// Each request fits. The result has the whole conversation, and `compactMessages` makes a shorter one to store.
console.log(Math.max(...sent) <= 3_000, sizeOf(messages) > 3_000, sizeOf(compactMessages(messages, { tokens: 3_000 })) <= 3_000)
