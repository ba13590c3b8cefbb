import type { UIMessage, UIMessageChunk } from 'ai'
import { readUIMessageStream } from 'ai'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { LogSource } from '../../src/agent/web/log-source.ts'
import { endedWith, toldEnding } from '../../src/agent/web/run-ending.ts'
import type { RunEvent } from '../../src/core/events.ts'
import { asTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { uiMessageFormat } from '../../src/ui/index.ts'

/** What a page makes of a run of which the events before the one of this number are no longer kept. */
async function messageFrom(firstId: number, events: readonly RunEvent[], ending: Parameters<typeof toldEnding>[0]) {
  const log = {
    firstId,
    after: (id: number) => (id < events.length ? { id: id + 1, event: events[id] as RunEvent } : undefined),
    onChange: () => () => {},
  }
  const told = toldEnding(ending, String)
  const source = new LogSource(log, { writer: uiMessageFormat().open(), place: 0, select: undefined, ending: () => told })
  const frames = source.take(Number.POSITIVE_INFINITY)
  const chunks = [...frames.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']): UIMessageChunk => JSON.parse(json))
  let message: UIMessage | undefined
  for await (const read of readUIMessageStream({ stream: ReadableStream.from(chunks), terminateOnError: true })) message = read
  return { chunks, message }
}

it('whoever comes when the beginning is no longer kept gets whole steps, and the answer', async () => {
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
  const whole = await messageFrom(1, events, ending)
  const steps = new Set<number>()
  for (let firstId = 2; firstId <= events.length + 1; firstId++) {
    const { chunks, message } = await messageFrom(firstId, events, ending)
    expect([chunks[0]?.type, chunks.at(-1)?.type, message?.parts.at(-1)]).toMatchObject([
      'start',
      'finish',
      { type: 'text', text: 'All is well.' },
    ])
    // What it has been told is the end of what others were told.
    const [, ...told] = message?.parts ?? []
    expect(whole.message?.parts.slice(-told.length)).toEqual(told.length === 0 ? whole.message?.parts : told)
    steps.add(message?.parts.length ?? 0)
  }
  expect(steps.size).toBe(4)
})

it('calls that wait are told of to whoever comes late', async () => {
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const stream = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }]), tools: [pay] }).stream('go')
  const events = await Array.fromAsync(stream)
  const { message } = await messageFrom(events.length + 1, events, endedWith(await stream.result))
  expect(message?.parts).toMatchObject([{ type: 'tool-pay', state: 'approval-requested' }])
})
