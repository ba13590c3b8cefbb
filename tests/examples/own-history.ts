import { type AgentHistory, CustomAgent, type MessageInput, type PerformedRun, type PerformRun, type RunResult } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

interface User {
  chat: string
}

/** Stands for the table in which your application keeps its chats. */
const chats = new Map<string, { runId: string; messages: MessageInput[] }[]>()

class Chat extends CustomAgent<User> {
  protected override history(): AgentHistory<User> {
    return {
      load: ({ context }) => (chats.get(context.chat) ?? []).flatMap(({ messages }) => messages),
      // Keyed by the run: it may be called again after a crash.
      save: ({ runId, context }, { newMessages }) => {
        const others = (chats.get(context.chat) ?? []).filter((one) => one.runId !== runId)
        chats.set(context.chat, [...others, { runId, messages: newMessages }])
      },
    }
  }

  protected override async perform({ input }: PerformedRun<User>, next: PerformRun<User>): Promise<RunResult> {
    const result = await next(typeof input === 'string' ? { input: input.trim() } : undefined)
    console.log(`${result.stopReason}: ${result.usage.totalTokens} tokens`)
    return result
  }
}

const usage = { inputTokens: 10, outputTokens: 5 }
const model = scriptedModel(({ messages }) => ({ text: `I have read ${messages.length} messages.`, usage }))
const chat = new Chat({ model })
await chat.run(' Hello. ', { context: { chat: 'ann-1' } })
console.log((await chat.stream('And now?', { context: { chat: 'ann-1' } }).result).output)
