import { join } from 'node:path'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Decision } from '../../src/agent/decisions/decisions.ts'
import type { PendingItem } from '../../src/agent/types/result.ts'
import { type ChatMessage, textOf } from '../../src/core/messages.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import {
  decisionsFromAgUi,
  decisionsFromUI,
  inputFromAgUi,
  inputFromUI,
  messagesToUI,
  toAgUiResponse,
  toAgUiSnapshot,
  toUIMessageResponse,
} from '../../src/ui/index.ts'
import { serveFetch } from '../fetch-server.ts'

/** A backend of a chat page, with its conversations in a folder: `node chat-process.ts <folder>`. Prints its address. */
const [folder = '.'] = process.argv.slice(2)
const refund = defineTool({ name: 'refund', description: 'Pays back.', approval: true, effect: 'idempotent', execute: () => ({ paid: 7 }) })
const book = defineTool({
  name: 'book',
  description: 'Books.',
  effect: 'idempotent',
  execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'For how many?' }) : `for ${answer}`),
})
const pick = defineTool({ name: 'pick', description: 'Lets the user choose.' })
let answers = 0
const model = scriptedModel(({ messages }) => {
  const [, name] = /^call (\w+)$/.exec(messages.at(-1)?.role === 'user' ? textOf(messages.at(-1)?.content ?? '') : '') ?? []
  if (name !== undefined) return { text: 'One moment. ', toolCalls: [{ name }] }
  return `${++answers}: ${messages.map(({ content }) => textOf(content)).join(' / ')}`
})
const sessions = sqliteSessions({ file: join(folder, 'sessions.sqlite') })
const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const runner = new AgentRunner({ model, tools: [refund, book, pick], sessions, journal, logger })

interface Asked {
  input: readonly ChatMessage[]
  replaces: string | undefined
}

/** The run that answers, or the resumed one. Undefined if the page decides on something that does not wait. */
async function answer(session: string, { input, replaces }: Asked, decide: (pending: readonly PendingItem[]) => Decision[]) {
  const waiting = (await sessions.get(session))?.waiting
  const decisions = waiting === undefined ? [] : decide(waiting.pending)
  if (waiting !== undefined && decisions.length > 0) return runner.resumeStream(waiting.runId, { decisions })
  return input.length === 0 ? undefined : runner.stream(input, { session: { id: session, replaces } })
}

const nothingWaits = () => new Response('Nothing waits for that.', { status: 409 })

const routes: Record<string, (request: Request, url: URL) => Promise<Response>> = {
  'POST /chat': async (request) => {
    const { id, messages, ...asked } = inputFromUI(await request.json())
    const run = await answer(id, asked, (pending) => decisionsFromUI(messages, pending))
    return run === undefined ? nothingWaits() : toUIMessageResponse(run, { originalMessages: messages, onDisconnect: 'continue' })
  },
  'GET /chat': async (_request, { searchParams }) => {
    const id = searchParams.get('id') ?? ''
    return Response.json(messagesToUI(await sessions.read(id), { waiting: (await sessions.get(id))?.waiting }))
  },
  'POST /agui': async (request) => {
    const input = inputFromAgUi(await request.json())
    const last = input.messages.at(-1)
    const asked = last?.role === 'user' ? { input: [last], replaces: last.id } : { input: [], replaces: undefined }
    const run = await answer(input.threadId, asked, (pending) => decisionsFromAgUi(input, pending))
    return run === undefined ? nothingWaits() : toAgUiResponse(run, { input })
  },
  'POST /agui/connect': async (request) => {
    const { threadId, runId } = inputFromAgUi(await request.json())
    return toAgUiSnapshot(await sessions.read(threadId), { threadId, runId, waiting: (await sessions.get(threadId))?.waiting })
  },
}
const server = await serveFetch((request) => {
  const url = new URL(request.url)
  return routes[`${request.method} ${url.pathname}`]?.(request, url) ?? new Response(null, { status: 404 })
})
console.log(server.url)
