import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redactText } from '../../src/core/logger.ts'
import { hideSecretValues } from '../../src/core/redaction/json-secrets.ts'
import { SecretTexts } from '../../src/core/redaction/secret-texts.ts'
import { atOnce } from '../../src/core/time/in-parts.ts'
import { StreamedText } from '../../src/service/runs/streamed-text.ts'

const hidden = (text: string, secretKeys?: ReadonlySet<string>) => atOnce(hideSecretValues(text, secretKeys))
const streamed = (pieces: readonly string[], secrets: readonly string[] = []) => {
  const text = new StreamedText(new SecretTexts(secrets))
  return [...pieces.map((piece) => text.add(piece)), text.end()]
}

describe('a text that comes in pieces', () => {
  const jwt = `eyJ${'a'.repeat(900)}.${'b'.repeat(900)}.${'c'.repeat(100)}`

  it.each([
    'The key is sk-abcdefghijklmnop1234, keep it.',
    'AKIAABCDEFGHIJKLMNOP and ghp_abcdefghijklmnop1234',
    'Authorization: Bearer abcdef123456 and a bearer of bad news',
    'postgres://me:hunter22@host/db and https://example.com:80/x',
    `A long one, ${jwt}, and more`,
  ])('shows nothing that the whole hides, wherever it is cut: %.30s', (whole) => {
    for (const length of [1, 2, 3, 7]) {
      const pieces = whole.match(new RegExp(`.{1,${length}}`, 'gs')) ?? []
      const shown = streamed(pieces).join('')
      // By what a token is known for one may be shown before it is known.
      expect(
        shown
          .replace(/\w{1,6} ?(?=\[)/g, (mark) => (/^(sk?|AKI?A?|gh?p?|ey?J?|Bear?e?r?)$/.test(mark) ? '' : mark))
          .replaceAll('[redacted][redacted]', '[redacted]'),
      ).toBe(redactText(whole))
    }
  })

  it('shows nothing of a known secret, wherever it is cut', () => {
    const unit = fc.constantFrom('a', 'b', 'c', '"')
    const words = fc.array(fc.string({ unit, minLength: 1, maxLength: 5 }), { maxLength: 4 })
    const pieces = fc.array(fc.string({ unit, maxLength: 6 }))
    fc.assert(
      fc.property(words, pieces, (secrets, all) => {
        const shown = streamed(all, secrets).join('')
        for (const secret of secrets) for (const part of shown.split('[redacted]')) expect(part).not.toContain(secret)
        expect(redactText(all.join(''), secrets) === all.join('')).toBe(shown === all.join(''))
      }),
      { numRuns: 1_000 },
    )
  })

  it('holds back nothing of what can’t be a secret', () => {
    expect(streamed(['Hello wor', 'ld, sk', 'y is b', ' (2:1)'], ['swordfish'])).toEqual(['Hello wor', 'ld, sk', 'y is b', ' (2:1)', ''])
  })

  it('hides a long secret whose beginning is known, and shows what follows', () => {
    const secret = 'swordfish-'.repeat(40)
    expect(streamed([...`It is ${secret}!`], [secret]).join('')).toBe('It is [redacted]!')
  })
})

describe('a result in JSON', () => {
  const secret = { password: 'hun"ter\\', nested: { api_key: 12345, tokens: ['a'], token: ['x', { y: ']}' }] }, user: 'ann', secret: null }
  const shown = { password: '[redacted]', nested: { api_key: '[redacted]', tokens: ['a'], token: '[redacted]' }, user: 'ann', secret: null }

  it('has no values of secret-looking keys, however it is written', () => {
    for (const indent of [0, 2]) expect(hidden(JSON.stringify(secret, null, indent))).toBe(JSON.stringify(shown, null, indent))
    const wrapped = (value: object) => JSON.stringify({ body: JSON.stringify({ inner: JSON.stringify(value) }) })
    expect(hidden(wrapped(secret))).toBe(wrapped(shown))
    expect(hidden('{"pass\\u0077ord": "x"}')).toBe('{"pass\\u0077ord": "[redacted]"}')
  })

  it('has none where it is cut off, or stands inside of other text', () => {
    const text = `HTTP 200\n${JSON.stringify(secret)}`
    for (let length = 0; length < text.length; length++) expect(hidden(text.slice(0, length))).not.toMatch(/hun|12345|"x"|\]\}"/)
  })

  it('keeps everything else, and the keys a tool names are secret ones', () => {
    const text = '{"maxTokens": 5, "a": "password: \\"b\\"", "pin": 1234}'
    expect(hidden(text)).toBe(text)
    expect(hidden(text, new Set(['pin']))).toBe('{"maxTokens": 5, "a": "password: \\"b\\"", "pin": "[redacted]"}')
  })

  it('of megabytes takes no longer than reading them', () => {
    for (const text of [
      '"'.repeat(1_000_000),
      '\\'.repeat(1_000_000),
      '"password":"\\'.repeat(100_000),
      `"password":${'['.repeat(1_000_000)}`,
    ]) {
      const started = performance.now()
      hidden(text)
      expect(performance.now() - started).toBeLessThan(2_000)
    }
  })
})
