import { isToolUIPart } from 'ai'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunResult } from '../../src/agent/types/options.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { decisionsFromUI, messagesFromUI, toAgUiResponse, toUIMessageResponse } from '../../src/ui/index.ts'
import { serveFetch } from '../fetch-server.ts'
import { chatAt } from './chat.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } as const
const call = (id: string) => ({ name: 'pay', args: { id } })

function openPayments() {
  const paid: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters,
    execute: ({ id }) => {
      paid.push(id)
      return `paid ${id}`
    },
  })
  const model = scriptedModel([{ toolCalls: [call('a')] }, { toolCalls: [call('b')] }, 'I would pay both.', 'Paid a.'])
  return { paid, runner: new AgentRunner({ model, tools: [pay], logger, effects: 'preview' }) }
}

it('the plan of a preview is decided in `useChat`, part by part', async () => {
  const { paid, runner } = openPayments()
  let paused: RunResult | undefined
  await using server = await serveFetch(async (request) => {
    const { messages } = (await request.json()) as { messages: unknown }
    const run =
      paused === undefined
        ? runner.stream(messagesFromUI(messages))
        : runner.resumeStream(paused.state, { decisions: decisionsFromUI(messages, paused.pending) })
    run.result.then((result) => {
      paused = result
    })
    return toUIMessageResponse(run, { originalMessages: messages })
  })
  const chat = chatAt(server.url)
  await chat.sendMessage({ text: 'pay' })
  const parts = () => chat.messages.at(-1)?.parts ?? []
  const tools = () => parts().filter(isToolUIPart)
  expect(tools().map(({ state }) => state)).toEqual(['approval-requested', 'approval-requested'])
  expect(paid).toEqual([])
  for (const { approval, input } of tools()) {
    await chat.addToolApprovalResponse({ id: approval?.id ?? '', approved: (input as { id: string }).id === 'a' })
  }
  await chat.sendMessage()
  expect(tools().map(({ state, output }) => [state, output])).toEqual([
    ['output-available', 'paid a'],
    ['output-denied', undefined],
  ])
  expect(parts().flatMap((part) => (part.type === 'text' ? [part.text] : []))).toEqual(['I would pay both.', 'Paid a.'])
  expect([paused?.stopReason, paid]).toEqual(['answered', ['a']])
})

it('the plan of a preview is the interrupts of AG-UI, in order', async () => {
  const { paid, runner } = openPayments()
  const run = runner.stream('pay')
  const frames = (await toAgUiResponse(run).text()).split('\n\n').filter((frame) => frame.startsWith('data: '))
  const finished = frames.map((frame) => JSON.parse(frame.slice('data: '.length))).find(({ type }) => type === 'RUN_FINISHED')
  expect(finished.outcome).toMatchObject({
    type: 'interrupt',
    interrupts: [
      { reason: 'tool_call', metadata: { args: { id: 'a' }, plan: { at: 1, of: 2 } } },
      { reason: 'tool_call', metadata: { args: { id: 'b' }, plan: { at: 2, of: 2 } } },
    ],
  })
  const { state, pending } = await run.result
  const decisions = pending.map((item) => ({ ...item, approved: true }))
  const text = await toAgUiResponse(runner.resumeStream(state, { decisions })).text()
  expect([text.includes('paid a'), text.includes('paid b'), paid]).toEqual([true, true, ['a', 'b']])
})
