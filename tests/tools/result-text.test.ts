import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolloopError } from '../../src/core/errors.ts'
import type { ContentPart } from '../../src/core/messages.ts'
import { capContent, resultText } from '../../src/tools/result-text.ts'
import { anyCharacter } from '../any-text.ts'
import { hostileValues } from '../hostile-values.ts'

const bytesOf = (text: string) => Buffer.byteLength(text)

describe('resultText', () => {
  class Point {
    readonly x = 1
    readonly #hidden = 2
    get sum(): number {
      return this.x + this.#hidden
    }
  }
  class Money {
    toJSON() {
      return '1.50 EUR'
    }
  }
  const circular: Record<string, unknown> = { name: 'root', list: [] }
  circular.self = circular
  circular.list = [circular, { up: circular }]
  const shared = { a: 1 }
  const withExtras = Object.assign(new Error('failed'), { toJSON: () => ({ stack: 'at secret (/home/me/x.ts:1:1)' }) })

  it.each<[string, unknown, string]>([
    ['undefined', undefined, '(no result)'],
    ['null', null, 'null'],
    ['an empty text', '', '(empty result)'],
    ['white space', ' \n', ' \n'],
    ['a text', 'plain "text"', 'plain "text"'],
    ['0', 0, '0'],
    ['-0', -0, '0'],
    ['NaN', Number.NaN, 'NaN'],
    ['Infinity', Number.NEGATIVE_INFINITY, '-Infinity'],
    ['a boolean', false, 'false'],
    ['a BigInt', 10n ** 20n, '100000000000000000000'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['a function', function add() {}, '(function add)'],
    ['a function without a name', (() => () => {})(), '(function without a name)'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an invalid date', new Date(Number.NaN), 'Invalid Date'],
    ['an Error', new TypeError('no'), 'no'],
    ['an Error without a message', new TypeError(''), 'TypeError'],
    ['an Error of ours', new ToolloopError('tool_failed', 'ours'), 'ours'],
    ['a Buffer', Buffer.from('héllo'), '(binary data, 6 bytes)'],
    ['a typed array', new Float64Array(2), '(binary data, 16 bytes)'],
    ['an ArrayBuffer', new ArrayBuffer(3), '(binary data, 3 bytes)'],
    ['a DataView', new DataView(new ArrayBuffer(8), 2), '(binary data, 6 bytes)'],
    ['an empty object', {}, '{}'],
    ['an empty list', [], '[]'],
    ['an object', { a: [1, null, true, 'x'] }, '{"a":[1,null,true,"x"]}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['an instance', new Point(), '{"x":1}'],
    ['what says itself what it is', new Money(), '"1.50 EUR"'],
    ['what says it is nothing', { toJSON: () => undefined }, '(no result)'],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', 1],
        [2, 'b'],
        [new Date(0), 'd'],
        [{ k: 1 }, 'o'],
      ]),
      '{"2":"b","a":1,"1970-01-01T00:00:00.000Z":"d","{\\"k\\":1}":"o"}',
    ],
    ['a Set', new Set([1, 'a', new Set([2])]), '[1,"a",[2]]'],
    ['Maps in Maps', { m: new Map([['in', new Map([['deep', new Set([new Map([['er', 1]])])]])]]) }, '{"m":{"in":{"deep":[{"er":1}]}}}'],
    [
      'odd things in an object',
      { u: undefined, f: () => {}, s: Symbol('s'), b: 1n, n: Number.NaN, i: Number.POSITIVE_INFINITY },
      '{"b":"1","n":"NaN","i":"Infinity"}',
    ],
    ['odd things in a list', [undefined, () => {}, Symbol('s'), 1n, Number.NaN], '[null,null,null,"1","NaN"]'],
    ['dates in an object', { d: new Date(0), bad: new Date(Number.NaN) }, '{"d":"1970-01-01T00:00:00.000Z","bad":null}'],
    ['Errors in an object', { e: new Error('inner'), list: [new TypeError('')] }, '{"e":"inner","list":["TypeError"]}'],
    ['an Error whose toJSON tells all', { e: withExtras }, '{"e":"failed"}'],
    [
      'Buffers in an object',
      { b: Buffer.from('abc'), l: [new Uint8Array(2)] },
      '{"b":"(binary data, 3 bytes)","l":["(binary data, 2 bytes)"]}',
    ],
    ['a circle', circular, '{"name":"root","list":["(circular)",{"up":"(circular)"}],"self":"(circular)"}'],
    ['the same object twice beside itself', [shared, shared, { shared }], '[{"a":1},{"a":1},{"shared":{"a":1}}]'],
    ['a sparse list', Object.assign([], { 2: 'x' }), '[null,null,"x"]'],
    ['a lone surrogate', 'a\ud800b\udc00c', 'a\ufffdb\ufffdc'],
    ['a lone surrogate in an object', { s: '\ud800' }, '{"s":"\\ud800"}'],
    ['a lone surrogate in an Error', new Error('\ud800'), '\ufffd'],
    ['a boxed text', Object('x'), '"x"'],
    ['`__proto__` as a key', JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
    ['`__proto__` as a key of a Map', new Map([['__proto__', 1]]), '{"__proto__":1}'],
    ['a promise', Promise.resolve(1), '{}'],
  ])('H21 %s', (_, value, text) => {
    expect(resultText(value)).toBe(text)
  })

  it.each(hostileValues())('H21 never throws, is never empty, and is well-formed: %s', (_, value) => {
    for (const given of [value, { value }, [value], new Map([['k', value]])]) {
      const text = resultText(given)
      expect(text).toBeTypeOf('string')
      expect(text).not.toBe('')
      expect(text.isWellFormed()).toBe(true)
      expect(text).not.toMatch(/\n\s+at /)
    }
  })

  it('H21 cuts cycles through a Map or a Set too', () => {
    const map = new Map<string, unknown>()
    map.set('self', map)
    const set = new Set<unknown>([map])
    map.set('set', set)
    set.add(set)
    expect(resultText(map)).toBe('{"self":"(circular)","set":["(circular)","(circular)"]}')
  })

  it('H21 writes the first of very many values, whatever length an array claims', () => {
    const parsed = (value: unknown) => JSON.parse(resultText(value))
    const sparse = ['a']
    sparse[2 ** 32 - 2] = 'z'
    const shown = parsed(sparse)
    expect([shown.length, shown.at(0), shown.at(-1)]).toEqual([1_000_001, 'a', `(… ${2 ** 32 - 1 - 1_000_000} more values left out …)`])
    // There is room for four more.
    const many = new Array(999_994).fill(0)
    const fields = ['a', 'b', 'c', 'd', 'e', 'f'].map((name): [string, string] => [name, name])
    const note = '(… 2 more values left out …)'
    const object = { ...Object.fromEntries(fields.slice(0, 4)), '…': note }
    expect(parsed([many, Object.fromEntries(fields)])[1]).toEqual(object)
    expect(parsed([many, new Map(fields)])[1]).toEqual(object)
    expect(parsed([many, new Set('abcdef')])[1]).toEqual(['a', 'b', 'c', 'd', note])
    // The same value counts again each time.
    const inner = many.slice(0, 1_000)
    const again = parsed(many.slice(0, 1_000).map(() => inner))
    expect(again.filter((one: unknown[]) => one.length === 1_000)).toHaveLength(999)
    expect(again.at(-1)).toBe('(…)')
  })

  it('H21 writes the beginning of very long texts in an object', () => {
    const [first, second] = JSON.parse(resultText(['x'.repeat(2 ** 24 - 2), 'y'.repeat(5)]))
    expect([first.length, second]).toEqual([2 ** 24 - 2, 'yy(… 3 more characters left out …)'])
    expect(resultText('x'.repeat(2 ** 24 + 1))).toHaveLength(2 ** 24 + 1)
  })

  it('H21 does not spell out a large Buffer just to leave it out', () => {
    const bytes = Buffer.alloc(3)
    let isAsked = false
    bytes.toJSON = () => {
      isAsked = true
      return { type: 'Buffer', data: [] }
    }
    const note = '(binary data, 3 bytes)'
    const holders = [{ bytes }, [bytes], new Map([['bytes', bytes]]), new Set([bytes]), { toJSON: () => ({ bytes }) }]
    expect(holders.map((holder) => JSON.parse(resultText(holder)))).toEqual([
      { bytes: note },
      [note],
      { bytes: note },
      [note],
      { bytes: note },
    ])
    expect(isAsked).toBe(false)
  })

  it('H21 equals JSON’s own text, every time', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = resultText(value)
        expect(resultText(structuredClone(value))).toBe(text)
        if (typeof value === 'object' && value !== null) expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})

const note = /\n\n\(… (\d+) of (\d+) bytes cut here …\)\n\n/

describe('capContent', () => {
  it('H22 keeps content that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.nat(100), (text, more) => {
        expect(capContent(text, bytesOf(text) + more)).toEqual({ content: text, cutBytes: 0 })
      }),
    )
  })

  it('H22 P2.9 keeps head and tail, whole characters, within the limit including its note, with correct numbers', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 300 }),
      fc.string({ unit: fc.constantFrom('a', 'é', '€', '🙂', '\n', '\ud83d', '\ude42'), minLength: 1, maxLength: 300 }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
    )
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 400 }), (given, most) => {
        const { content, cutBytes } = capContent(given, most)
        if (typeof content !== 'string') throw new Error('expected a text')
        if (bytesOf(given) <= most) {
          expect([content, cutBytes]).toEqual([given, 0])
          return
        }
        expect(bytesOf(content)).toBeLessThanOrEqual(most)
        const match = note.exec(content)
        if (match === null) {
          // There was no room for a note.
          expect(bytesOf(`\n\n(… ${bytesOf(given)} of ${bytesOf(given)} bytes cut here …)\n\n`)).toBeGreaterThan(most)
          expect(given.toWellFormed().startsWith(content)).toBe(true)
          expect(cutBytes).toBe(bytesOf(given) - bytesOf(content))
          return
        }
        const head = content.slice(0, match.index)
        const tail = content.slice(match.index + match[0].length)
        expect(given.toWellFormed().startsWith(head)).toBe(true)
        expect(given.toWellFormed().endsWith(tail)).toBe(true)
        expect(content.isWellFormed()).toBe(true)
        // At each of the two cuts, at most one character that would have fit is missing, and the unused digits of the note.
        expect(bytesOf(content)).toBeGreaterThanOrEqual(most - 6 - String(bytesOf(given)).length)
        expect([Number(match[1]), Number(match[2])]).toEqual([cutBytes, bytesOf(given)])
        expect(cutBytes).toBe(bytesOf(given) - bytesOf(head) - bytesOf(tail))
      }),
      { numRuns: 1000 },
    )
  })

  it('H22 keeps more of the head than of the tail', () => {
    const { content } = capContent(`${'h'.repeat(100)}${'t'.repeat(100)}`, 69)
    expect(content).toBe(`${'h'.repeat(20)}\n\n(… 170 of 200 bytes cut here …)\n\n${'t'.repeat(10)}`)
    expect(bytesOf(String(content))).toBe(69)
  })

  it('returns copies of the parts, in order', () => {
    const content: ContentPart[] = [
      { type: 'text', text: 'a' },
      { type: 'image', url: 'https://x/i.png' },
      { type: 'image', data: 'AA==', mediaType: 'image/png' },
      { type: 'file', data: 'AA==', mediaType: 'application/pdf', name: 'a.pdf' },
      { type: 'text', text: 'b' },
    ]
    const capped = capContent(content, 100)
    expect(capped).toEqual({ content, cutBytes: 0 })
    const [first] = capped.content
    expect(first).not.toBe(content[0])
  })

  it('H21 replaces lone surrogates in parts', () => {
    expect(capContent([{ type: 'text', text: '\ud800' }], 100).content).toEqual([{ type: 'text', text: '\ufffd' }])
  })

  it('H22 applies the limit to the texts of all parts together, with a note for the first cut and one for the rest', () => {
    const text = (length: number): ContentPart => ({ type: 'text', text: 'x'.repeat(length) })
    const image: ContentPart = { type: 'image', url: 'https://x/i.png' }
    expect(capContent([text(10), image, text(100), text(10), text(0), text(5), image], 83)).toEqual({
      content: [
        text(10),
        image,
        { type: 'text', text: 'xxxx\n\n(… 94 of 100 bytes cut here …)\n\nxx' },
        text(0),
        image,
        { type: 'text', text: '(… 15 bytes left out …)' },
      ],
      cutBytes: 109,
    })
    const many = capContent(
      Array.from({ length: 10_000 }, () => text(10)),
      100,
    )
    expect(many.content).toHaveLength(7)
    expect(many.content.at(-1)).toEqual({ type: 'text', text: '(… 99940 bytes left out …)' })
    expect(many.cutBytes).toBe(99_940)
  })

  it('H22 P2.9 never returns more text than allowed in parts, including notes', () => {
    const part = fc.string({ unit: anyCharacter, maxLength: 40 }).map((text): ContentPart => ({ type: 'text', text }))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 10 }), fc.integer({ min: 1, max: 100 }), (parts, most) => {
        const given = parts.reduce((sum, one) => sum + (one.type === 'text' ? bytesOf(one.text) : 0), 0)
        const { content, cutBytes } = capContent(parts, most)
        if (typeof content === 'string') throw new Error('expected parts')
        const shown = content.map((one) => (one.type === 'text' ? one.text : '')).join('')
        expect(bytesOf(shown)).toBeLessThanOrEqual(most)
        expect(cutBytes).toBeLessThanOrEqual(given)
        expect(cutBytes === 0).toBe(given <= most)
        const last = content.at(-1)
        const isNoted = last?.type === 'text' && /^\(… \d+ bytes left out …\)$/.test(last.text)
        if (isNoted || note.test(shown))
          expect(bytesOf(shown.replace(note, '').replace(/\(… \d+ bytes left out …\)$/, '')) + cutBytes).toBe(given)
      }),
    )
  })

  it('H22 limits pictures and documents to 320 times the text; smaller ones after a large one still fit', () => {
    const file = (size: number): ContentPart => ({ type: 'file', data: 'A'.repeat(size), mediaType: 'application/pdf' })
    const linked = (size: number): ContentPart => ({ type: 'image', url: `data:image/png;base64,${'A'.repeat(size - 22)}` })
    const { content, cutBytes } = capContent([file(24_000), linked(12_000), file(6_000), linked(2_400), file(1)], 120)
    expect(content).toEqual([
      file(24_000),
      linked(12_000),
      { type: 'text', text: '(file of 6000 base64 characters left out: too large)' },
      linked(2_400),
      { type: 'text', text: '(file of 1 base64 characters left out: too large)' },
    ])
    expect(cutBytes).toBe(6_001)
  })

  it('H22 keeps the first of very many parts, with a note for the rest', () => {
    const parts = Array.from(
      { length: 100_000 },
      (_, n): ContentPart => (n % 2 === 0 ? { type: 'text', text: 'x' } : { type: 'image', url: 'https://x/' }),
    )
    const { content, cutBytes } = capContent(parts, 65_536)
    expect(content).toHaveLength(257)
    expect(content.slice(0, 256)).toEqual(parts.slice(0, 256))
    expect(cutBytes).toBe((100_000 - 256) * 5.5)
  })

  it('H22 replaces a picture that is too large by a note', () => {
    const data = 'A'.repeat(21 * 1024 * 1024)
    expect(capContent([{ type: 'image', data, mediaType: 'image/png' }], 100)).toEqual({
      content: [{ type: 'text', text: `(image of ${data.length} base64 characters left out: too large)` }],
      cutBytes: data.length,
    })
  })
})
