import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonSecretsIn } from '../../src/core/redaction/named-values.ts'
import { redactText } from '../../src/core/redaction/redact.ts'
import { SecretTexts } from '../../src/core/redaction/secret-texts.ts'
import { hideParts } from '../../src/core/redaction/spans.ts'
import { atOnce } from '../../src/core/time/give-way.ts'
import { StreamedText } from '../../src/service/redaction/event-parts.ts'
import { leastCpuMs } from '../reference-pace.ts'

const hidden = (text: string, secretKeys: ReadonlySet<string> = new Set()) => hideParts(text, atOnce(jsonSecretsIn(text, secretKeys)))
const streamed = (pieces: readonly string[], secrets: readonly string[] = []) => {
  const text = new StreamedText(new SecretTexts(secrets))
  return [...pieces.map((piece) => text.add(piece)), text.end()]
}

describe('a text that comes in pieces', () => {
  const jwt = `eyJ${'a'.repeat(900)}.${'b'.repeat(900)}.${'c'.repeat(100)}`

  const texts = [
    'The key is sk-abcdefghijklmnop1234, keep it.',
    'AKIAABCDEFGHIJKLMNOP and ghp_abcdefghijklmnop1234',
    'Authorization: Bearer abcdef123456 and a bearer of bad news',
    'postgres://me:hunter22@host/db and https://example.com:80/x',
    `A long one, ${jwt}, and more`,
    'https://example.com/?access_token=abcDEF123&x=1 and API_KEY=abc-def; next',
    'Set-Cookie: sid=abc; Path=/\r\nAge: 1\n\npassword: hunter22\nuser: ann, password: swordfish\n',
    `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEow'.repeat(300)}\n-----END RSA PRIVATE KEY-----\nbehind it`,
    `{"user":"ann","password":"hun\\"ter","credentials":{"a":["${'x'.repeat(2_000)}"]},"n":1,"token":{"type":"string"}}`,
    'It is %73wordfish%2Dswordfish or &#115;wordfish&#45;swordfish or \\\\u0073wordfish-swordfish, 100% & more \\',
    Buffer.from('my swordfish-swordfish!').toString('base64'),
    `Run curl -sSu "ann:two words" https://x or curl -X POST --user=ann:hunter22; then mysql -phunter22 and sshpass -p hunter22 ssh or mysql -p'hunter22' or curl -u ann:"a;b" x`,
    `["curl","-u","ann:hunter22"] and ["login","--password","hunter22"] -u`,
    'plain: words = here, <b>bold</b> --- and `code`, 12:34 https://a.b/c?d=e&f=g&amp;h',
  ]

  it.each(texts)('X5 is shown as the whole would be, wherever it is cut: %.30s', (whole) => {
    const secrets = ['swordfish-swordfish']
    const expected = redactText(whole, secrets)
    for (const length of [1, 2, 3, 7, 50]) {
      const pieces = whole.match(new RegExp(`.{1,${length}}`, 'gs')) ?? []
      expect(streamed(pieces, secrets).join('')).toBe(expected)
    }
    for (let at = 1; at < Math.min(whole.length, 400); at++)
      expect(streamed([whole.slice(0, at), whole.slice(at)], secrets).join(''), `cut at ${at}`).toBe(expected)
  })

  it('X5 is shown as the whole would be, whatever it consists of', () => {
    const part = fc.constantFrom(
      ...[
        'swordfish-',
        'swordfish',
        'SWORD',
        'fish',
        '%',
        '%73',
        '%4',
        '1',
        '\\',
        '\\\\',
        'u00',
        '73',
        '"',
        "'",
        ' ',
        '  ',
        '\n',
        '&',
        '#',
        '&#x',
        '&amp',
        ';',
      ],
      ...[
        'password',
        'token',
        'pass',
        'Cookie',
        'Authorization',
        'key',
        ':',
        '=',
        ': ',
        ' = ',
        '--',
        '-',
        '--token',
        '?',
        'x=',
        '{',
        '}',
        '[',
        ']',
        ',',
        '<',
        '>',
        '/',
      ],
      ...[
        'Bearer',
        'basic ',
        'sk-',
        'AKIA',
        'eyJ',
        '.',
        'abcdefgh12345678',
        'abcdEFGH',
        'the word',
        '://',
        '@',
        'null',
        '-----BEGIN PRIVATE KEY-----',
        '-----END',
        '-----',
        '**',
        '$',
        '(',
        ')',
        '${',
        'pwd',
        '/home',
        'API ',
        '<a:',
        '</',
        '<![CDATA[',
        ']]>',
        'dXNlcjpw',
        ':80',
        '-x',
      ],
      ...['curl ', '-u ', ' -u', 'ann:', '--user', ' -p', 'mysql ', 'sshpass', ' -a ', 'http', 'redis-cli'],
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 24 }), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (parts, lengths) => {
        const whole = parts.join('')
        const pieces: string[] = []
        for (let at = 0, n = 0; at < whole.length; n++) {
          const length = lengths[n % lengths.length] ?? 1
          pieces.push(whole.slice(at, at + length))
          at += length
        }
        const secrets = ['swordfish-swordfish', 'fish1']
        expect(streamed(pieces, secrets).join('')).toBe(redactText(whole, secrets))
      }),
      { numRuns: 1_000 },
    )
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
      { numRuns: 300 },
    )
  })

  it('takes linear time', async () => {
    for (const unit of ['sk-', 'eyJ.', '%3', 'token=f(', 'Cookie: a ', "token=\\'< ", 'password: .']) {
      const text = `${unit.repeat(Math.ceil(100_000 / unit.length))}5 x`
      const compare = () => expect(streamed([text, ' y']).join('')).toBe(redactText(`${text} y`))
      expect(await leastCpuMs(1_000, compare), unit).toBeLessThan(1_000)
    }
  })

  it.each([511, 512, 513, 560, 561, 1_030])('X5 is shown as the whole would be if a value has %i characters', (length) => {
    for (const [before, end] of [
      ['password: ', ' x'],
      ['password: ', ',user=ann x'],
      ['password: ', ')).\nx'],
      ['a password: ', '\nx'],
      ['password=f(', ') x'],
      ["password: '", "' x"],
      ['curl -u ann:', ' x'],
      ['curl -u "ann:', '" x'],
      ['mysql -p', ')).\nx'],
      ["mysql -p'", "' x"],
      ["mysql -p'", ' x'],
      ["curl -u ann:'", "' x"],
      ['-p', ' x'],
      ['Cookie: sid=', '\nx'],
    ])
      for (const value of ['a'.repeat(length), 'ab1.'.repeat(length / 4)]) {
        const whole = `${before}${value}${end}`
        const expected = redactText(whole)
        const shown = (pieces: readonly string[]) => streamed(pieces).join('')
        for (let at = Math.max(1, whole.length - 80); at < whole.length; at++)
          if (shown([whole.slice(0, at), whole.slice(at)]) !== expected) expect.unreachable(`cut at ${at}: ${whole}`)
        expect(shown([...whole])).toBe(expected)
      }
  })

  it('holds back nothing that can’t be a secret', () => {
    const pieces = ['Hello wor', 'ld, 1', ', the word: ', 'it is "q', 'uoted" (2:1)']
    expect(streamed(pieces, ['swordfish'])).toEqual([...pieces, ''])
    // Only what a key may begin with waits for the next piece.
    expect(streamed(['The sk', 'y is b', 'lue'])).toEqual(['The ', 'sky is ', 'blue', ''])
  })

  it('hides a long secret whose beginning is known, and shows what follows', () => {
    const secret = Array.from({ length: 60 }, (_, at) => `part ${at} `).join('')
    expect(streamed([...`It is ${secret}!`], [secret]).join('')).toBe('It is [redacted]!')
  })
})

describe('a result in JSON', () => {
  const secret = { password: 'hun"ter\\', nested: { api_key: 12345, tokens: ['a'], token: ['x', { y: ']}' }] }, user: 'ann', secret: null }
  const shown = { password: '[redacted]', nested: { api_key: '[redacted]', tokens: ['a'], token: '[redacted]' }, user: 'ann', secret: null }

  it('has no values of secret-looking keys, however it is formatted', () => {
    for (const indent of [0, 2]) expect(hidden(JSON.stringify(secret, null, indent))).toBe(JSON.stringify(shown, null, indent))
    const wrapped = (value: object) => JSON.stringify({ body: JSON.stringify({ inner: JSON.stringify(value) }) })
    expect(hidden(wrapped(secret))).toBe(wrapped(shown))
    expect(hidden('{"pass\\u0077ord": "x"}')).toBe('{"pass\\u0077ord": "[redacted]"}')
  })

  it('shows no secret that is cut off, or is inside other text', () => {
    const text = `HTTP 200\n${JSON.stringify(secret)}`
    for (let length = 0; length < text.length; length++) expect(hidden(text.slice(0, length))).not.toMatch(/hun|12345|"x"|\]\}"/)
  })

  it('keeps everything else, and hides the keys that a tool names as secret', () => {
    const text = '{"maxTokens": 5, "a": "password: \\"b\\"", "pin": 1234}'
    expect(hidden(text)).toBe(text)
    expect(hidden(text, new Set(['pin']))).toBe('{"maxTokens": 5, "a": "password: \\"b\\"", "pin": "[redacted]"}')
  })

  it('of megabytes takes no longer than parsing them', async () => {
    for (const text of [
      '"'.repeat(1_000_000),
      '\\'.repeat(1_000_000),
      '"password":"\\'.repeat(100_000),
      `"password":${'['.repeat(1_000_000)}`,
    ]) {
      expect(await leastCpuMs(1_000, () => hidden(text))).toBeLessThan(1_000)
    }
  })
})
