import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidOptionError, ModelError } from '../src/core/errors.ts'
import { createLogger, type Logger, redacting } from '../src/core/logger.ts'
import { redact, redactText, secretTexts } from '../src/core/redaction/redact.ts'
import { REDACTED } from '../src/core/redaction/spans.ts'
import { hostileValues } from './hostile-values.ts'
import { leastCpuMs } from './reference-pace.ts'

/** Made-up credentials in the shape of real ones. */
const tokens = [
  'sk-proj-abcdEFGH1234abcdEFGH1234',
  'sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa',
  'sk_live_51Habcdefghijklmnop',
  'xai-0123456789abcdefghij',
  'gsk_0123456789abcdefghij',
  'ghp_0123456789abcdefghijABCDEFGHIJ012345',
  'github_pat_0123456789abcdefghij',
  'glpat-0123456789abcdefghij',
  'xoxb-123456789012-abcdefghijkl',
  'hf_abcdefghijklmnopqrstuv',
  'npm_abcdefghijklmnopqrstuv',
  'AIzaSyA0123456789abcdefghijklmnopqrstuv',
  'AKIAIOSFODNN7EXAMPLE',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  'Bearer abcdefgh12345678',
  'Bearer my-token-without-digits',
  'bearer abcdefgh12345678',
  'Basic dXNlcjpwYXNzd29yZA==',
]

describe('redactText', () => {
  it.each(tokens)('removes %s, wherever it is', (token) => {
    expect(redactText(token)).toBe(REDACTED)
    for (const [before, after] of [
      ['key: ', ' rest'],
      ['"', '"'],
      ['?key=', '&x=1'],
      ['(', ')'],
      ['\n', '\n'],
    ]) {
      expect(redactText(`${before}${token}${after}`)).toBe(`${before}${REDACTED}${after}`)
    }
  })

  it('removes the password of a URL and keeps the rest', () => {
    expect(redactText('postgres://app:hunter22@db:5432/x and https://a:b@c')).toBe(
      `postgres://app:${REDACTED}@db:5432/x and https://a:${REDACTED}@c`,
    )
    expect(redactText('http://host:8080/path@2x')).toBe('http://host:8080/path@2x')
  })

  it.each([
    'tokens: 5, maxTokens: 100, totalTokens=7',
    'author Basic understanding of bearer instruments, and authorization',
    'task-runner-for-everything risk-assessment-of-the-year skip-the-validation-step skills-sandbox-executor',
    'the key is under the mat; ask-for-a-secret; passwords are hard',
    'hfabcdefghijklmnopqrstuvwxyz gskabcdefghijklmnopqrstuvwxyz',
    'eyJ eyJust-a-word.and-another',
    'https://example.com/a/b:c@d',
    'Basic information',
    'user@example.com: call me',
    'run_3f0c2c1e-6d6b-4b7e-9f0a-2f8f0a7c9f10 call_abcdefghijklmnopqrstuvwx',
  ])('leaves ordinary words alone: %s', (text) => {
    expect(redactText(text)).toBe(text)
  })

  it('removes every given text, also as JSON quotes it, and of two the longer first', () => {
    expect(redactText('pin 1234 and 123456', ['1234', '123456', ''])).toBe(`pin ${REDACTED} and ${REDACTED}`)
    const secret = 'line\n"two"'
    expect(redactText(`plain ${secret} quoted ${JSON.stringify({ secret })}`, [secret])).toBe(
      `plain ${REDACTED} quoted {"secret":"${REDACTED}"}`,
    )
    expect(redactText('a$&b', ['$&'])).toBe(`a${REDACTED}b`)
  })

  it('takes linear time for everything that an attacker may make long', async () => {
    const units = [
      'sk-',
      'eyJ-',
      'eyJaaaaaaaa.',
      'eyJaaaaaaaa-',
      'Bearer ',
      `Bearer${' '.repeat(60)}`,
      'bearer\n',
      '://a:',
      '://:',
      'a:',
      ':',
      '@',
      'AIza',
      'xoxb-',
      '-----BEGIN PRIVATE KEY-----',
      'password:',
      'password: ',
      "password='",
      '"password":"\\',
      '"password":{',
      'password=a,b',
      '<password>',
      '--token x',
      'token=f(',
      "token=\\'< ",
      "token='${",
      'token=(',
      'token=< ',
      '--token f(',
      'curl -u ',
      'curl -u a:',
      'curl -u "a:',
      '-u (',
      '-pa(',
      'mysql -pX(',
      "mysql -p'X",
      "curl -u a:'",
      '-u ',
      '<password x',
      '<password>${',
      'x>',
      '**token**:',
      'basic dXNl',
      'basic dXNl ',
      'Cookie: a=',
      'Cookie: a ',
      'Authorization: ',
      '=',
      '%',
      '%25',
      '&#',
      '\\',
      '\\u00',
      ' ',
      'a',
    ]
    // A quadratic pattern takes many seconds for a text of this length.
    const cost = (text: string) => leastCpuMs(500, () => redactText(text))
    for (const unit of units) expect(await cost(unit.repeat(Math.ceil(125_000 / unit.length))), JSON.stringify(unit)).toBeLessThan(500)
    for (const mark of ['.', ')', 'a.']) expect(await cost(`password: ${mark.repeat(60_000)}x`), mark).toBeLessThan(500)
  })

  it('removes all of a long value', () => {
    for (const value of ['ab1'.repeat(4_000_000), 'a'.repeat(10_000)]) {
      expect(redactText(`password: ${value}.\nuser: ann`)).toBe(`password: ${REDACTED}.\nuser: ann`)
      expect(redactText(`Cookie: sid=${value}\nuser: ann`)).toBe(`Cookie: ${REDACTED}\nuser: ann`)
      expect(redactText(`password: '${value}'; user: ann`)).toBe(`password: '${REDACTED}'; user: ann`)
    }
  })

  it.each([
    ['%3', '5'],
    ['%2', '5%61'],
    ['&amp', ';'],
    ['\\x5', 'c'],
  ])('X5 reads nested escapes, however many: %s…%s', (unit, end) => {
    const text = `${unit.repeat(100_000)}${end}`
    expect(redactText(text)).toBe(text)
    expect(redact(text)).toBe(text)
    expect(redact({ text })).toEqual({ text })
    expect(redactText(`password: hunter22 ${text}`)).toContain(`password: ${REDACTED} `)
  })

  it.each<[shown: string, rest: string | string[]]>([
    ['password: …', ['hunter22', 'swordfish', '1234567']],
    ['Password = …', ['hunter22', '"two words"', "'two words'"]],
    ['user: ann, password: …\n', 'hunter22'],
    ['db_password: …\nuser: x', 'swordfish'],
    ['The password: …!', 'hunter22'],
    ['PASSWORD=… DEBUG=1', ['p@ss,w;rd&x', 'swordfish']],
    ['export OPENAI_API_KEY=…', 'abcdef'],
    ['https://h/p?access_token=…&x=1', ['abc', 'a.b', 'a%2Bb']],
    ['https://h/p?x=1&sig=…', 'abc%2Bdef'],
    ['https://h/p#access_token=…', 'ab.cd'],
    ['/p?X-Amz-Signature=…', 'abcdef'],
    ['access_token%3D…', 'abc'],
    ['Cookie: …', 'sid=abc; theme=dark'],
    ['Set-Cookie: …\r\nAge: 1', 'sid=abc; Path=/'],
    ['Cookie: …\\r\\nAge: 1', 'sid=abc'],
    ["curl -H 'Cookie: …' https://x", 'sid=abc'],
    ['Authorization: Bearer …', 'abc'],
    ['authorization: token …', 'abcdef'],
    ['Authorization: Digest …', 'username="ann", response="6629"'],
    ["curl -H 'Proxy-Authorization: Basic …' x", 'YWJj'],
    ['x-api-key: …', ['swordfish', 'abcdef12345']],
    ['curl -H "x-api-key: …" https://x', 'swordfish'],
    ['curl -H \\"x-api-key: …\\" https://x', 'swordfish'],
    ["curl --header='api-key: …'", 'swordfish'],
    ['`x-api-key: …`', 'swordfish'],
    ['login --password … --verbose', ['hunter22', '"two words"']],
    ['login --api-key=…', 'abc'],
    ['<password>…</password>', 'two words'],
    ['Server=x;Pwd=…;Database=d', 'hunter'],
    ['AccountKey=…;EndpointSuffix=x', 'abc+/=='],
    ['//registry.npmjs.org/:_authToken=…', 'abcdef'],
    ['{"password":…}', ['"hunter22"', '"hun\\"ter"', '{"a":["b"]}']],
    ['error 400: {"user":"ann","api_key":…,"n":1}', ['"abc"', '12345']],
    ["{'password': '…'}", 'two words'],
    ['{password: …}', '"two words"'],
    ['"password" => …', '"hunter22"'],
    ['redis://:…@host', 'hunter22'],
    ['postgres://me:…@host/db', 'p@ss'],
    ['https://hooks.slack.com/services/…', 'T000/B000/XXXXXXXXXXXXXXXX'],
    ['123456789:…', 'AAabcdefghijklmnopqrstuvwxyz0123456'],
    ['%22password%22%3A…', '%22hunter22%22'],
    ['&quot;password&quot;:…', '&quot;hunter22&quot;'],
    ['x … y', '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----'],
    ['x …', '-----BEGIN PRIVATE KEY-----\\nMIIE'],
    ['x … y', 'bearer%20abcdefgh12345678'],
    ['x … y', ['Basic dXNlcjpwYXNzd29yZA==', 'basic dXNlcjpwYXNzd29yZA', 'Basic dXNlcjpwYXNz']],
    [
      'DB_PASSWORD=…',
      [
        '$ecretPa55w0rd',
        '(8fK2#mQ9xL',
        '[8fK2mQ9xL',
        '{8fK2mQ9xL',
        'k9f(3jd83kQ',
        'a9${3jd83kQ',
        '%8fK2mQ9xL',
        '$8FK2MQ9XL',
        'config.8fK2mQ9x',
      ],
    ],
    ["password: '…'", ['$ecretPa55w0rd', '(8fK2#mQ9xL', '<8fK2mQ9xL', 'config.secretValue', 'f(x)']],
    ['password: …\nuser: (ann)', ['<8fK2mQ9xL', '(8fK2#mQ9xL']],
    ['SECRET=…', ['/8fK2mQ9xL.ab3', '/8fK2mQ9xL.abc', '~/8fK2mQ9.ab3']],
    ['Pwd=…', ['hunter22', 'a/b/c']],
    ['login --token …', ['abcdefghijklmnop', 'swordfish']],
    ['login --token …\n', 'swordfish'],
    ['login --password … --verbose', 'swordfish'],
    ['login --password … -v', 'swordfish'],
    ['"login --password …"', 'swordfish'],
    ['<wsse:Password Type="x">…</wsse:Password>', ['s3cr3tpass1', 'two words']],
    ['<password type="t">…</password>', 'swordfish'],
    ['<soap:password>…</soap:password>', 'swordfish'],
    ['<password><![CDATA[…]]></password>', ['swordfish', 'two words']],
    ['&lt;password type=&quot;t&quot;&gt;…&lt;/password&gt;', 'swordfish'],
    ['**Password:** …', ['hunter2x9', 'swordfish']],
    ['- **Password**: …', ['hunter2x9', 'swordfish']],
    ['__Password:__ …', 'hunter2x9'],
    ['**API key:** …', 'abc123def456'],
    ['Secret access key: …', 'abc123def456'],
    ['curl -u ann:… https://x', ['hunter22', 'swordfish', '/ab12', 'ann', '1234']],
    ['curl -sSfu "ann:…" https://x', ['hunter22', 'two words']],
    ["curl -X POST -u 'ann:…' https://x", ['hunter22', 'a"b c']],
    ['curl -uann:… https://x', 'hunter22'],
    ['curl -u :… https://x', 'hunter22'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: of a shell
    ['curl -u "${NAME}:…" https://x', 'hunter22'],
    ['curl --user=ann:… --proxy-user bob:$PROXY x', 'hunter22'],
    ['curl -x p:80 -U ann:… https://x', 'hunter22'],
    ['fetch --user ann:…; next', 'hunter22'],
    ['{"command":"curl -u ann:… https://x"}', 'hunter22'],
    ['["curl","-u","ann:…","https://x"]', 'hunter22'],
    ['["login", "--password", "…", "--token", "-v"]', 'hunter22'],
    ['sshpass -p … ssh me@host', 'hunter22'],
    ['sshpass -p… ssh me@host', 'hunter22'],
    ['mysql -u root -p… shop', 'hunter22'],
    ['mysqldump --host=db -p… | gzip', 'hunter22'],
    ["mysql -u root -p'…' shop", ['hunter22', 'a;b&c|d']],
    ['sshpass -p"…" ssh me@host', 'hunter22'],
    ["curl -u'ann:…' https://x", 'hunter22'],
    ["curl -u ann:'…' https://x", ['hunter22', 'a;b&c|d']],
    ['curl --user=ann:"…" https://x', 'hunter22'],
    ['{"command":"mysql -p\'…\' shop"}', 'hunter22'],
    ['redis-cli -h db -a … ping', 'hunter22'],
    ['docker login -u me -p … registry.example.com', 'hunter22'],
    ['http -a ann:… GET example.com', 'hunter22'],
  ])('X5 removes a value in the place of a secret: %s', (shown, rest) => {
    for (const secret of [rest].flat()) {
      const found = redactText(shown.replace('…', secret))
      expect([/\[redacted\]/g, /(["'])\[redacted\]\1/g].map((hidden) => found.replaceAll(hidden, '…'))).toContain(shown)
      expect(found).toContain(REDACTED)
    }
  })

  it.each([
    'The password: it is required, and has at least 8 characters. Token: none',
    'Enter the password: then press return. The secret: practice',
    'password: string, token?: string; apiKey: process.env.KEY, secret: true',
    'const token = await getToken(); const key = settings.apiKey; if (password === "flags") f(token)',
    '{"type":"object","properties":{"password":{"type":"string","minLength":8},"n":{"$ref":"#/x"}},"required":["password"]}',
    'Authorization: Basic understanding of bearer instruments. `Authorization: Bearer`, and `token: <token>`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: of a shell
    'API_KEY=${KEY} PASSWORD=<your-password> token: *** see https://x/?page=2&tokens=5, maxTokens=100',
    'console.log("Token:", token); user:<token> or model:<name>; `credentials`: Configures the header',
    'npm-install-size-image, basic JavaScript types, npm_config_registry, keys: a, b; the key: value pairs',
    'cookie: a small file; Cookies: we use some; token::new and std::token::x',
    'basic input/output, Basic HTML/CSS page, basic C++/Rust, basic authentication/authorization',
    'PWD=/home/me/project pwd: /home/me/project, pwd=~/project, pwd: ./project and ../project',
    'PWD=C:\\Users\\me',
    "pwd: '/home/me/project'",
    'http://localhost:8080?user=me@x.com and https://api:8443#me@x',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: of a shell
    'TOKEN=$TOKEN PASSWORD=${PASSWORD:-none} SECRET=$(cat file2) API_KEY=%KEY% password=$dbPassword token=%s token=[MASK1]',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: of a workflow
    'token: ${{ secrets.TOKEN2 }}, password={{ password2 }}, password: <your password2>, token=<TOKEN2>',
    "token=f(a2, b) password=get2('x') token=list2[0] secret=(a2) token: {",
    'token=createToken2(\nconst next = 1',
    'const credential = identity.fromX509({\n  keys }',
    'password=./key2.pem token=/run/secrets/db2.txt secret=~/secrets/db.p12 secret=/key.pem',
    "Unexpected token: '<' or '=>'",
    'use --password instead of -p; --token is optional; with --token TOKEN --password PASSWORD',
    'a **Password:** *required* and a **Token:** is a piece of text; **API key:** none',
    'docker run -u 1000:1000 x; docker exec -u www-data:www-data app; rsync -u host:/home/me .; sudo -u me ls; git push -u origin a:b',
    'curl -u "$USER:$PASSWORD" x; curl -u user:password x; curl --user <user>:<password> x; curl -u name: x; curl -u name x',
    'ssh -p 2222 host; mkdir -p a/b; mysql -p shop; cp -a one two; docker run -p 8080:80 x; systemctl --user daemon-reload; ls -a:',
    '{"a":"mysql -p","b":"sshpass -p"},{"a":"curl -u ann:"},{"a":"curl -u ann:","b":"x"}; with "mysql -p". Then "curl -u ann:" asks "you"',
    'pip install --user git+https://example.com/x; the options -u, -p and -a: each is short; `-u`: update',
    '<label for="password">Password</label><input type="password"><token-list class="x">one</token-list>',
  ])('X5 leaves sentences, code and schemas alone: %s', (text) => {
    expect(redactText(text)).toBe(text)
    expect(redactText(JSON.stringify({ text }))).toBe(JSON.stringify({ text }))
  })

  it('X5 treats an entity that HTML does not have as text, even one with the name of an object’s field', () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'nbsp', 'none', '#', '#x', '#xffffffff', '#xd800']
    const text = names.map((name) => `&${name}; &${name} `).join('')
    expect(redactText(text, ['a-secret-of-mine'])).toBe(text)
  })

  it('returns a text without secrets unchanged', () => {
    fc.assert(fc.property(fc.string({ maxLength: 7 }), (text) => redactText(text) === text))
  })
})

describe('redact', () => {
  const secret = 'hunter22'

  it.each(
    `apiKey api_key API-KEY apikey x-api-key authorization Authorization proxy-authorization cookie Set-Cookie password passwd passphrase pwd secret client_secret clientSecret token access_token accessToken refreshToken id_token sessionToken credentials privateKey private_key secretAccessKey AWS_SECRET_ACCESS_KEY connectionString OPENAI_API_KEY openaiApiKey dbPassword DB_PASSWORD githubToken GITHUB_TOKEN slack.token webhookSecret signing_key encryptionKey password1 OPENAI_API_KEY_2 apiKey2 github-token-10`.split(
      ' ',
    ),
  )('H16 hides the value of `%s`', (key) => {
    expect(redact({ [key]: secret, other: 1 })).toEqual({ [key]: REDACTED, other: 1 })
    for (const value of [{ nested: secret }, [secret], 12345, true, '']) expect(redact({ [key]: value })).toEqual({ [key]: REDACTED })
    for (const value of [null, undefined]) expect(redact({ [key]: value })).toEqual({ [key]: value })
  })

  it.each(
    `tokens maxTokens max_tokens totalTokens inputTokens tokenCount token_type author authority authorized key primaryKey publicKey keys passed bypass secretary passwordless cookies_enabled idempotencyKey stack message toolCallId tokens2 key1 step1`.split(
      ' ',
    ),
  )('shows the value of `%s`', (key) => {
    expect(redact({ [key]: 5 })).toEqual({ [key]: 5 })
    expect(redact({ [key]: 'word' })).toEqual({ [key]: 'word' })
  })

  it('H16 at any depth: objects, arrays, Maps, Sets, errors and their causes', () => {
    const cause = Object.assign(new Error(`no: ${tokens[0]}`), { config: { headers: { Authorization: 'x' } } })
    const value = {
      list: [{ password: secret }, [[{ token: secret }]]],
      map: new Map<unknown, unknown>([
        ['apiKey', secret],
        ['in', new Map([['secret', secret]])],
        [1, tokens[1]],
        [{ k: secret }, 'v'],
      ]),
      set: new Set([tokens[2], { cookie: secret }]),
      error: new Error(`outer ${tokens[3]}`, { cause }),
      many: new AggregateError([Object.assign(new Error('one'), { token: secret })], 'many'),
      [`key ${tokens[4]}`]: 1,
    }
    const text = JSON.stringify(redact(value))
    for (const hidden of [secret, ...tokens.slice(0, 5)]) expect(text).not.toContain(hidden)
    expect(redact(value)).toMatchObject({
      list: [{ password: REDACTED }, [[{ token: REDACTED }]]],
      map: { apiKey: REDACTED, in: { secret: REDACTED }, 1: REDACTED, '[object]': 'v' },
      set: [REDACTED, { cookie: REDACTED }],
      error: {
        name: 'Error',
        message: `outer ${REDACTED}`,
        stack: expect.stringContaining('log.test.ts'),
        cause: { config: { headers: { Authorization: REDACTED } } },
      },
      many: { errors: [{ message: 'one', token: REDACTED }] },
    })
  })

  it('X5 in lists of the words of a command line', () => {
    const words = (line: string) => redact({ args: line.split(' ') })
    for (const line of [
      'curl -u ann:hunter22 https://x',
      'curl -uann:hunter22 https://x',
      '-s --user ann:hunter22 https://x',
      '--user=ann:hunter22',
      'login --password hunter22 -v',
      'login --api-key=hunter22',
      'sshpass -p hunter22 ssh host',
      'mysql -phunter22 shop',
    ])
      expect(words(line), line).toEqual({ args: line.replace('hunter22', REDACTED).split(' ') })
    expect(redact(['-u', 'ann:two words', 'ann:two words'])).toEqual(['-u', `ann:${REDACTED}`, 'ann:two words'])
    expect(redact(['--password', { password: secret }, 3, '--token', '-v', '--token', '$TOKEN'])).toEqual([
      ...['--password', { password: REDACTED }, 3, '--token', '-v', '--token', '$TOKEN'],
    ])
    for (const line of ['docker run -u 1000:1000 x', 'ssh -p 2222 host', 'curl -u name x', 'a --user -x'])
      expect(words(line), line).toEqual({ args: line.split(' ') })
  })

  it('cuts cycles and deep nesting; shows the same object twice if it occurs twice', () => {
    const shared = { a: 1 }
    const circular: Record<string, unknown> = { one: shared, two: shared, list: [] }
    circular.self = circular
    circular.list = [circular]
    expect(redact(circular)).toEqual({ one: { a: 1 }, two: { a: 1 }, self: '[circular]', list: ['[circular]'] })
    const error = new Error('own cause')
    error.cause = error
    expect(redact(error)).toMatchObject({ message: 'own cause', cause: '[circular]' })
    let deep: object = { password: secret }
    for (let i = 0; i < 30; i++) deep = { deep }
    const shown = JSON.stringify(redact(deep))
    expect(shown).toContain('[too deep]')
    expect(shown).not.toContain(secret)
  })

  it('uses an object’s toJSON, as the log would, and hides secrets in its result', () => {
    expect(redact({ toJSON: () => ({ password: secret, at: 'x' }) })).toEqual({ password: REDACTED, at: 'x' })
    expect(redact(new URL('https://user:hunter22@host/'))).toBe(`https://user:${REDACTED}@host/`)
    const own = { a: 1, toJSON: (): unknown => own }
    expect(redact(own)).toEqual({ a: 1 })
    expect(redact(new InvalidOptionError('apiKey', 'a text', 7))).toMatchObject({ code: 'invalid_option', stack: expect.any(String) })
    expect(redact(new ModelError('unauthorized', `key ${tokens[0]}`, { provider: 'p', retryable: false }))).toMatchObject({
      message: `key ${REDACTED}`,
      provider: 'p',
    })
  })

  it('describes values that JSON does not have', () => {
    expect(
      redact({
        big: 1n,
        date: new Date(0),
        bad: new Date(Number.NaN),
        bytes: Buffer.from('abc'),
        buffer: new ArrayBuffer(4),
        no: undefined,
        n: Number.NaN,
      }),
    ).toEqual({
      big: '1n',
      date: '1970-01-01T00:00:00.000Z',
      bad: 'Invalid Date',
      bytes: '[3 bytes]',
      buffer: '[4 bytes]',
      no: undefined,
      n: Number.NaN,
    })
  })

  it('accepts the caller’s own keys and texts too', () => {
    expect(redact({ pin: 1234, deep: { pin: '1' }, said: 'my pin is 1234' }, new Set(['pin']), ['1234'])).toEqual({
      pin: REDACTED,
      deep: { pin: REDACTED },
      said: `my pin is ${REDACTED}`,
    })
  })

  it('loses only the field whose getter throws', () => {
    const value = Object.defineProperty({ kept: 1 }, 'bad', {
      enumerable: true,
      get() {
        throw new Error('no')
      },
    })
    expect(redact(value)).toEqual({ kept: 1, bad: '[unreadable]' })
  })

  it.each(hostileValues())('never throws and returns a value that can be written: %s', (_, value) => {
    expect(() => JSON.stringify(redact(value))).not.toThrow()
    expect(() => JSON.stringify(redact({ value }))).not.toThrow()
  })

  it('does not change its input, and keeps `__proto__` as a field', () => {
    const value = JSON.parse('{"__proto__":{"password":"x"},"password":"y","list":["sk-abcdefghijklmnopqrst"]}')
    const before = structuredClone(value)
    const clean = redact(value)
    expect(value).toEqual(before)
    expect(JSON.stringify(clean)).toBe(`{"__proto__":{"password":"${REDACTED}"},"password":"${REDACTED}","list":["${REDACTED}"]}`)
  })

  it('lets no secret survive, wherever it is', () => {
    const leaf = fc.oneof(fc.constant(secret), fc.integer(), fc.constant(null))
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        leaf.map((item) => ({ password: item })),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'dbPassword', 'b', 'token'), tie('any'), { maxKeys: 3 }),
        tie('any').map((item) => new Map([['k', item]])),
        tie('any').map((item) => new Error('x', { cause: item })),
      ),
    })).any
    fc.assert(fc.property(value, (item) => !JSON.stringify(redact(item)).includes(secret)))
  })
})

describe('secretTexts', () => {
  it('finds the texts under secret keys, so that they can be removed elsewhere', () => {
    const args = { user: 'ann', password: 'hunter22', deep: [{ pin: 1234, note: 'x' }], credentials: { a: ['longer'] }, token: 'ab' }
    expect(secretTexts(args, new Set(['pin'])).sort()).toEqual(['1234', 'hunter22', 'longer'])
    expect(secretTexts('hunter22', new Set())).toEqual([])
    const encoded = { login: JSON.stringify({ pin: '1234', inner: JSON.stringify([{ password: 'hunter22' }]) }), text: '{not JSON' }
    expect(secretTexts(encoded, new Set(['pin'])).sort()).toEqual(['1234', 'hunter22'])
  })
})

describe('createLogger', () => {
  function written(): { lines: string[]; destination: { write(line: string): void } } {
    const lines: string[] = []
    return { lines, destination: { write: (line) => void lines.push(line) } }
  }

  it('H16 writes one redacted JSON line per record through pino', () => {
    const { lines, destination } = written()
    const logger = createLogger({ level: 'debug', destination })
    logger.warn({ tool: 'add', args: { apiKey: 'hunter22' }, usage: { totalTokens: 5 } }, `called with ${tokens[0]}`)
    logger.debug({}, 'fine')
    logger.info({ error: new Error('no') }, 'info')
    logger.error({}, 'bad')
    const records = lines.map((line) => JSON.parse(line))
    expect(records.map(({ level, msg }) => [level, msg])).toEqual([
      [40, `called with ${REDACTED}`],
      [20, 'fine'],
      [30, 'info'],
      [50, 'bad'],
    ])
    expect(records[0]).toMatchObject({ tool: 'add', args: { apiKey: REDACTED }, usage: { totalTokens: 5 }, pid: process.pid })
    expect(records[2].error).toMatchObject({ name: 'Error', message: 'no', stack: expect.any(String) })
  })

  it('writes warnings and errors by default, and nothing if silent', () => {
    const { lines, destination } = written()
    const logger = createLogger({ destination })
    logger.info({}, 'no')
    logger.warn({}, 'yes')
    createLogger({ level: 'silent', destination }).error({}, 'no')
    expect(lines).toHaveLength(1)
  })

  it('accepts another level while it is in use', () => {
    const { lines, destination } = written()
    const logger = createLogger({ destination })
    logger.level = 'debug'
    logger.debug({}, 'yes')
    expect([logger.level, lines.length]).toEqual(['debug', 1])
  })

  it.each(hostileValues())('writes a record of any value: %s', (_, value) => {
    const { lines, destination } = written()
    createLogger({ destination }).warn({ value }, 'still there')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['still there'])
  })
})

describe('redacting', () => {
  const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

  it('H37 ignores a logger that throws, or whose promise rejects', async () => {
    let calls = 0
    const broken: Logger = {
      ...silent,
      warn() {
        calls++
        throw new Error('disk full')
      },
      async error() {
        calls++
        throw new Error('connection lost')
      },
    }
    const logger = redacting(broken)
    expect(() => logger.warn({}, 'x')).not.toThrow()
    expect(() => logger.error({}, 'x')).not.toThrow()
    await new Promise((resolve) => setImmediate(resolve))
    expect(calls).toBe(2)
  })

  it('keeps the logger’s own `this`', () => {
    class Counting implements Logger {
      count = 0
      debug() {}
      info() {}
      warn() {
        this.count++
      }
      error() {}
    }
    const counting = new Counting()
    redacting(counting).warn({}, 'x')
    expect(counting.count).toBe(1)
  })

  it('wraps a logger once', () => {
    const once = redacting(silent)
    expect(redacting(once)).toBe(once)
    const made = createLogger()
    expect(redacting(made)).toBe(made)
  })

  it('passes the fields on as a copy', () => {
    const seen: object[] = []
    const fields = { password: 'x' }
    redacting({ ...silent, warn: (given) => void seen.push(given) }).warn(fields, 'x')
    expect([seen, fields]).toEqual([[{ password: REDACTED }], { password: 'x' }])
  })
})

it('createLogger does not read the fields of a record that its level drops', () => {
  const lines: string[] = []
  let reads = 0
  const fields = {
    get text() {
      reads++
      return 'x'
    },
  }
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  logger.debug(fields, 'dropped')
  expect([reads, lines]).toEqual([0, []])
  logger.level = 'debug'
  logger.debug(fields, 'written')
  expect(reads).toBeGreaterThan(0)
  expect(lines).toHaveLength(1)
})
