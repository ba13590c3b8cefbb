import { describe, expect, it } from 'vitest'
import type { RunResult } from '../../src/agent/types/options.ts'
import { ToolloopError } from '../../src/core/errors.ts'
import type { RunEvent } from '../../src/core/events.ts'
import { noUsage } from '../../src/core/messages.ts'
import { resultAsJson } from '../../src/service/redaction/event-parts.ts'
import { EventRedactor } from '../../src/service/redaction/event-redactor.ts'
import { defineTool } from '../../src/tools/tool.ts'

const meta = { runId: 'r', iteration: 1, time: 0, toolCallId: 'c1' }
const ended = { type: 'TOOL_CALL_END', meta, bytes: 0, outcome: 'ok' } as const
const rejected = { type: 'TOOL_CALL_REJECTED', meta, outcome: 'rejected', errorCode: 'invalid_arguments' } as const
const login = defineTool({ name: 'login', description: '', parameters: { type: 'object' }, secrets: ['pin'], execute: () => 'ok' })
const args = { user: 'ann', pin: 'swordfish', nested: { password: 'hunter22' } }
const shownArgs = { user: 'ann', pin: '[redacted]', nested: { password: '[redacted]' } }

const dump = async (redactor: EventRedactor, events: RunEvent[]) => {
  const shown: RunEvent[] = []
  for (const event of events) shown.push(...(await redactor.redact(event)))
  return shown
}

describe('events for a dump', () => {
  it('H16 have no secret of a call in any event, however its arguments were cut', async () => {
    const json = JSON.stringify(args)
    const events: RunEvent[] = [
      { type: 'TOOL_INPUT_START', meta, index: 0, id: 'c1', tool: 'login' },
      ...[...json].map((piece): RunEvent => ({ type: 'TOOL_INPUT_DELTA', meta, index: 0, id: 'c1', json: piece })),
      { type: 'MODEL_END', meta, provider: 'p', model: 'm', finishReason: 'tool_calls' },
      { type: 'TOOL_CALL_START', meta, tool: 'login', args },
      { type: 'TOOL_PROGRESS', meta, tool: 'login', update: { trying: 'swordfish' } },
      { ...ended, tool: 'login', result: 'wrong pin: swordfish' },
      { type: 'TEXT_DELTA', meta, text: 'I tried hunter22.' },
    ]
    const shown = await dump(new EventRedactor([login]), events)
    expect(JSON.stringify(shown)).not.toMatch(/swordfish|hunter22/)
    expect(shown).toEqual([
      events[0],
      { type: 'TOOL_INPUT_DELTA', meta, index: 0, id: 'c1', json: JSON.stringify(shownArgs) },
      { type: 'MODEL_END', meta, provider: 'p', model: 'm', finishReason: 'tool_calls' },
      { type: 'TOOL_CALL_START', meta, tool: 'login', args: shownArgs },
      { type: 'TOOL_PROGRESS', meta, tool: 'login', update: { trying: '[redacted]' } },
      { ...ended, tool: 'login', result: 'wrong pin: [redacted]' },
      { type: 'TEXT_DELTA', meta, text: 'I tried [redacted].' },
    ])
  })

  it('H16 F15 have no secret of an argument that was encoded as its JSON', async () => {
    const json = JSON.stringify({ login: JSON.stringify(args) })
    const shown = await dump(new EventRedactor([login]), [
      { type: 'TOOL_INPUT_START', meta, index: 0, id: 'c1', tool: 'login' },
      { type: 'TOOL_INPUT_DELTA', meta, index: 0, id: 'c1', json },
      { type: 'TOOL_CALL_START', meta, tool: 'login', args: { login: args } },
    ])
    expect(JSON.stringify(shown)).not.toMatch(/swordfish|hunter22/)
    expect(JSON.stringify(shown)).toContain('ann')
  })

  it('keep calls that were written at the same time apart', async () => {
    const piece = (index: number, json: string): RunEvent => ({ type: 'TOOL_INPUT_DELTA', meta, index, id: `c${index}`, json })
    const start = (index: number, tool: string): RunEvent => ({ type: 'TOOL_INPUT_START', meta, index, id: `c${index}`, tool })
    const shown = await dump(new EventRedactor([login]), [
      start(0, 'login'),
      start(1, 'other'),
      piece(0, '{"pin":'),
      piece(1, '{"n"'),
      piece(0, '"swordfish"}'),
      piece(1, ':1}'),
      { type: 'MODEL_END', meta, provider: 'p', model: 'm', finishReason: 'tool_calls' },
    ])
    expect(shown.filter(({ type }) => type === 'TOOL_INPUT_DELTA')).toEqual([piece(0, '{"pin":"[redacted]"}'), piece(1, '{"n":1}')])
  })

  it('H16 show nothing of arguments that are not JSON, nor of an error that quotes them', async () => {
    const broken = '{"pin": "swordfish'
    const shown = await dump(new EventRedactor([login]), [
      { ...rejected, tool: 'login', args: broken, error: `not a JSON object: ${broken}` },
      { ...rejected, tool: 'login', args, error: '`pin`: expected number, got string "swordfish"' },
    ])
    expect(JSON.stringify(shown)).not.toContain('swordfish')
    expect(shown[0]).toMatchObject({
      args: '[redacted] (18 characters that are not a JSON object)',
      error: 'not a JSON object: [redacted]',
    })
    expect(shown[1]).toMatchObject({ args: shownArgs, error: '`pin`: expected number, got string "[redacted]"' })
  })

  it('H16 have neither the arguments nor the value of an ended call, nor metadata, with a secret in them', async () => {
    const metadata = { user: 'ann', apiKey: 'k-12345678', note: 'her pin is swordfish' }
    const redactor = new EventRedactor([login])
    const shown = await dump(redactor, [
      { type: 'TOOL_CALL_START', meta: { ...meta, metadata }, tool: 'login', args },
      { ...ended, meta: { ...meta, metadata }, tool: 'login', result: 'fine', args, value: { pin: 'swordfish', deep: ['swordfish'] } },
      { type: 'TEXT_DELTA', meta: { ...meta, metadata }, text: 'Hello' },
    ])
    expect(JSON.stringify(shown)).not.toMatch(/swordfish|k-12345678/)
    expect(shown[1]).toMatchObject({ args: shownArgs, meta: { metadata: { user: 'ann', note: 'her pin is [redacted]' } } })
    expect(shown[1]).not.toHaveProperty('value')
  })

  it('leave every other event unchanged', async () => {
    const events: RunEvent[] = [
      { type: 'RUN_START', meta, provider: 'p', model: 'm', tools: ['login'] },
      { type: 'TEXT_DELTA', meta, text: 'Hello' },
      { type: 'RUN_END', meta, stopReason: 'answered', usage: noUsage, iterations: 1 },
    ]
    expect(await dump(new EventRedactor([login]), events)).toEqual(events)
  })
})

describe('text that is streamed', () => {
  const text = (piece: string, runId = 'r'): RunEvent => ({ type: 'TEXT_DELTA', meta: { ...meta, runId }, text: piece })
  const end = (runId = 'r'): RunEvent => ({ type: 'MODEL_END', meta: { ...meta, runId }, provider: 'p', model: 'm', finishReason: 'stop' })
  const shownText = (events: RunEvent[], runId: string) =>
    events.map((event) => (event.type === 'TEXT_DELTA' && event.meta.runId === runId ? event.text : '')).join('')

  it('H16 hides a secret that comes in pieces, even while another run streams, and sends held-back text at the end', async () => {
    const redactor = new EventRedactor([login])
    redactor.redactArguments('login', args)
    const pieces = [...'It was swordfish, hun'].flatMap((piece) => [text(piece), text(piece.toUpperCase(), 'nested')])
    const shown = await dump(redactor, [...pieces, end(), end('nested')])
    expect(shownText(shown, 'r')).toBe('It was [redacted], hun')
    expect(shownText(shown, 'nested')).toBe('IT WAS [redacted], HUN')
    expect(shown.slice(-4).map(({ type }) => type)).toEqual(['TEXT_DELTA', 'MODEL_END', 'TEXT_DELTA', 'MODEL_END'])
  })

  it('F7 H16 hides a secret across the place where a text was cut and continued', async () => {
    const redactor = new EventRedactor([login])
    redactor.redactArguments('login', args)
    const cut: RunEvent = { type: 'MODEL_END', meta, provider: 'p', model: 'm', finishReason: 'length' }
    const start: RunEvent = { type: 'MODEL_START', meta, provider: 'p', model: 'm' }
    const continued = await dump(redactor, [text('It was sword'), cut, { ...start, continues: true }, text('fish.'), end()])
    expect(shownText(continued, 'r')).toBe('It was [redacted].')
    const anew = await dump(redactor, [text('It was sword'), cut, start, text('Fine.'), end()])
    expect(anew.map((event) => (event.type === 'TEXT_DELTA' ? event.text : event.type)).join(' ')).toMatch(
      /It was .*sword.* MODEL_START Fine\. MODEL_END$/,
    )
  })

  it('calls that two runs write at once stay apart', async () => {
    const piece = (runId: string, json: string): RunEvent => ({
      type: 'TOOL_INPUT_DELTA',
      meta: { ...meta, runId },
      index: 0,
      id: 'c',
      json,
    })
    const shown = await dump(new EventRedactor([]), [
      piece('r', '{"a"'),
      piece('nested', '{"b"'),
      piece('nested', ':2}'),
      end('nested'),
      piece('r', ':1}'),
      end(),
    ])
    expect(shown.flatMap((event) => (event.type === 'TOOL_INPUT_DELTA' ? [event.json] : []))).toEqual(['{"b":2}', '{"a":1}'])
  })
})

describe('results of tools', () => {
  it('H16 have no values under secret-looking names, nor under those of their tool', async () => {
    const result = '{"user":"ann","password":"hunter22","pin":"0000"}'
    const [shown] = await dump(new EventRedactor([login]), [{ ...ended, tool: 'login', result }])
    expect(shown).toMatchObject({ result: '{"user":"ann","password":"[redacted]","pin":"[redacted]"}' })
  })

  it('keep the service’s own fields, whatever is secret', async () => {
    const redactor = new EventRedactor([])
    redactor.redactArguments('x', { password: 'answered', token: 'RUN_END' })
    const event: RunEvent = { type: 'RUN_END', meta, stopReason: 'answered', usage: noUsage, iterations: 1 }
    expect(await dump(redactor, [event])).toEqual([event])
  })

  it('show no text if there are too many secrets', async () => {
    const redactor = new EventRedactor([])
    redactor.redactArguments('x', { password: Array.from({ length: 1_000 }, (_, at) => `secret${at}`) })
    expect(redactor.redactText('It was secret999')).toBe('[redacted]')
    expect(await dump(redactor, [{ type: 'TEXT_DELTA', meta, text: 'secret999' }])).toMatchObject([{ text: '[redacted]' }])
  })
})

describe('a result', () => {
  const call = { id: 'c1', type: 'function' as const, function: { name: 'login', arguments: JSON.stringify(args) } }
  const result: RunResult = {
    runId: 'r',
    output: 'Your pin is swordfish.',
    text: 'Your pin is swordfish.',
    messages: [
      { role: 'user', content: 'log in' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', toolCallId: 'c1', content: 'swordfish is wrong' },
    ],
    newMessages: [],
    stopReason: 'model_error',
    usage: noUsage,
    iterations: 1,
    steps: [],
    toolCalls: [
      {
        id: 'c1',
        tool: 'login',
        args,
        rawArguments: call.function.arguments,
        iteration: 1,
        outcome: 'ok',
        content: 'x',
        value: 1n,
        durationMs: 1,
        attempts: 1,
      },
    ],
    pending: [],
    error: new ToolloopError('provider_error', 'broken: swordfish', { cause: new Error('inner') }),
  }

  it('as JSON has its error as code and message, and no values of tools', async () => {
    const json = JSON.parse(JSON.stringify(resultAsJson(result)))
    expect(json.error).toEqual({ code: 'provider_error', message: 'broken: swordfish' })
    expect(json.toolCalls).toEqual([expect.not.objectContaining({ value: expect.anything() })])
    // Ready to be passed back, so nothing is taken out of it.
    expect(json.messages).toEqual(result.messages)
  })

  it('does not hide common words because of arguments that are not an object', async () => {
    const redactor = new EventRedactor([login])
    const input = (json: string): RunEvent[] => [
      { type: 'TOOL_INPUT_START', meta, index: 0, id: 'c1', tool: 'login' },
      { type: 'TOOL_INPUT_DELTA', meta, index: 0, id: 'c1', json },
      { type: 'MODEL_END', meta, provider: 'p', model: 'm', finishReason: 'tool_calls' },
    ]
    await dump(redactor, [...input('null'), ...input('true'), ...input('"swordfish"')])
    expect(redactor.redactText('null and true, not "swordfish"')).toBe('null and true, not [redacted]')
  })

  it('H16 for a dump has no secrets, not even inside JSON texts', async () => {
    const text = JSON.stringify(await new EventRedactor([login]).redactResult(result))
    expect(text).not.toMatch(/swordfish|hunter22/)
    const shown = JSON.parse(text)
    expect(JSON.parse(shown.toolCalls[0].rawArguments)).toEqual(shownArgs)
    expect(JSON.parse(shown.messages[1].toolCalls[0].function.arguments)).toEqual(shownArgs)
  })
})
