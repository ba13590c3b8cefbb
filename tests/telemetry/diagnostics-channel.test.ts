import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { channels, EventBus } from '../../src/core/callbacks/event-bus.ts'
import { Event, type EventName } from '../../src/core/events.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { call, countingTool } from '../hazards/tools.ts'

it('every event of any runner is published on a channel of its name, exactly as a stream yields it', async () => {
  const told: unknown[] = []
  const listen = (event: unknown, channel: string | symbol) => void told.push([channel, event])
  const names = (Object.keys(Event) as EventName[]).map((name) => `toolloop:${name}`)
  for (const name of names) subscribe(name, listen)
  const seen: unknown[] = []
  try {
    const model = scriptedModel([{ toolCalls: [call('look', { n: 1 })] }, { chunks: ['Do', 'ne.'] }])
    const stream = new AgentRunner({ model, tools: [countingTool('look').tool] }).stream('go')
    for await (const event of stream) seen.push([`toolloop:${event.type}`, event])
  } finally {
    for (const name of names) unsubscribe(name, listen)
  }
  expect(told).toEqual(seen)
  expect(told.length).toBeGreaterThan(8)
})

it('each event has its own channel, and a bus publishes on it', () => {
  const names = Object.keys(Event) as EventName[]
  expect(Object.keys(channels).toSorted()).toEqual(names.toSorted())
  for (const name of names) {
    const told: unknown[] = []
    const listen = (event: unknown) => void told.push(event)
    subscribe(`toolloop:${name}`, listen)
    new EventBus(() => {}).emit(name, { text: 'x' } as never, { runId: 'run_1' } as never)
    unsubscribe(`toolloop:${name}`, listen)
    expect(told).toEqual([{ type: name, text: 'x', meta: { runId: 'run_1' } }])
  }
})

it('nothing is published after the last subscriber has left', async () => {
  const told: unknown[] = []
  const listen = (event: unknown) => void told.push(event)
  subscribe('toolloop:RUN_END', listen)
  unsubscribe('toolloop:RUN_END', listen)
  const runner = new AgentRunner({ model: scriptedModel(['Hi.']) })
  expect(runner.bus.hasListeners('RUN_END')).toBe(false)
  await runner.run('go')
  expect(told).toEqual([])
})
