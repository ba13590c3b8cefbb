import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Event } from '../../src/core/events.ts'
import { createLogger } from '../../src/core/logger.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { EventRedactor } from '../../src/service/redaction/event-redactor.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { modes, nativeModes, rowsFor } from './modes.ts'
import { resultTexts, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool } from './tools.ts'

const chatModes = nativeModes.filter(({ wire }) => wire === 'chat-completions')

/** A Chat Completions response with exactly these pieces of calls: streamed, or merged into one message. */
function rawCalls(streaming: boolean, deltas: JsonObject[], finish = 'tool_calls'): MockReply {
  const base = { id: 'x', object: streaming ? 'chat.completion.chunk' : 'chat.completion', created: 1, model: 'mock' }
  if (!streaming) {
    const message = { role: 'assistant', content: null, tool_calls: deltas }
    return { body: { ...base, choices: [{ index: 0, message, finish_reason: finish }] } }
  }
  const chunk = (delta: JsonObject, reason: string | null = null): JsonObject => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
  return { events: [...deltas.map((delta) => chunk({ tool_calls: [delta] })), chunk({}, finish), 'data: [DONE]\n\n'] }
}

describe.each(nativeModes)('native arguments with encoded values: $name', (mode) => {
  const trip = {
    type: 'object',
    properties: {
      days: { type: 'integer' },
      flexible: { type: 'boolean' },
      stops: { type: 'array', items: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
      note: { type: 'string' },
    },
    required: ['days'],
    additionalProperties: false,
  } as const
  const book = () => {
    const calls: unknown[] = []
    const execute = (args: unknown) => void calls.push(args)
    return { calls, tool: defineTool({ name: 'book', description: 'Books.', parameters: trip, execute }) }
  }
  const repairs = ['`days` read as number', '`flexible` read as boolean', '`stops` read as array']
  const encoded = { days: '10', flexible: 'true', stops: '[{"city":"Oslo"}]', note: '7' }
  const taken = { days: 10, flexible: true, stops: [{ city: 'Oslo' }], note: '7' }

  it('F15 run with the values they encode, and the call reports it in its record and events', async () => {
    const { calls, tool } = book()
    await using on = await stage(mode, [{ toolCalls: [call('book', encoded)] }, 'Booked.'], { tools: [tool] })
    const result = await on.run()
    expect(calls).toEqual([taken])
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', args: taken, rawArguments: JSON.stringify(encoded), repairs }])
    const started = on.events.find(({ name }) => name === Event.TOOL_CALL_START)
    expect(started).toMatchObject({ payload: { args: taken }, meta: { repairs } })
  })

  it('F15 run if they are encoded twice as a whole, and go back to the model as an object', async () => {
    const { calls, tool } = book()
    const raw = JSON.stringify(JSON.stringify({ days: 10 }))
    await using on = await stage(mode, [{ toolCalls: [call('book', raw)] }, 'Booked.'], { tools: [tool] })
    const { toolCalls } = await on.run()
    expect(calls).toEqual([{ days: 10 }])
    // If arguments are an object on the wire, a text in its place is encoded once.
    if (!findWire(mode.wire).traits.argumentsAsText) return
    expect(toolCalls).toMatchObject([{ outcome: 'ok', repairs: ['arguments decoded, which were encoded twice'] }])
    expect(on.requests()[1]?.messages[1]).toMatchObject({ toolCalls: [{ function: { arguments: '{"days":10}' } }] })
  })

  it('F15 H13 are refused, worded for the model, if they are not exactly the JSON of what the schema asks for', async () => {
    const { calls, tool } = book()
    const wrong = [{ days: 'ten' }, { days: ' 10' }, { days: '010' }, { days: '1.5' }, { days: 1, stops: '[{"town":"Oslo"}]' }]
    const script = [{ toolCalls: wrong.map((args) => call('book', args)) }, 'Sorry.']
    await using on = await stage(mode, script, { tools: [tool] })
    const { toolCalls } = await on.run()
    expect(calls).toEqual([])
    for (const { outcome, content } of toolCalls) {
      expect(outcome).toBe('rejected')
      expect(content).toMatch(/^Invalid arguments for tool `book`: `(days|stops)`: expected (integer|array), got string/)
    }
  })
})

describe.each(modes)('arguments: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  const unreadable = {
    'not JSON': 'a: 1',
    'cut off': '{"a": {"b": 1',
    'cut inside a string': '{"a": "b',
    'an array': '[{"a":1}]',
    null: 'null',
    'a string': '"a"',
    'a string that holds an array': '"[1]"',
    'a string that holds cut JSON': '"{\\"a\\":1"',
    'a number': '7',
    'two objects': '{"a":1}{"a":2}',
    'an object in a fence': '```json\n{"a":1}\n```',
    'nested twenty thousand deep': `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  }
  it.each(rowsFor(mode, Object.entries(unreadable)))(
    'H10 %s: does not run, is an error the model can act on, and siblings run',
    async (_what, raw) => {
      const [look, other] = [countingTool('look'), countingTool('other')]
      const script: MockReply[] = [{ toolCalls: [call('look', raw), call('other', { a: 1 })] }, 'Sorry.']
      await using on = await stage(mode, script, { tools: [look.tool, other.tool] })
      const result = await on.run()
      expect(result).toMatchObject({ stopReason: 'answered', output: 'Sorry.' })
      expect(look.calls).toEqual([])
      expect(other.calls).toEqual([{ a: 1 }])
      const [told, done] = resultTexts(result)
      expect(told).toMatch(/^Arguments of tool `look` could not be read: .+\. Expected one JSON object\. Received: "/s)
      expect(told?.length).toBeLessThan(600)
      expect(done).toBe('other done')
      const { outcome, errorCode } = result.toolCalls[0] ?? {}
      expect(result.toolCalls[0]).toMatchObject({ rawArguments: raw, outcome: expect.stringMatching(/rejected|truncated/), attempts: 0 })
      expect(errorCode).toBe(outcome === 'truncated' ? 'tool_call_truncated' : 'invalid_arguments_json')
      expect(result.toolCalls[0]).not.toHaveProperty('args')
      const rejected = on.events.find(({ name }) => name === Event.TOOL_CALL_REJECTED)
      expect(rejected?.payload).toEqual({ tool: 'look', args: raw, error: told, outcome, errorCode })
    },
  )

  it('H11 no arguments: {} for a tool that requires none, otherwise a validation error', async () => {
    const free = countingTool('free')
    const strict: AnyTool = defineTool({
      name: 'strict',
      description: 'needs a city',
      parameters: z.object({ city: z.string() }),
      execute: () => expect.unreachable(),
    })
    for (const raw of ['', '  ', '\n']) {
      await using on = await stage(mode, [{ toolCalls: [call('free', raw), call('strict', raw), call('none', raw)] }, 'done'], {
        tools: [free.tool, strict, defineTool({ name: 'none', description: 'takes none', execute: () => 'fine' })],
      })
      const { messages, toolCalls } = await on.run()
      expect(resultTexts({ messages })).toEqual([
        'free done',
        expect.stringMatching(/^Invalid arguments for tool `strict`: .*missing required `city`/),
        'fine',
      ])
      expect(toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'rejected', 'ok'])
    }
    expect(free.calls).toEqual([{}, {}, {}])
  })

  const kinds: Record<string, AnyTool> = {
    zod: defineTool({
      name: 'book',
      description: 'books',
      parameters: z.object({ seats: z.number().int().max(9), day: z.enum(['mon', 'tue']), who: z.object({ name: z.string() }) }),
      execute: () => expect.unreachable(),
    }),
    valibot: defineTool({
      name: 'book',
      description: 'books',
      parameters: toStandardJsonSchema(
        v.object({ seats: v.pipe(v.number(), v.maxValue(9)), day: v.picklist(['mon', 'tue']), who: v.object({ name: v.string() }) }),
      ),
      execute: () => expect.unreachable(),
    }),
    arktype: defineTool({
      name: 'book',
      description: 'books',
      parameters: type({ seats: 'number <= 9', day: "'mon' | 'tue'", who: { name: 'string' } }),
      execute: () => expect.unreachable(),
    }),
    'JSON Schema': defineTool({
      name: 'book',
      description: 'books',
      parameters: {
        type: 'object',
        properties: {
          seats: { type: 'integer', maximum: 9 },
          day: { enum: ['mon', 'tue'] },
          who: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        },
        required: ['seats', 'day', 'who'],
        additionalProperties: false,
      },
      execute: () => expect.unreachable(),
    }),
    'JSON Schema draft-07': defineTool({
      name: 'book',
      description: 'books',
      parameters: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        definitions: { person: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
        properties: { seats: { type: 'integer', maximum: 9 }, day: { enum: ['mon', 'tue'] }, who: { $ref: '#/definitions/person' } },
        required: ['seats', 'day', 'who'],
      },
      execute: () => expect.unreachable(),
    }),
  }
  it.each(rowsFor(mode, Object.entries(kinds)))(
    'H13 %s: a violation is refused with the field, what was expected and what was received',
    async (_kind, tool) => {
      const wrong: [args: object, words: RegExp[]][] = [
        [{ seats: 'two', day: 'mon', who: { name: 'Ann' } }, [/`seats`/, /number|integer/, /string "two"/]],
        [{ seats: 2, day: 'sun', who: { name: 'Ann' } }, [/`day`/, /mon.*tue/, /"sun"/]],
        [{ seats: 2, day: 'mon', who: { name: null } }, [/`who\.name`/, /string/, /null/]],
        [{ seats: 2, day: 'mon', who: {} }, [/`who`/, /missing required `name`/]],
        [{ seats: 12, day: 'mon', who: { name: 'Ann' } }, [/`seats`/, /<= 9/, /12/]],
      ]
      await using on = await stage(mode, [{ toolCalls: wrong.map(([args]) => call('book', args)) }, 'done'], { tools: [tool] })
      const { messages, toolCalls } = await on.run()
      const told = resultTexts({ messages })
      expect(told).toHaveLength(wrong.length)
      for (const [index, [args, words]] of wrong.entries()) {
        for (const word of words) expect(told[index]).toMatch(word)
        expect(told[index]).not.toMatch(/\n\s*at |\/work|node_modules|\.ts:/)
        expect(toolCalls[index]).toMatchObject({ outcome: 'rejected', errorCode: 'invalid_arguments', args, attempts: 0 })
      }
    },
  )

  it('H13 a further check of the schema that fails or throws is reported in its own words', async () => {
    const tool = defineTool({
      name: 'book',
      description: 'books',
      parameters: z.object({ from: z.number(), to: z.number() }).refine(
        ({ from, to }) => {
          if (to === 13) throw new Error('no thirteens')
          return from < to
        },
        { message: 'from must be before to', path: ['from'] },
      ),
      execute: () => expect.unreachable(),
    })
    await using on = await stage(mode, [{ toolCalls: [call('book', { from: 2, to: 1 }), call('book', { from: 2, to: 13 })] }, 'done'], {
      tools: [tool],
    })
    expect(resultTexts(await on.run())).toEqual([
      expect.stringContaining('`from`: from must be before to'),
      expect.stringContaining('the check failed: no thirteens'),
    ])
  })

  it('H14 __proto__ and constructor as arguments are data', async () => {
    const look = countingTool('look')
    const args = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"a":{"__proto__":[1]}}'
    await using on = await stage(mode, [{ toolCalls: [call('look', args)] }, 'done'], { tools: [look.tool] })
    const { toolCalls } = await on.run()
    expect(JSON.stringify(look.calls[0])).toBe(args)
    expect(JSON.stringify(toolCalls[0]?.args)).toBe(args)
    expect(JSON.stringify(on.events.find(({ name }) => name === Event.TOOL_CALL_START)?.payload.args)).toBe(args)
    expect(Object.getPrototypeOf(look.calls[0])).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })

  it('H14 a parameter may have a name that every object inherits', async () => {
    const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf']
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
    const seen: unknown[] = []
    const execute = (args: unknown) => void seen.push(JSON.stringify(args))
    const optional = defineTool({ name: 'optional', description: 'takes odd names', parameters: { type: 'object', properties }, execute })
    const required = defineTool({
      name: 'required',
      description: 'needs odd names',
      parameters: { type: 'object', properties, required: names },
      execute,
    })
    const closed = defineTool({
      name: 'closed',
      description: 'takes none',
      parameters: { type: 'object', additionalProperties: false },
      execute,
    })
    const all = JSON.stringify(Object.fromEntries(names.map((name) => [name, 'x'])))
    const script: MockReply[] = [
      {
        toolCalls: [
          call('optional', '{}'),
          call('optional', all),
          call('required', '{}'),
          call('required', all),
          call('closed', '{"__proto__":1}'),
        ],
      },
      'done',
    ]
    await using on = await stage(mode, script, { tools: [optional, required, closed] })
    const { toolCalls, messages } = await on.run()
    expect(toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'rejected', 'ok', 'rejected'])
    expect(seen).toEqual(['{}', all, all])
    for (const name of names) expect(resultTexts({ messages })[2]).toContain(`missing required \`${name}\``)
    expect(resultTexts({ messages })[4]).toContain('unknown `__proto__`')
  })

  it('H14 an unknown tool with a name that every object inherits is just unknown; a known one runs', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const script: MockReply[] = [{ toolCalls: names.map((name) => call(name, { a: 1 })) }, 'done']
    await using absent = await stage(mode, script, { tools: [countingTool('look').tool] })
    const missing = await absent.run()
    expect(resultTexts(missing)).toEqual(names.map((name) => `Tool not found: ${name}. Available tools: look.`))
    await using present = await stage(mode, script, { tools: names.map((name) => countingTool(name).tool) })
    expect(resultTexts(await present.run())).toEqual(names.map((name) => `${name} done`))
  })

  it('H15 calls of a response that ended with `length` never run, however complete they look', async () => {
    const look = countingTool('look')
    const script: MockReply[] = [
      { text: 'I will', toolCalls: [call('look', { a: 1 }), call('look', { b: 2 })], finishReason: 'length' },
      { toolCalls: [call('look', { a: 1 })] },
      'done',
    ]
    await using on = await stage(mode, script, { tools: [look.tool] })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', iterations: 3 })
    expect(look.calls).toEqual([{ a: 1 }])
    expect(result.toolCalls.map(({ outcome, errorCode }) => [outcome, errorCode])).toEqual([
      ['truncated', 'tool_call_truncated'],
      ['truncated', 'tool_call_truncated'],
      ['ok', undefined],
    ])
    expect(resultTexts(result)[0]).toContain('truncated')
  })

  it.each(['cutAfterBytes', 'resetAfterBytes', 'garbageAfterBytes'] as const)(
    'H15 calls of a response that broke off (%s) never run',
    async (fault) => {
      const look = countingTool('look')
      const turn = { text: 'I will', toolCalls: [call('look', { a: 1 }), call('look', { b: 2 })] }
      await using on = await stage(mode, [turn, 'never'], { tools: [look.tool], faults: [{ [fault]: 'content' }] })
      const result = await on.run()
      expect(result.stopReason).toBe('model_error')
      expect(look.calls).toEqual([])
      expect(result.toolCalls).toEqual([])
      expect(on.requests()).toHaveLength(1)
    },
  )

  it('H16 secrets in arguments are in no log line and no dump, whatever fails', async () => {
    const secrets = ['hunter22', 'sw"ord\\fish', '918273', 'deep-secret']
    const args = { password: secrets[0], note: secrets[1], pin: 918273, inner: [{ note: secrets[3] }], plain: 'visible' }
    const quote = ({ password, note, pin, inner, ...rest }: typeof args): never => {
      throw new Error(`rejected ${password} ${note} ${pin} ${JSON.stringify({ inner, note, ...rest })}`)
    }
    const common = { description: 'takes secrets', parameters: { type: 'object' } as const, secrets: ['note', 'pin'] }
    const tools: AnyTool[] = [
      defineTool({ ...common, name: 'fails', execute: (given) => quote(given as never) }),
      defineTool({ ...common, name: 'asks', approval: (given) => quote(given as never), execute: () => 'ok' }),
      defineTool({ ...common, name: 'asked', approval: true, execute: () => 'ok' }),
      defineTool({ ...common, name: 'late', timeoutMs: 1, execute: () => new Promise(() => {}) }),
      defineTool({
        ...common,
        name: 'strict',
        parameters: { type: 'object', properties: { note: { type: 'number' } } },
        execute: () => 'ok',
      }),
    ]
    const lines: string[] = []
    const logger = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
    const turn: MockReply = { toolCalls: tools.map(({ name }) => call(name, args)) }
    const options = {
      tools,
      logger,
      approve: ({ tool, args: given }: { tool: string; args: JsonObject }) => (tool === 'asked' ? quote(given as never) : true),
    }
    await using on = await stage(mode, [turn, turn, { error: new Error('no more') }], options)
    await on.run()
    const redactor = new EventRedactor(tools)
    const dump: unknown[] = []
    await using again = await stage(mode, [turn, 'done'], options)
    const stream = again.runner.stream('go')
    for await (const event of stream) dump.push(...(await redactor.redact(event)))
    dump.push(await redactor.redactResult(await stream.result))

    const written = [...lines, JSON.stringify(dump)].join('\n')
    expect(lines.length).toBeGreaterThan(5)
    expect(written).toContain('visible')
    // Unchanged, and inside JSON, once or twice.
    const forms = secrets.flatMap((secret) => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    ])
    for (const form of forms) expect(written).not.toContain(form)
  })
})

describe.each(chatModes)('unusual arguments on the wire: $name', (mode) => {
  const id = { index: 0, id: 'call_a', type: 'function' }
  const expectCalls = async (deltas: JsonObject[], calls: unknown[]) => {
    const look = countingTool('look')
    await using on = await stage(mode, [rawCalls(mode.streaming, deltas), 'done'], { tools: [look.tool] })
    const result = await on.run()
    expect(result.stopReason).toBe('answered')
    expect(look.calls).toEqual(calls)
    return result
  }

  it('H11 arguments that are absent, null, or an empty object instead of text', async () => {
    const ways: JsonObject[] = [{}, { arguments: null }, { arguments: '' }, { arguments: {} }]
    for (const given of ways) {
      await expectCalls([{ ...id, function: { name: 'look', ...given } }], [{}])
    }
  })

  if (!mode.streaming) return
  it('H12 {} first and the real object in later deltas: the real one counts', async () => {
    const head = { ...id, function: { name: 'look', arguments: '{}' } }
    await expectCalls([head, { index: 0, function: { arguments: '{"a":' } }, { index: 0, function: { arguments: '1}' } }], [{ a: 1 }])
    await expectCalls([head, { index: 0, function: { arguments: '{"a":1}' } }], [{ a: 1 }])
    await expectCalls([head], [{}])
  })

  it('H12 the complete arguments again in the last delta: the tool runs once', async () => {
    const head = { ...id, function: { name: 'look', arguments: '' } }
    const pieces = ['{"a"', ':1', '}'].map((json) => ({ index: 0, function: { arguments: json } }))
    for (const last of ['{"a":1}', '{"a": 1}']) {
      await expectCalls([head, ...pieces, { index: 0, function: { arguments: last } }], [{ a: 1 }])
      await expectCalls([head, ...pieces, { ...id, function: { name: 'look', arguments: last } }], [{ a: 1 }])
    }
  })

  it('H12 two different objects for one call: nothing is guessed, nothing runs', async () => {
    const first = { ...id, function: { name: 'look', arguments: '{"a":1}' } }
    const { toolCalls } = await expectCalls([first, { index: 0, function: { arguments: '{"a":2}' } }], [])
    expect(toolCalls).toMatchObject([{ outcome: 'rejected' }])
  })

  it('H15 cut arguments despite a successful finish reason: nothing runs', async () => {
    const deltas = [
      { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
      { index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '{"a":' } },
    ]
    const { toolCalls } = await expectCalls(deltas, [])
    expect(toolCalls).toMatchObject([{ outcome: 'truncated' }, { outcome: 'truncated' }])
  })
})
