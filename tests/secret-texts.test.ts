import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redactTextInParts } from '../src/core/redaction/redact.ts'
import { SecretTexts } from '../src/core/redaction/secret-texts.ts'
import { decidedPart, hideParts, REDACTED } from '../src/core/redaction/spans.ts'
import { StreamedText } from '../src/service/redaction/event-parts.ts'
import { leastCpuMs } from './reference-pace.ts'

const hide = (text: string, secrets: SecretTexts) => hideParts(text, secrets.findIn(text))

/** A slow reference: hides every character in an occurrence of a secret. */
function hideSlowly(text: string, secrets: readonly string[]): string {
  const hidden = new Array<boolean>(text.length).fill(false)
  const joined = new Array<boolean>(text.length).fill(false)
  for (const secret of secrets) {
    for (let at = text.indexOf(secret); secret !== '' && at >= 0; at = text.indexOf(secret, at + 1)) {
      hidden.fill(true, at, at + secret.length)
      joined.fill(true, at + 1, at + secret.length)
    }
  }
  return [...hidden.keys()].map((at) => (!hidden[at] ? text[at] : joined[at] ? '' : REDACTED)).join('')
}

const secret = 'S3cr/et wörd&"<\\😀-9'
const entity = (write: (code: number) => string) => [...secret].map((character) => write(character.codePointAt(0) ?? 0)).join('')
const units = (write: (unit: string) => string) =>
  secret
    .split('')
    .map((unit) => write(unit.charCodeAt(0).toString(16).padStart(4, '0')))
    .join('')
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const bytes = Buffer.from(secret)
const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
/** Ways to write a secret. */
const forms: [string, string][] = [
  ['as it is', secret],
  ['in upper case', secret.toUpperCase()],
  ['in lower case', secret.toLowerCase()],
  ['as a part of an address', encodeURIComponent(secret)],
  ['as a part of an address, in small letters', encodeURIComponent(secret).toLowerCase()],
  ['as a field of a form', new URLSearchParams({ a: secret }).toString().slice(2)],
  ['with every byte as in an address', percent],
  ['the same in capitals', percent.toUpperCase()],
  ['with every byte as in an address, twice', encodeURIComponent(percent)],
  ['as HTML', secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
  [
    'as HTML with other names',
    secret.replaceAll('&', '&amp;').replaceAll('/', '&sol;').replaceAll(' ', '&nbsp;').replaceAll('\\', '&bsol;'),
  ],
  ['as HTML in decimal numbers', entity((code) => `&#${code};`)],
  ['the same without semicolons, where another follows', `${entity((code) => `&#${code}`)} `],
  ['as HTML in hexadecimal numbers', entity((code) => `&#x${code.toString(16)};`)],
  ['the same in capitals and with zeros', entity((code) => `&#X000${code.toString(16).toUpperCase()};`)],
  ['as HTML of HTML', entity((code) => `&amp;#${code};`)],
  ['as JSON', json(secret)],
  ['as JSON with its slashes escaped', json(secret).replaceAll('/', '\\/')],
  ['as JSON of JSON', json(json(secret).replaceAll('/', '\\/'))],
  ['as JSON of JSON of JSON', json(json(json(secret)))],
  ['as JSON with every character escaped', units((code) => `\\u${code}`)],
  ['the same in capitals', units((code) => `\\u${code.toUpperCase()}`)],
  ['as JSON of JSON with every character escaped', units((code) => `\\\\u${code}`)],
  ['as JSON of a part of an address', json(encodeURIComponent(json(secret)))],
  ['in hexadecimal', bytes.toString('hex')],
  ['in hexadecimal capitals', bytes.toString('hex').toUpperCase()],
  ['in base64', bytes.toString('base64')],
  ['in base64 without padding', bytes.toString('base64').replaceAll('=', '')],
  ['in base64 behind another byte', Buffer.from(`x${secret}`).toString('base64')],
  ['in base64 behind two other bytes', Buffer.from(`xy${secret}z`).toString('base64')],
  ['in base64 for addresses', Buffer.from(`xyz${secret}z`).toString('base64url')],
  ['in base64 as a part of an address', encodeURIComponent(bytes.toString('base64'))],
  ['in base64 as JSON', bytes.toString('base64').replaceAll('/', '\\/')],
]

describe('secret texts', () => {
  it.each(forms)('X5 are found %s', (_, form) => {
    const secrets = new SecretTexts([secret])
    const shown = hide(`"before ${form} behind"`, secrets)
    expect(shown).toMatch(/^"before .{0,4}\[redacted\].{0,4} behind"$/)
    const text = new StreamedText(secrets)
    expect([...`"before ${form} behind"`].map((piece) => text.add(piece)).join('') + text.end()).toBe(shown)
  })

  it.each(['p@ss w"rd\\x', 'C:\\new\\table', '\\u0041bcdefg', 'a\\\\b"c/d\\', '100%41\\bc', 'abcdef\\u004'])(
    'X5 with backslashes are found with every character escaped: %s',
    (secret) => {
      const secrets = new SecretTexts([secret])
      const percent = [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
      const unicode = [...secret].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
      const html = [...secret].map((character) => `&#${character.charCodeAt(0)};`).join('')
      for (const form of [secret, json(secret), json(json(secret)), encodeURIComponent(secret), percent, unicode, json(unicode), html])
        expect(hide(`before ${form} behind`, secrets), form).toMatch(/^before .{0,5}\[redacted\].{0,5} behind$/)
    },
  )

  it('X5 are not found in text that is only similar', () => {
    const secrets = new SecretTexts(['swordfish', 'ab12', 'The'])
    for (const text of ['sword fish, swordfis', 'AB12, the, 61623132', Buffer.from('ab12').toString('base64'), '%61%62 &#97; \\u0061'])
      expect(hide(text, secrets)).toBe(text)
  })

  it('X5 are only found in their own case, literally and escaped, if they are short', () => {
    const secrets = new SecretTexts(['ab12', 'p"q'])
    expect(hide('ab12 AB12 %61b12 p"q p\\"q p\\\\\\"q', secrets)).toBe(`${REDACTED} AB12 ${REDACTED} ${REDACTED} ${REDACTED} ${REDACTED}`)
  })

  it('are found everywhere, even if they overlap', () => {
    const pieces = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 })
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 6 }), fc.array(pieces), (secrets, parts) => {
        const text = parts.join('')
        expect(hide(text, new SecretTexts(secrets))).toBe(hideSlowly(text, secrets))
      }),
      { numRuns: 1_000 },
    )
  })

  it('are found across two parts of a text that is searched in parts, whatever is in between', () => {
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

  it('tell which part of an incomplete text is final', () => {
    const secrets = new SecretTexts(['abcab', 'bcd', 'swordfish'])
    const decided = [
      '',
      'x',
      'xab',
      'xabca',
      'xabcd',
      'bb',
      'abcabc',
      'x sword',
      'x %73wor%6',
      'x &#115;w&#x6',
      'x \\\\u0073\\\\u00',
      'x 737',
    ]
    expect(decided.map((text) => decidedPart(secrets.lookAt(text)))).toEqual([0, 1, 1, 1, 2, 1, 0, 2, 2, 2, 2, 2])
  })

  it('are found by their start if they are long, because errors quote no more', () => {
    const secret = `begin${'x'.repeat(1_000)}`
    const secrets = new SecretTexts([secret])
    expect(hide(`It is ${secret} and`, secrets)).toBe(`It is ${REDACTED} and`)
    expect(hide(`It is ${secret.slice(0, 200)}…`, secrets)).toBe(`It is ${REDACTED}`)
    const encoded = Buffer.from(secret)
    for (const form of [encoded.toString('hex'), encoded.toString('base64url')])
      expect(hide(`It is ${form}! And`, secrets)).toBe(`It is ${REDACTED}! And`)
    expect(['', ' and'].map((end) => decidedPart(secrets.lookAt(`It is ${secret.slice(0, 200)}${end}`)))).toEqual([6, 6])
    const endless = new SecretTexts([secret.repeat(10)])
    expect(hide(`It is ${secret.repeat(10)} and`, endless)).toBe(`It is ${REDACTED}`)
  })

  it('hide everything if they are too many', () => {
    const secrets = new SecretTexts(Array.from({ length: 300 }, (_, at) => `secret${at}`))
    expect([secrets.isFull, hide('anything', secrets), hide('', secrets), [...secrets].length]).toEqual([true, REDACTED, '', 256])
  })

  it('take linear time in the length of the text', async () => {
    // Each is a prefix of the next, and the text starts all of them at each of its characters.
    const secrets = new SecretTexts(Array.from({ length: 90 }, (_, at) => `${'a'.repeat(at + 3)}b`))
    for (const unit of ['a', '%', '%25', '%61', '\\\\', '&', '&#97;', '&#x', '&amp;', '\\\\u0061', '\\\\u00', '%C3%A4']) {
      const text = unit.repeat(200_000 / unit.length)
      expect(await leastCpuMs(250, () => hide(text, secrets)), unit).toBeLessThan(250)
    }
  })
})
