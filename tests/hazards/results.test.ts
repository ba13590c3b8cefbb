import { beforeEach, describe, expect, it } from 'vitest'
import { Event } from '../../src/core/events.ts'
import type { ContentPart, JsonObject } from '../../src/core/messages.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { driverModes, rowsFor } from './modes.ts'
import { resultTexts, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, thenable } from './tools.ts'

function tool(name: string, execute: () => unknown, options: Partial<AnyTool> = {}): AnyTool {
  return { ...defineTool({ name, description: name, parameters: { type: 'object' }, execute }), ...options }
}

function circular(): object {
  const tree: Record<string, unknown> = { name: 'root', leaf: { deep: [1] } }
  tree.self = tree
  ;(tree.leaf as Record<string, unknown>).up = tree
  return tree
}

function deep(levels: number): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

class Account {
  readonly #pin = 1234
  owner = 'Ann'
  opened = new Date(0)
  check(pin: number) {
    return pin === this.#pin
  }
}

const shared = { a: 1 }
const revoked = Proxy.revocable({}, {})
revoked.revoke()

/** What a tool returns, and its text for the model. */
const values: [what: string, value: () => unknown, text: string | RegExp][] = [
  ['undefined', () => undefined, '(no result)'],
  ['null', () => null, 'null'],
  ['an empty string', () => '', '(empty result)'],
  ['false', () => false, 'false'],
  ['zero', () => 0, '0'],
  ['NaN', () => Number.NaN, 'NaN'],
  ['a BigInt', () => 12345678901234567890n, '12345678901234567890'],
  ['a symbol', () => Symbol('sign'), 'Symbol(sign)'],
  ['a function', () => function later() {}, '(function later)'],
  ['a Date', () => new Date(0), '1970-01-01T00:00:00.000Z'],
  ['a Date that is none', () => new Date(Number.NaN), 'Invalid Date'],
  [
    'a Map',
    () =>
      new Map<unknown, unknown>([
        ['a', 1],
        [2, new Map([['b', 2n]])],
      ]),
    '{"2":{"b":"2"},"a":1}',
  ],
  ['a Set', () => new Set([1, 'two']), '[1,"two"]'],
  ['an Error', () => new TypeError('wrong kind'), 'wrong kind'],
  ['an Error inside an object', () => ({ error: new Error('inside') }), '{"error":"inside"}'],
  ['a BigInt inside an object', () => ({ big: 5n, nan: Number.NaN }), '{"big":"5","nan":"NaN"}'],
  ['a circular object', circular, '{"name":"root","leaf":{"deep":[1],"up":"(circular)"},"self":"(circular)"}'],
  ['an object that holds another twice', () => ({ one: shared, two: shared }), '{"one":{"a":1},"two":{"a":1}}'],
  ['a Buffer', () => Buffer.alloc(3000), '(binary data, 3000 bytes)'],
  ['a Buffer inside an object', () => ({ data: Buffer.from('abc') }), '{"data":"(binary data, 3 bytes)"}'],
  ['an ArrayBuffer', () => new ArrayBuffer(8), '(binary data, 8 bytes)'],
  ['an instance of a class', () => new Account(), '{"owner":"Ann","opened":"1970-01-01T00:00:00.000Z"}'],
  ['lone surrogates', () => 'a\ud800b\udc00', 'a\ufffdb\ufffd'],
  ['lone surrogates inside an object', () => ({ a: '\ud800' }), '{"a":"\\ud800"}'],
  ['an array of undefined', () => [undefined, () => {}], '[null,null]'],
  ['a promise of a promise', () => Promise.resolve(Promise.resolve('in the end')), 'in the end'],
  ['a toJSON that throws', () => ({ toJSON: () => expect.fail('no JSON') }), /can't be turned into text: .*no JSON/],
  [
    'a getter that throws',
    () => ({
      get a() {
        return expect.fail('no getter')
      },
    }),
    /can't be turned into text: .*no getter/,
  ],
  ['nesting too deep for JSON.stringify', () => deep(100_000), /can't be turned into text/],
  ['a revoked proxy', () => ({ proxy: revoked.proxy }), /can't be turned into text/],
]

/** Results that are sent in special ways: other characters, other JSON, nothing at all. */
const sentOtherwise = new Set(['an empty string', 'lone surrogates', 'a circular object', 'throws white space'])
const isSentOtherwise = ([what]: [string, ...unknown[]]): boolean => sentOtherwise.has(what)

describe.each(driverModes)('results: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it.each(rowsFor(mode, values, isSentOtherwise))('H21 %s: a stable, useful text; the run continues', async (_what, value, text) => {
    const texts: string[] = []
    for (let round = 0; round < 2; round++) {
      await using on = await stage(mode, [{ toolCalls: [call('make')] }, 'done'], { tools: [tool('make', value)] })
      const result = await on.run()
      expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
      expect(result.toolCalls[0]?.outcome).toBe('ok')
      const [told = ''] = resultTexts(result)
      expect(on.events.find(({ name }) => name === Event.TOOL_CALL_END)?.payload.result).toBe(told)
      texts.push(told)
    }
    expect(texts[0]).toEqual(typeof text === 'string' ? text : expect.stringMatching(text))
    expect(texts[1]).toBe(texts[0])
  })

  it('H22 a result above the cap: head and tail are kept, a note says how much was cut', async () => {
    const big = `head${'é🙂'.repeat(100_000)}tail`
    const bytes = Buffer.byteLength(big)
    await using on = await stage(mode, [{ toolCalls: [call('make'), call('object'), call('parts')] }, 'done'], {
      tools: [
        tool('make', () => big),
        tool('object', () => ({ big })),
        tool('parts', () => big, { toContent: (value: never) => [{ type: 'text', text: value }] satisfies ContentPart[] }),
      ],
    })
    const result = await on.run()
    for (const told of resultTexts(result)) {
      expect(Buffer.byteLength(told)).toBeLessThanOrEqual(65_536)
      expect(Buffer.byteLength(told)).toBeGreaterThan(65_000)
      expect(told).toMatch(/^(\{"big":")?head/)
      expect(told).toMatch(/tail("\})?$/)
      const [, cut, of] = /\n\n\(… (\d+) of (\d+) bytes cut here …\)\n\n/.exec(told) ?? []
      expect(Number(of)).toBeGreaterThanOrEqual(bytes)
      expect(Number(cut)).toBe(Number(of) - Buffer.byteLength(told.replace(/\n\n\(….*…\)\n\n/, '')))
      expect(told.isWellFormed()).toBe(true)
      expect(told).not.toContain('\ufffd')
    }
    expect(result.toolCalls.map(({ value }) => value)).toEqual([undefined, undefined, undefined])
  })

  it('H22 P2.9 the cap is configurable, and includes its note; a result of exactly that length is not cut', async () => {
    await using on = await stage(mode, [{ toolCalls: [call('fits'), call('over')] }, 'done'], {
      tools: [tool('fits', () => 'x'.repeat(100)), tool('over', () => 'x'.repeat(101))],
      maxResultBytes: 100,
    })
    const [fits, over] = resultTexts(await on.run())
    expect(fits).toBe('x'.repeat(100))
    expect(over).toMatch(/^x+\n\n\(… \d+ of 101 bytes cut here …\)\n\nx+$/)
    expect(Buffer.byteLength(over ?? '')).toBeLessThanOrEqual(100)
    expect(Buffer.byteLength(over ?? '')).toBeGreaterThan(90)
  })

  it('H22 a failure with a message above the cap is cut as well', async () => {
    const fail = () => Promise.reject(new Error('x'.repeat(1_000_000)))
    await using on = await stage(mode, [{ toolCalls: [call('fail')] }, 'done'], { tools: [tool('fail', fail)] })
    const [told = ''] = resultTexts(await on.run())
    expect(Buffer.byteLength(told)).toBeLessThanOrEqual(65_536)
    expect(told).toContain('bytes cut here')
  })

  it('H22 the text of an empty list of parts is not empty', async () => {
    await using on = await stage(mode, [{ toolCalls: [call('make')] }, 'done'], { tools: [tool('make', () => 1, { toContent: () => [] })] })
    expect(resultTexts(await on.run())[0]).toBe('(empty result)')
  })

  const thrown: [what: string, execute: () => unknown, told: string | RegExp][] = [
    [
      'throws an Error',
      () => {
        throw new Error('no luck')
      },
      'no luck',
    ],
    [
      'throws a text',
      () => {
        throw 'just words'
      },
      'just words',
    ],
    [
      'throws undefined',
      () => {
        throw undefined
      },
      'failed without saying why',
    ],
    [
      'throws null',
      () => {
        throw null
      },
      'null',
    ],
    [
      'throws an object',
      () => {
        throw { code: 7 }
      },
      '{"code":7}',
    ],
    [
      'throws an object with a message',
      () => {
        throw { message: 'wrapped' }
      },
      'wrapped',
    ],
    ['rejects with undefined', () => Promise.reject(), 'failed without saying why'],
    ['rejects with an Error without a message', () => Promise.reject(new RangeError()), 'RangeError'],
    ['rejects with a symbol', () => Promise.reject(Symbol('sign')), 'Symbol(sign)'],
    ['rejects with a BigInt', () => Promise.reject(9n), '9'],
    [
      'throws an object whose message throws',
      () => {
        throw {
          get message() {
            throw new Error('inner')
          },
        }
      },
      /./,
    ],
    [
      'throws a revoked proxy',
      () => {
        throw revoked.proxy
      },
      /./,
    ],
    [
      'throws white space',
      () => {
        throw ' \n'
      },
      /without saying why/,
    ],
    [
      'returns a thenable that throws',
      () =>
        thenable(() => {
          throw new Error('in then')
        }),
      'in then',
    ],
    [
      'returns a thenable that rejects twice',
      () =>
        thenable((_, reject) => {
          reject('once')
          reject('twice')
        }),
      'once',
    ],
    [
      'aborts itself with an AbortError',
      () => {
        throw new DOMException('gone', 'AbortError')
      },
      'gone',
    ],
  ]
  it.each(rowsFor(mode, thrown, isSentOtherwise))(
    'H23 a tool that %s: a result the model can read, siblings run, the run continues',
    async (_what, execute, words) => {
      await using on = await stage(mode, [{ toolCalls: [call('bad'), call('good')] }, 'done'], {
        tools: [tool('bad', execute), tool('good', () => 'fine')],
      })
      const result = await on.run()
      expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
      const [told = '', fine] = resultTexts(result)
      expect(told).toEqual(typeof words === 'string' ? words : expect.stringMatching(words))
      expect(fine).toBe('fine')
      expect(result.toolCalls).toMatchObject([{ outcome: 'failed', errorCode: 'tool_failed', attempts: 1 }, { outcome: 'ok' }])
      const ended = on.events.find(({ name, payload }) => name === Event.TOOL_CALL_END && payload.tool === 'bad')
      expect(ended).toMatchObject({ payload: { result: told }, meta: { ok: false } })
      expect(on.log.map(({ level, message }) => `${level} ${message}`)).toEqual(['warn tool call failed'])
    },
  )

  it('H23 the model sees neither stack nor paths; the log does', async () => {
    const cause = new Error(`can't read ${process.cwd()}/secret/plan.txt`)
    const fail = () => Promise.reject(Object.assign(new Error(`outer: ${cause.message}\n${cause.stack}`), { cause }))
    await using on = await stage(mode, [{ toolCalls: [call('bad')] }, 'done'], { tools: [tool('bad', fail)] })
    const [told = ''] = resultTexts(await on.run())
    expect(told).toContain("can't read secret/plan.txt")
    expect(told).not.toContain(process.cwd())
    expect(told).not.toMatch(/\n\s*at /)
    expect(JSON.stringify(on.log)).toContain('results.test.ts')
  })

  it('H24 later changes of a result, arguments or parts do not change the history', async () => {
    const value = { n: 1, list: [1] }
    const part: ContentPart = { type: 'text', text: 'as it was' }
    const seen: unknown[] = []
    const tools: AnyTool[] = [
      tool('value', () => value),
      tool('parts', () => 1, { toContent: () => [part] }),
      defineTool({
        name: 'mutates',
        description: 'changes its arguments, fails once',
        parameters: { type: 'object' },
        retries: 1,
        execute: (args, { attempt }) => {
          seen.push(structuredClone(args))
          args.a = 'changed'
          if (Array.isArray(args.b)) args.b.push('added')
          if (attempt === 1) throw new Error('once more')
          return 'done'
        },
      }),
    ]
    const change = (): MockReply => {
      value.n = 2
      value.list.push(2)
      part.text = 'as it is'
      return 'done'
    }
    await using on = await stage(mode, [{ toolCalls: [call('value'), call('parts'), call('mutates', { a: 1, b: [] })] }, change], { tools })
    const result = await on.run()
    expect(resultTexts(result)).toEqual(['{"n":1,"list":[1]}', 'as it was', 'done'])
    expect(seen).toEqual([
      { a: 1, b: [] },
      { a: 1, b: [] },
    ])
    expect(result.toolCalls[2]).toMatchObject({ args: { a: 1, b: [] }, rawArguments: '{"a":1,"b":[]}' })
  })

  it('H24 what decides about a call can’t change it', async () => {
    const got: unknown[] = []
    const change = (args: JsonObject): boolean => {
      args.a = 'changed'
      args.b = 'added'
      return true
    }
    const tool = defineTool({
      name: 'pay',
      description: 'pays',
      parameters: { type: 'object' },
      approval: change,
      execute: (args) => void got.push(args),
    })
    await using on = await stage(mode, [{ toolCalls: [call('pay', { a: 1 })] }, 'done'], {
      tools: [tool],
      approve: ({ args }) => change(args),
    })
    expect((await on.run()).toolCalls).toMatchObject([{ outcome: 'ok', args: { a: 1 } }])
    expect(got).toEqual([{ a: 1 }])
  })

  it('H24 changing what a run returns does not affect a later run', async () => {
    await using on = await stage(mode, [{ toolCalls: [call('make')] }, 'done', 'again'], { tools: [tool('make', () => 'made')] })
    const first = await on.run()
    const second = on.runner.run('more', { messages: first.messages })
    first.messages.length = 0
    expect((await second).messages).toHaveLength(6)
    const [message] = (await second).messages
    expect(() => Object.assign(message ?? {}, { content: 'changed' })).toThrow(TypeError)
  })
})
