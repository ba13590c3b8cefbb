import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { EventBus } from '../../src/core/callbacks/event-bus.ts'
import { Event } from '../../src/core/events.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { nativeModes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

describe.each(nativeModes)('$name', (mode) => {
  it('S4-8 S4-9 S4-10 START comes immediately before the function, END after it returned or threw, one of each a call', async () => {
    await using opened = await mode.open([
      {
        toolCalls: [
          { id: 'a', name: 'double', arguments: { n: 4 } },
          { id: 'b', name: 'fail', arguments: {} },
        ],
      },
      'done',
    ])
    const order: unknown[] = []
    const bus = new EventBus()
    bus.on(Event.TOOL_CALL_START, (payload, meta) => order.push(['START', payload, meta]))
    bus.on(Event.TOOL_CALL_END, (payload, meta) => order.push(['END', payload, meta]))
    const double = defineTool({
      name: 'double',
      description: 'Doubles.',
      parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      parallel: false,
      execute: ({ n }) => {
        order.push('double runs')
        return n * 2
      },
    })
    const fail = defineTool({
      name: 'fail',
      description: 'Fails.',
      execute: () => {
        order.push('fail runs')
        throw new Error('broken')
      },
    })
    const { logger } = recordingLogger()
    const { runId } = await new AgentRunner({ model: opened.model, ...opened.options, tools: [double, fail], bus, logger }).run('go')
    const at = (toolCallId: string) => ({ toolCallId, runId, iteration: 1, time: expect.any(Number) })
    expect(order).toEqual([
      ['START', { tool: 'double', args: { n: 4 } }, at('a')],
      'double runs',
      [
        'END',
        { tool: 'double', result: '8', args: { n: 4 }, outcome: 'ok', value: 8, bytes: 1 },
        { ...at('a'), durationMs: expect.any(Number), ok: true },
      ],
      ['START', { tool: 'fail', args: {} }, at('b')],
      'fail runs',
      [
        'END',
        { tool: 'fail', result: 'broken', args: {}, outcome: 'failed', errorCode: 'tool_failed', bytes: 6 },
        { ...at('b'), durationMs: expect.any(Number), ok: false },
      ],
    ])
  })

  it('S4-10 a call that is not run has neither, but one REJECTED', async () => {
    await using opened = await mode.open([{ toolCalls: [{ id: 'a', name: 'nope', arguments: { x: 1 } }] }, 'done'])
    const seen: unknown[] = []
    const runner = new AgentRunner({ model: opened.model, ...opened.options, tools: [] })
    runner.bus.onAny((name, payload, meta) => name.startsWith('TOOL_CALL') && seen.push([name, payload, meta]))
    const { runId } = await runner.run('go')
    expect(seen).toEqual([
      [
        'TOOL_CALL_REJECTED',
        {
          ...{ tool: 'nope', args: '{"x":1}', error: 'Tool not found: nope. No tools are available.' },
          ...{ outcome: 'rejected', errorCode: 'tool_not_found' },
        },
        { toolCallId: 'a', runId, iteration: 1, time: expect.any(Number) },
      ],
    ])
  })
})
