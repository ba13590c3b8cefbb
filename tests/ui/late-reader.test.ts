import { HttpAgent, type Message } from '@ag-ui/client'
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { endedWith } from '../../src/agent/runner/run-stream.ts'
import type { RunEvent } from '../../src/core/events.ts'
import { asTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { agUiFormat, uiMessageFormat } from '../../src/ui/index.ts'
import { EventLog } from '../../src/ui/web/event-log.ts'
import { LogReader } from '../../src/ui/web/log-reader.ts'
import { inFormat, type ResponseFormat } from '../../src/ui/web/response-format.ts'
import { toldEnding } from '../../src/ui/web/run-ending.ts'
import { serveFetch } from '../fetch-server.ts'

/** The response to a reader who arrives when events before this number are no longer kept. */
function framesFrom(
  firstId: number,
  events: readonly RunEvent[],
  ending: Parameters<typeof toldEnding>[0],
  format: ResponseFormat,
): string {
  const log = new EventLog({ characters: 4_000_000 })
  log.clear(firstId - 1)
  for (const event of events.slice(firstId - 1)) log.append(event)
  const told = toldEnding(ending, String)
  return new LogReader(
    log,
    inFormat(format.open(), () => told),
  ).take(Number.POSITIVE_INFINITY)
}

/** What the AI SDK makes of it. */
async function messageFrom(firstId: number, events: readonly RunEvent[], ending: Parameters<typeof toldEnding>[0]) {
  const frames = framesFrom(firstId, events, ending, uiMessageFormat())
  const chunks = [...frames.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']): UIMessageChunk => JSON.parse(json))
  let message: UIMessage | undefined
  for await (const read of readUIMessageStream({ stream: ReadableStream.from(chunks), terminateOnError: true })) message = read
  return { chunks, message }
}

/** What AG-UI's client, which checks the order of events, makes of it. */
async function agUiFrom(firstId: number, events: readonly RunEvent[], ending: Parameters<typeof toldEnding>[0]) {
  const frames = framesFrom(firstId, events, ending, agUiFormat({ threadId: 't' }))
  await using server = await serveFetch(async () => new Response(frames, { headers: { 'content-type': 'text/event-stream' } }))
  const types = [...frames.matchAll(/"type":"([A-Z_]+)"/g)].map(([, type]) => type)
  const agent = new HttpAgent({ url: server.url, threadId: 't' })
  await agent.runAgent()
  return { frames, types, messages: agent.messages }
}

/** A run of three steps, with tools and a nested agent. */
async function longRun() {
  const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })
  const inner = new AgentRunner({ model: scriptedModel(['Inside.']) })
  const model = scriptedModel([
    { reasoning: 'Well.', text: 'I look.', toolCalls: [{ name: 'look' }, { name: 'ask', args: { task: 'x' } }] },
    { text: 'Once more.', toolCalls: [{ name: 'look' }] },
    'All is well.',
  ])
  const tools = [look, asTool(inner, { name: 'ask', description: 'Asks.' })]
  const stream = new AgentRunner({ model, tools }).stream('go')
  const events = await Array.fromAsync(stream)
  const ending = endedWith(await stream.result)
  expect(events.length).toBeGreaterThan(20)
  return { events, ending }
}

it('a late reader gets complete steps and the answer if the beginning is no longer kept', async () => {
  const { events, ending } = await longRun()
  const whole = await messageFrom(1, events, ending)
  const steps = new Set<number>()
  for (let firstId = 2; firstId <= events.length + 1; firstId++) {
    const { chunks, message } = await messageFrom(firstId, events, ending)
    expect([chunks[0]?.type, chunks.at(-1)?.type, message?.parts.at(-1)]).toMatchObject([
      'start',
      'finish',
      { type: 'text', text: 'All is well.' },
    ])
    // It receives the end of what others received.
    const [, ...told] = message?.parts ?? []
    expect(whole.message?.parts.slice(-told.length)).toEqual(told.length === 0 ? whole.message?.parts : told)
    steps.add(message?.parts.length ?? 0)
  }
  expect(steps.size).toBe(4)
})

it('a late reader gets the calls that wait', async () => {
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const stream = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }]), tools: [pay] }).stream('go')
  const events = await Array.fromAsync(stream)
  const { message } = await messageFrom(events.length + 1, events, endedWith(await stream.result))
  expect(message?.parts).toMatchObject([{ type: 'tool-pay', state: 'approval-requested' }])
})

it('AG-UI: a late reader gets the same, with the ids of other readers, and without incomplete usage', async () => {
  const { events, ending } = await longRun()
  const whole = await agUiFrom(1, events, ending)
  const told = new Set<number>()
  const idsOf = (messages: readonly Message[]) => messages.map(({ id, role }) => ({ id, role }))
  for (let firstId = 2; firstId <= events.length + 1; firstId++) {
    const { frames, types, messages } = await agUiFrom(firstId, events, ending)
    expect([types[0], types.at(-1)]).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
    expect(frames).not.toContain('"usage"')
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: 'All is well.' })
    // After the last step there is only the answer.
    if (messages.length > 1) expect(idsOf(whole.messages).slice(-messages.length)).toEqual(idsOf(messages))
    told.add(messages.length)
  }
  expect(whole.frames).toContain('"usage"')
  expect(told.size).toBeGreaterThan(2)
})

it('AG-UI: a late reader gets the calls that wait', async () => {
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const stream = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }]), tools: [pay] }).stream('go')
  const events = await Array.fromAsync(stream)
  const { frames, messages } = await agUiFrom(events.length + 1, events, endedWith(await stream.result))
  expect(messages).toMatchObject([{ role: 'assistant', toolCalls: [{ function: { name: 'pay' } }] }])
  expect(frames).toContain('"type":"interrupt"')
})
