import { AgentRunner, defineTool, type RunResult } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { decisionsFromAgUi, inputFromAgUi, toAgUiResponse } from '../../src/ui/index.ts'

const refund = defineTool({ name: 'refund', description: 'Pays money back.', approval: true, execute: () => 'It was paid back.' })
const model = scriptedModel([{ toolCalls: [{ name: 'refund' }] }, 'It is on its way.'])
const runner = new AgentRunner({ model, tools: [refund] })

// By thread. Keep them in your database; check that a thread belongs to its user.
const paused = new Map<string, Pick<RunResult, 'state' | 'pending'>>()

export async function POST(request: Request): Promise<Response> {
  const input = inputFromAgUi(await request.json())
  const tools = [refund, ...input.tools]
  const waiting = paused.get(input.threadId)
  const decisions = waiting === undefined ? [] : decisionsFromAgUi(input, waiting.pending)
  const run = decisions.length > 0 ? runner.resumeStream(waiting?.state, { decisions, tools }) : runner.stream(input.messages, { tools })
  if (decisions.length === 0) paused.delete(input.threadId)
  // A decision that can't be carried out rejects the result: the run waits as before.
  const ended = ({ stopReason, state, pending }: RunResult) => {
    if (stopReason === 'paused') paused.set(input.threadId, { ...(state && { state }), pending })
    else paused.delete(input.threadId)
  }
  run.result.then(ended, () => {})
  return toAgUiResponse(run, { input })
}

const post = async (fields: object) => {
  const body = JSON.stringify({ threadId: 'thread-1', runId: crypto.randomUUID(), messages: [], ...fields })
  const response = await POST(new Request('http://localhost/agent', { method: 'POST', body }))
  return (await response.text()).split('\n\n').flatMap((frame) => (frame === '' ? [] : [JSON.parse(frame.slice('data: '.length))]))
}
const asked = await post({ messages: [{ id: '1', role: 'user', content: 'Give me my money back.' }] })
const { interrupts } = asked.at(-1).outcome
console.log(interrupts[0].reason, interrupts[0].message)
const answered = await post({ resume: [{ interruptId: interrupts[0].id, status: 'resolved', payload: { approved: true } }] })
const shown = answered.filter(({ type }) => type === 'TOOL_CALL_RESULT' || type === 'TEXT_MESSAGE_CONTENT')
console.log(shown.map(({ content, delta }) => content ?? delta).join(''))
