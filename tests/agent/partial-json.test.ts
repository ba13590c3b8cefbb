import { describe, expect, it } from 'vitest'
import { PartialJson } from '../../src/agent/output/partial-json.ts'
import { leastCpuMs } from '../reference-pace.ts'

const read = (...pieces: string[]) => {
  const json = new PartialJson()
  for (const piece of pieces) json.add(piece)
  return json.value
}

const documents: unknown[] = [
  { a: 1, b: [true, false, null, -1.5e-7, 'x'], c: { d: {}, e: [] }, '': 'empty key' },
  [[], [[]], [{ a: [{ b: 'deep' }] }]],
  { 'quote " and \\ and \n': '\u0000 " \\ / \b\f\n\r\t é 😀 \ud83d alone', emoji: ['👩‍👩‍👧', '\u{10ffff}'] },
  'a text alone',
  { long: 'x'.repeat(3_000), numbers: Array.from({ length: 200 }, (_, n) => n * 1.25) },
]

describe('JSON that arrives in pieces', () => {
  it('is the same as the whole, however it is cut', () => {
    for (const document of documents)
      for (const text of [JSON.stringify(document), JSON.stringify(document, null, 2), escaped(document)])
        for (const length of [1, 2, 3, 7, text.length]) {
          const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length))
          expect(read(...pieces)).toEqual(document)
        }
  })

  it('shows unfinished texts, lists and objects, and only finished numbers and words', () => {
    expect(read('{"city": "Ky')).toEqual({ city: 'Ky' })
    expect(read('{"city": "Kyoto", "deg')).toEqual({ city: 'Kyoto' })
    expect(read('{"city": "Kyoto", "degrees": 2')).toEqual({ city: 'Kyoto' })
    expect(read('{"degrees": 21, "sunny": tru')).toEqual({ degrees: 21 })
    expect(read('[1, [2, {"a": ["b')).toEqual([1, [2, { a: ['b'] }]])
    expect(read('  ')).toBeUndefined()
  })

  it('never shows half of an escape or of a character', () => {
    expect(read('"a\\')).toBe('a')
    expect(read('"a\\u00e')).toBe('a')
    expect(read('"a\\u00e', '9')).toBe('aé')
    expect(read('"a\\ud83d')).toBe('a')
    expect(read('"a\\ud83d', '\\ude00')).toBe('a😀')
    expect(read('"a\ud83d')).toBe('a')
    expect(read('"a\ud83d', '\ude00 b')).toBe('a😀 b')
  })

  it('is one object that grows', () => {
    const json = new PartialJson()
    json.add('{"a": [{"b": "x')
    const { value } = json
    json.add('y"}, 1]}')
    expect(json.value).toBe(value)
    expect(value).toEqual({ a: [{ b: 'xy' }, 1] })
  })

  it('is read up to the first error', () => {
    expect(read('{"a": 1, b: 2}')).toEqual({ a: 1 })
    expect(read('{"a": 1]', '"b": 2}')).toEqual({ a: 1 })
    expect(read('[1, 01, 2]')).toEqual([1])
    expect(read('[1, nil, 2]')).toEqual([1])
    expect(read('["a\\x", 2]')).toEqual(['a'])
    expect(read('["\\u12g4", 2]')).toEqual([''])
    expect(read('{"a": 1} {"b": 2}')).toEqual({ a: 1 })
    expect(read('certainly')).toBeUndefined()
  })

  it('has fields of any name, and changes no prototype', () => {
    const value = read('{"__proto__": {"polluted": tr', 'ue}, "constructor": "x", "__proto__": "te', 'xt"}')
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor'])
    expect(Object.getOwnPropertyDescriptor(value, '__proto__')?.value).toBe('text')
    expect({}).not.toHaveProperty('polluted')
  })

  it('costs the same for each character, even of a long text in the smallest pieces, or of deep nesting', async () => {
    const add = () => {
      const json = new PartialJson()
      json.add('{"text": "')
      for (let n = 0; n < 800_000; n++) json.add(n % 10 === 0 ? '\\n' : 'x')
      expect(json.value).toMatchObject({ text: expect.any(String) })
    }
    // Quadratic time would take minutes.
    expect(await leastCpuMs(2_000, add)).toBeLessThan(2_000)
    expect(() => read('['.repeat(300_000), '1', ']'.repeat(300_000))).not.toThrow()
  })
})

/** Every character of its texts as an escape. */
function escaped(document: unknown): string {
  const whole = (text: string) => text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return JSON.stringify(document).replace(/"((?:[^"\\]|\\.)*)"/g, (text) => `"${whole(JSON.parse(text))}"`)
}
