import { describe, expect, it } from 'vitest'
import type { RunResult } from '../../src/agent/types/options.ts'
import { describeEnding, formatBytes, formatDuration, RunRenderer } from '../../src/cli/terminal/render.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { ToolloopError } from '../../src/core/errors.ts'
import type { EventMeta, RunEvent } from '../../src/core/events.ts'
import { noUsage } from '../../src/core/messages.ts'
import { fakeIO } from './fake-io.ts'

const meta = (toolCallId: string, more: Pick<EventMeta, 'durationMs' | 'ok'> = {}) => ({
  runId: 'r',
  iteration: 1,
  time: 0,
  toolCallId,
  ...more,
})
const endOfCall = { type: 'TOOL_CALL_END', bytes: 0 } as const
const ended = (more: Partial<RunResult>): RunResult =>
  ({
    runId: 'r',
    output: '',
    text: '',
    messages: [],
    newMessages: [],
    stopReason: 'answered',
    usage: noUsage,
    iterations: 1,
    steps: [],
    toolCalls: [],
    pending: [],
    ...more,
  }) as RunResult

function rendered(events: RunEvent[], options = {}) {
  const io = fakeIO()
  const renderer = new RunRenderer(new Terminal(io), [], options)
  for (const event of events) renderer.show(event)
  return { io, renderer, err: () => io.err().trimEnd().split('\n') }
}

describe('tool lines', () => {
  it('distinguish parallel calls by their arguments', () => {
    const { err } = rendered([
      { type: 'TOOL_CALL_START', meta: meta('c1'), tool: 'read', args: { path: 'a' } },
      { type: 'TOOL_CALL_START', meta: meta('c2'), tool: 'read', args: { path: 'b' } },
      { ...endOfCall, outcome: 'ok', meta: meta('c2', { durationMs: 1_234, ok: true }), tool: 'read', result: 'x'.repeat(2048) },
      {
        ...endOfCall,
        outcome: 'failed',
        meta: meta('c1', { durationMs: 3, ok: false }),
        tool: 'read',
        result: 'no such file\n\x1b[31mat all',
      },
    ])
    expect(err()).toEqual([
      '→ read {"path":"a"}',
      '→ read {"path":"b"}',
      '✓ read {"path":"b"} 1.2 s · 2.0 KiB',
      '✗ read 3 ms · no such file [31mat all',
    ])
  })

  it('say why a call was not run', () => {
    const { err } = rendered([
      {
        ...{ type: 'TOOL_CALL_REJECTED', meta: meta('c1'), tool: 'red', args: '{', error: 'no tool `red`; there are: read' },
        ...{ outcome: 'rejected', errorCode: 'tool_not_found' },
      },
    ])
    expect(err()).toEqual(['✗ red not run · no tool `red`; there are: read'])
  })

  it('are shortened', () => {
    const { err } = rendered([{ type: 'TOOL_CALL_START', meta: meta('c1'), tool: 'write', args: { text: 'x'.repeat(10_000) } }])
    expect(err()[0]).toHaveLength('→ write '.length + 120)
  })

  it('are left out with quiet', () => {
    const { io } = rendered([{ type: 'TOOL_CALL_START', meta: meta('c1'), tool: 'read', args: {} }], { quiet: true })
    expect(io.err()).toBe('')
  })
})

describe('the answer', () => {
  it('is completed with what was not streamed', () => {
    const { io, renderer } = rendered([{ type: 'TEXT_DELTA', meta: meta(''), text: 'Let me look' }])
    renderer.finish(ended({ output: 'The result', stopReason: 'stopped' }))
    expect(io.out()).toBe('Let me look\nThe result\n')
  })

  it('does not include the text of nested agents; their calls are shown', () => {
    const inside = { runId: 'b', parentRunId: 'r', parentToolCallId: 'c1', depth: 1, iteration: 1, time: 0 }
    const { io, renderer, err } = rendered([
      { type: 'MODEL_START', meta: meta(''), provider: 'p', model: 'm' },
      { type: 'TOOL_CALL_START', meta: meta('c1'), tool: 'helper', args: { task: 'look' } },
      { type: 'MODEL_START', meta: inside, provider: 'p', model: 'm' },
      { type: 'TEXT_DELTA', meta: inside, text: 'I look.' },
      { type: 'TOOL_CALL_START', meta: { ...inside, toolCallId: 'b1' }, tool: 'look', args: {} },
      { ...endOfCall, outcome: 'ok', meta: { ...inside, toolCallId: 'b1', ok: true }, tool: 'look', result: '' },
      { ...endOfCall, outcome: 'ok', meta: meta('c1', { ok: true }), tool: 'helper', result: 'I look.' },
      { type: 'MODEL_START', meta: { ...meta(''), iteration: 2 }, provider: 'p', model: 'm' },
      { type: 'TEXT_DELTA', meta: { ...meta(''), iteration: 2 }, text: 'Done.' },
    ])
    renderer.finish(ended({ output: 'Done.' }))
    expect(io.out()).toBe('Done.\n')
    expect(err()).toEqual(['→ helper {"task":"look"}', '  → look {}', '  ✓ look {} · 0 B', '✓ helper · 7 B'])
  })

  it('F7 is one line if it was cut and continued', () => {
    const { io, renderer } = rendered([
      { type: 'MODEL_START', meta: meta(''), provider: 'p', model: 'm' },
      { type: 'TEXT_DELTA', meta: meta(''), text: 'One, ' },
      { type: 'MODEL_END', meta: meta(''), provider: 'p', model: 'm', finishReason: 'length' },
      { type: 'MODEL_START', meta: meta(''), provider: 'p', model: 'm', continues: true },
      { type: 'TEXT_DELTA', meta: meta(''), text: 'two.' },
      { type: 'MODEL_END', meta: meta(''), provider: 'p', model: 'm', finishReason: 'stop' },
    ])
    renderer.finish(ended({ output: 'One, two.' }))
    expect(io.out()).toBe('One, two.\n')
  })

  it('F7 starts a new line after one that was cut and not continued', () => {
    const { io, renderer } = rendered([
      { type: 'TEXT_DELTA', meta: meta(''), text: 'One, ' },
      { type: 'MODEL_END', meta: meta(''), provider: 'p', model: 'm', finishReason: 'length' },
      { type: 'MODEL_START', meta: meta(''), provider: 'p', model: 'm' },
      { type: 'TEXT_DELTA', meta: meta(''), text: 'Two.' },
    ])
    renderer.finish(ended({ output: 'Two.' }))
    expect(io.out()).toBe('One, \nTwo.\n')
  })

  it('F21 says that it broke off, and starts on a new line', () => {
    const retry = { provider: 'p', model: 'm', errorCode: 'stream_cut', error: 'gone', delayMs: 0, discards: true } as const
    const { io, renderer } = rendered([
      { type: 'MODEL_START', meta: meta(''), provider: 'p', model: 'm' },
      { type: 'TEXT_DELTA', meta: meta(''), text: 'One, tw' },
      { type: 'MODEL_RETRY', meta: meta(''), ...retry },
      { type: 'TEXT_DELTA', meta: meta(''), text: 'One, two.' },
    ])
    renderer.finish(ended({ output: 'One, two.' }))
    expect(io.out()).toBe('One, tw\nOne, two.\n')
    expect(io.err()).toContain('The answer broke off and starts again:')
  })

  it('is not repeated if it was streamed', () => {
    const { io, renderer } = rendered([{ type: 'TEXT_DELTA', meta: meta(''), text: 'Done.\n' }])
    renderer.finish(ended({ output: 'Done.\n' }))
    expect(io.out()).toBe('Done.\n')
  })
})

it('describeEnding has one line for every ending except an answer', () => {
  const record = { id: 'c', tool: 'read', rawArguments: '', iteration: 1, outcome: 'ok', content: '', durationMs: 1, attempts: 1 } as const
  const endings: [Partial<RunResult>, string | undefined][] = [
    [{ stopReason: 'answered' }, undefined],
    [{ stopReason: 'stopped', toolCalls: [record] }, 'ended by the result of `read`'],
    [{ stopReason: 'truncated' }, 'truncated: the answer was cut off at a token limit'],
    [{ stopReason: 'max_iterations', iterations: 5 }, 'stopped: no answer after 5 iterations; --max-iterations allows more'],
    [{ stopReason: 'deadline' }, 'stopped: the deadline passed; --deadline sets it'],
    [{ stopReason: 'budget' }, 'stopped: a budget was used up'],
    [{ stopReason: 'repeated_calls', toolCalls: [record] }, 'stopped: the model kept repeating the same call of `read`'],
    [{ stopReason: 'aborted' }, 'aborted'],
    [{ stopReason: 'refused', error: new ToolloopError('refusal', 'I will not') }, 'refused: I will not'],
    [{ stopReason: 'model_error', error: new ToolloopError('rate_limited', 'Too many') }, 'model error: Too many (rate_limited)'],
    [
      {
        stopReason: 'paused',
        pending: [{ kind: 'client_tool', fingerprint: 'f', place: '1.tool.0.decision', toolCallId: 'c', tool: 'map', args: {} }],
      },
      'paused: 1 call to be decided: map (has no `execute`)',
    ],
  ]
  for (const [result, line] of endings) expect(describeEnding(ended(result))).toBe(line)
})

it('durations and sizes are rounded for people', () => {
  expect([0.4, 999, 1_000, 61_000].map(formatDuration)).toEqual(['0 ms', '999 ms', '1.0 s', '1 min 1 s'])
  expect([0, 1_023, 1_024, 5_242_880].map(formatBytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '5.0 MiB'])
})
