import { AgentRunner, defineTool, type RunResult, type RunStream } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { decisionsFromUI, messagesFromUI, toUIMessageResponse } from '../../src/ui/index.ts'

const refund = defineTool({ name: 'refund', description: 'Pays money back.', approval: true, execute: () => 'It was paid back.' })
const model = scriptedModel([{ toolCalls: [{ name: 'refund' }] }, 'It is on its way.'])
const runner = new AgentRunner({ model, tools: [refund] })

// By chat: runs that wait for a decision, and runs that are running. Keep the former in your database; check that a chat belongs to its user.
const paused = new Map<string, Pick<RunResult, 'state' | 'pending'>>()
const active = new Map<string, RunStream>()

/** `POST /api/chat` */
export async function POST(request: Request): Promise<Response> {
  const { id, messages } = (await request.json()) as { id: string; messages: unknown }
  const waiting = paused.get(id)
  const decisions = waiting === undefined ? [] : decisionsFromUI(messages, waiting.pending)
  // A new message without a decision starts a new run: the waiting calls don't run.
  const run = decisions.length > 0 ? runner.resumeStream(waiting?.state, { decisions }) : runner.stream(messagesFromUI(messages))
  if (decisions.length === 0) paused.delete(id)
  active.set(id, run)
  // A decision that can't be carried out rejects the result: the run waits as before.
  const ended = ({ stopReason, state, pending }: RunResult) => {
    active.delete(id)
    if (stopReason === 'paused') paused.set(id, { ...(state && { state }), pending })
    else paused.delete(id)
  }
  run.result.then(ended, () => active.delete(id))
  return toUIMessageResponse(run, { originalMessages: messages, onDisconnect: 'continue' })
}

/** `GET /api/chat/{id}/stream`: a page that was reloaded, with `resume: true`. */
export function GET(_request: Request, { id }: { id: string }): Response {
  const run = active.get(id)
  return run === undefined ? new Response(null, { status: 204 }) : toUIMessageResponse(run, { onDisconnect: 'continue' })
}

// What the page sends; the second time, the call is approved.
const post = (messages: object[]) =>
  POST(new Request('http://localhost/api/chat', { method: 'POST', body: JSON.stringify({ id: 'chat-1', messages }) }))
const question = { id: '1', role: 'user', parts: [{ type: 'text', text: 'Give me my money back.' }] }
const asked = await (await post([question])).text()
const [, approvalId, toolCallId] = /"approvalId":"([^"]+)","toolCallId":"([^"]+)"/.exec(asked) ?? []
const call = { type: 'tool-refund', toolCallId, state: 'approval-responded', input: {}, approval: { id: approvalId, approved: true } }
const answered = await (await post([question, { id: '2', role: 'assistant', parts: [{ type: 'step-start' }, call] }])).text()
console.log([...answered.matchAll(/"output":"([^"]+)"|"delta":"([^"]+)"/g)].map(([, output, delta]) => output ?? delta).join(''))
