import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wellFormed, wellFormedJson } from '../src/core/messages.ts'

const piece = fc.constantFrom('\ud83d', '\ude00', '\u{1f600}', '\\', '"', 'u', 'ud83d', '\\ud83d', '\n', 'a', '')
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, text, fc.integer(), fc.array(tie('value')), fc.dictionary(text, tie('value'))),
}))

describe('wellFormed', () => {
  it('F25 and wellFormedJson replace the same surrogates, and nothing else', () => {
    fc.assert(
      fc.property(value, (given) => {
        const json = JSON.stringify(given)
        expect(JSON.parse(wellFormedJson(json))).toEqual(JSON.parse(JSON.stringify(wellFormed(given))))
        expect(wellFormedJson(wellFormedJson(json))).toBe(wellFormedJson(json))
        // It escapes no other characters like this.
        expect(JSON.stringify(wellFormed(given)).replaceAll('\\\\', '')).not.toContain('\\ud')
      }),
    )
  })

  it('F25 returns a value without any unchanged', () => {
    const good = { a: ['\u{1f600}', { b: 1 }] }
    expect(wellFormed(good)).toBe(good)
  })

  it('F25 reads cut and malformed JSON as far as possible', () => {
    expect(wellFormedJson('{"a": "\\uD83D')).toBe('{"a": "\\ufffd')
    expect(wellFormedJson('{"a": "\\uD83D\\u')).toBe('{"a": "\\ufffd\\u')
    expect(wellFormedJson('{"a": "\\uD83D\\uDE00\\\\ud83d\\')).toBe('{"a": "\\uD83D\\uDE00\\\\ud83d\\')
    expect(wellFormedJson('\ud83d\\ude00')).toBe('\ufffd\\ufffd')
  })
})
