import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { decisionsFromUI, inputFromUI, messagesToUI, toUIMessageResponse } from '../../src/ui/index.ts'

const folder = process.env.DATA_FOLDER ?? mkdtempSync(join(tmpdir(), 'chats-'))
const sessions = sqliteSessions({ file: join(folder, 'sessions.sqlite') })
const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
const refund = defineTool({ name: 'refund', description: 'Pays money back.', approval: true, execute: () => 'It was paid back.' })
const model = scriptedModel(['Hello!', 'Good morning!', { toolCalls: [{ name: 'refund' }] }])
const runner = new AgentRunner({ model, tools: [refund], sessions, journal })

/** `POST /api/chat`. Check that the chat belongs to its user. */
export async function POST(request: Request): Promise<Response> {
  const { id, input, replaces, messages } = inputFromUI(await request.json())
  const waiting = (await sessions.get(id))?.waiting
  const decisions = waiting === undefined ? [] : decisionsFromUI(messages, waiting.pending)
  // It was decided on another device, or nobody waits for it.
  if (decisions.length === 0 && input.length === 0) return new Response('Nothing waits for that.', { status: 409 })
  const run =
    waiting !== undefined && decisions.length > 0
      ? runner.resumeStream(waiting.runId, { decisions })
      : runner.stream(input, { session: { id, replaces } })
  return toUIMessageResponse(run, { originalMessages: messages, onDisconnect: 'continue' })
}

/** `GET /api/chat/{id}`: the messages with which a page starts, on any device. */
export async function GET(_request: Request, { id }: { id: string }): Promise<Response> {
  const session = await sessions.get(id)
  return Response.json(messagesToUI(await sessions.read(id), { waiting: session?.waiting }))
}

// The page sends a message, `regenerate()`, and another message.
const post = async (fields: object) => {
  const body = JSON.stringify({ id: 'chat-1', trigger: 'submit-message', ...fields })
  await (await POST(new Request('http://localhost/api/chat', { method: 'POST', body }))).text()
}
const said = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })
await post({ messages: [said('m1', 'Hi.')] })
await post({ messages: [said('m1', 'Hi.')], trigger: 'regenerate-message' })
await post({ messages: [said('m2', 'Give me my money back.')] })
const response = await GET(new Request('http://localhost/api/chat/chat-1'), { id: 'chat-1' })
for (const { id, parts } of (await response.json()) as ReturnType<typeof messagesToUI>) {
  console.log(id, ...parts.flatMap((part) => ('text' in part ? part.text : 'state' in part ? part.state : [])))
}
await journal.close()
await sessions.close()
