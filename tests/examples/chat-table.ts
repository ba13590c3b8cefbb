import { AgentRunner, type MessageInput } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { inputFromUI, messagesToUI, toUIMessageResponse } from '../../src/ui/index.ts'

/** Stands for your application's table of chats, with a row for each message. */
let rows: { chat: string; runId: string; message: MessageInput }[] = []
const messagesOf = (chat: unknown) => rows.filter((row) => row.chat === chat).map(({ message }) => message)

const runner = new AgentRunner({
  model: scriptedModel(({ messages }) => `I have read ${messages.length} messages.`),
  history: {
    load: ({ metadata }) => messagesOf(metadata?.chat),
    // Replaces the messages of the run, because a run with a journal may be saved again after a crash.
    save: ({ metadata, runId }, { newMessages }) => {
      rows = rows.filter((row) => row.runId !== runId)
      rows.push(...newMessages.map((message) => ({ chat: String(metadata?.chat), runId, message })))
    },
  },
})

/** `POST /api/chat` */
export async function POST(request: Request): Promise<Response> {
  const { id, input, replaces, messages } = inputFromUI(await request.json())
  const at = rows.findIndex(({ chat, message }) => chat === id && 'id' in message && message.id === replaces)
  // After `regenerate()` or an edit, the message and everything after it is replaced.
  if (replaces !== undefined && at >= 0) rows = rows.filter(({ chat }, row) => chat !== id || row < at)
  return toUIMessageResponse(runner.stream(input, { metadata: { chat: id } }), { originalMessages: messages })
}

const post = async (fields: object) =>
  (await POST(new Request('http://localhost', { method: 'POST', body: JSON.stringify({ id: 'chat-1', ...fields }) }))).text()
const said = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })
await post({ messages: [said('m1', 'Hi.')] })
await post({ messages: [said('m2', 'And now?')] })
await post({ messages: [said('m1', 'Hello.')], trigger: 'submit-message', messageId: 'm1' })
console.log(messagesToUI(messagesOf('chat-1')).map(({ id }) => id))
