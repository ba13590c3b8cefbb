import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redactTextInParts } from '../src/core/logger.ts'
import { hideParts, REDACTED, SecretTexts } from '../src/core/redaction/secret-texts.ts'

const hide = (text: string, secrets: SecretTexts) => hideParts(text, secrets.findIn(text))

/** The same, slowly: every character that is in an occurrence of a secret is hidden. */
function hideSlowly(text: string, secrets: readonly string[]): string {
  const hidden = new Array<boolean>(text.length).fill(false)
  const joined = new Array<boolean>(text.length).fill(false)
  for (const secret of secrets.flatMap((one) => [one, JSON.stringify(one).slice(1, -1)])) {
    for (let at = text.indexOf(secret); secret !== '' && at >= 0; at = text.indexOf(secret, at + 1)) {
      hidden.fill(true, at, at + secret.length)
      joined.fill(true, at + 1, at + secret.length)
    }
  }
  return [...hidden.keys()].map((at) => (!hidden[at] ? text[at] : joined[at] ? '' : REDACTED)).join('')
}

describe('secret texts', () => {
  it('are found wherever they are, also where they overlap', () => {
    const pieces = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\'), maxLength: 6 })
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 6 }), fc.array(pieces), (secrets, parts) => {
        const text = parts.join('')
        expect(hide(text, new SecretTexts(secrets))).toBe(hideSlowly(text, secrets))
      }),
      { numRuns: 1_000 },
    )
  })

  it('are found where they lie in two parts of a text that is searched in parts, whatever comes in between', () => {
    const secret = 'not to be seen'
    const secrets = new SecretTexts([secret])
    const border = 65_536
    for (let at = border - secret.length; at <= border; at++) {
      const text = `${'n'.repeat(at)}${secret}${'n'.repeat(border)}`
      const search = redactTextInParts(text, secrets)
      let parts = 1
      let step = search.next()
      for (; step.done !== true; step = search.next()) {
        parts++
        secrets.add(`another ${at} ${parts}`)
      }
      expect(parts).toBeGreaterThan(2)
      expect(step.value).toBe(text.replace(secret, REDACTED))
      expect(step.value).toBe(hide(text, secrets))
    }
  })

  it('of a text that goes on, the end is known that may belong to one', () => {
    const secrets = new SecretTexts(['abcab', 'bcd'])
    expect(['', 'x', 'xab', 'xabca', 'xabcd', 'bb', 'abcabc'].map((text) => secrets.unfinishedIn(text))).toEqual([0, 0, 2, 4, 3, 1, 6])
  })

  it('of a long one the beginning is enough, since errors quote no more', () => {
    const secret = `begin${'x'.repeat(1_000)}`
    const secrets = new SecretTexts([secret])
    expect(hide(`It is ${secret} and`, secrets)).toBe(`It is ${REDACTED} and`)
    expect(hide(`It is ${secret.slice(0, 200)}…`, secrets)).toBe(`It is ${REDACTED}`)
    expect([secrets.hiddenBehind(`It is ${secret.slice(0, 200)}`), secrets.hiddenBehind(`It is ${secret}`)]).toEqual([805, 0])
    const endless = new SecretTexts([secret.repeat(10)])
    expect(hide(`It is ${secret.repeat(10)} and`, endless)).toBe(`It is ${REDACTED}`)
  })

  it('that are too many, or too long together, hide everything', () => {
    for (const all of [
      Array.from({ length: 300 }, (_, at) => `secret${at}`),
      Array.from({ length: 200 }, (_, at) => `${at}${'"'.repeat(900)}`),
    ]) {
      const secrets = new SecretTexts(all)
      expect([secrets.isFull, hide('anything', secrets), hide('', secrets)]).toEqual([true, REDACTED, ''])
      expect([...secrets].length).toBeLessThanOrEqual(256)
    }
  })

  it('take time by the length of the text alone', () => {
    // Each is the beginning of the next, and the text is all of them at each of its characters.
    const secrets = new SecretTexts(Array.from({ length: 90 }, (_, at) => `${'a'.repeat(at + 3)}b`))
    const text = 'a'.repeat(2_000_000)
    const started = performance.now()
    expect(hide(text, secrets)).toBe(text)
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})
