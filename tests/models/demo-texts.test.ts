import { describe, expect, it } from 'vitest'
import { type Call, converse, definitionsOf, linesOf, page, workspace } from './demo-workspace.ts'

function search(query: string, args: Call['args'] = {}): Call {
  return { tool: 'search_files', args: { query, path: '.', limit: 400, ...args } }
}

type Row = [request: string, calls: Call[], answer: string]

async function check([request, calls, answer]: Row): Promise<void> {
  const said = await converse(request)
  expect(said.calls).toEqual(calls)
  expect(said.answer).toBe(answer)
}

describe('searching', () => {
  const places = ['src/agent/turn.ts:1: // TODO first', 'src/agent/turn.ts:3: startTurn() // TODO twice TODO']
  it.each<Row>([
    [
      'Which files mention startTurn?',
      [search('startTurn')],
      '2 files in this project mention “startTurn”: src/agent/turn.ts (lines 2, 3), docs/guide.md (line 1).',
    ],
    [
      'which files under src contain "TODO"',
      [search('TODO', { path: 'src' })],
      '1 file under src mentions “TODO”: src/agent/turn.ts (lines 1, 3).',
    ],
    ['How many files mention TODO?', [search('TODO')], '2 files in this project mention “TODO”.'],
    ['how many times does TODO occur in src', [search('TODO', { path: 'src' })], '“TODO” occurs 3 times, on 2 lines in 1 file under src.'],
    ['How often is startTurn used?', [search('startTurn')], '“startTurn” occurs 3 times, on 3 lines in 2 files in this project.'],
    [
      "where is 'TODO' used in src",
      [search('TODO', { path: 'src' })],
      ['“TODO” is found 3 times, on 2 lines in 1 file under src:', ...places.map((line) => `- ${line}`)].join('\n'),
    ],
    [
      'grep for TODO under src/agent',
      [search('TODO', { path: 'src/agent' })],
      ['“TODO” is found 3 times, on 2 lines in 1 file under src/agent:', ...places.map((line) => `- ${line}`)].join('\n'),
    ],
    [
      'Which Markdown files mention startTurn?',
      [search('startTurn', { pattern: '*.{md,mdx,markdown}' })],
      '1 Markdown file in this project mentions “startTurn”: docs/guide.md (line 1).',
    ],
    [
      'Does src/agent/turn.ts mention TODO?',
      [search('TODO', { path: 'src/agent/turn.ts' })],
      'Yes, src/agent/turn.ts mentions “TODO” on 2 lines: 1, 3.',
    ],
    ['Do any files in config mention TODO?', [search('TODO', { path: 'config' })], 'No, nothing under config mentions “TODO”.'],
    [
      'search for todo in src ignoring case',
      [search('todo', { path: 'src', ignoreCase: true })],
      ['“todo” is found 3 times, on 2 lines in 1 file under src:', ...places.map((line) => `- ${line}`)].join('\n'),
    ],
    [
      'search for /TODO \\w+/ in src',
      [search('TODO \\w+', { path: 'src', regex: true })],
      ['/TODO \\w+/ is found on 2 lines in 1 file under src:', ...places.map((line) => `- ${line}`)].join('\n'),
    ],
    [
      'How many lines in docs/guide.md contain "line 1"?',
      [search('line 1', { path: 'docs/guide.md' })],
      '11 lines in docs/guide.md contain “line 1”.',
    ],
    [
      'How many lines in src/agent/turn.ts start with startTurn?',
      [search('^\\s*startTurn', { path: 'src/agent/turn.ts', regex: true })],
      '1 line in src/agent/turn.ts contains “startTurn”.',
    ],
    ['which files mention tool call?', [search('tool call')], 'Nothing in this project mentions “tool call”.'],
    [
      'Which files mention TODO but not startTurn?',
      [search('TODO'), search('startTurn'), { tool: 'list_files', args: { path: '.', limit: 600 } }],
      'There is 1 file in this project that mentions “TODO” and does not mention “startTurn”: README.md.',
    ],
    [
      'Which files mention startTurn, and which of them is the longest?',
      [search('startTurn'), { tool: 'list_files', args: { path: '.', lines: true, sort: 'lines', order: 'desc', limit: 600 } }],
      '2 files in this project mention “startTurn”: src/agent/turn.ts (lines 2, 3), docs/guide.md (line 1). The longest file in this project that mentions “startTurn” is docs/guide.md with 60 lines.',
    ],
  ])('%s', async (...row) => check(row))

  it('goes on about the text it has searched for', async () => {
    const { calls, answer } = await converse('Search for TODO in src and tell me how many files contain it and how often it occurs.')
    expect(calls).toEqual([search('TODO', { path: 'src' })])
    expect(answer).toMatch(/1 file under src mentions “TODO”\. “TODO” occurs 3 times, on 2 lines in 1 file under src\.$/)
    expect((await converse(['How long is src/agent/turn.ts?', 'Does it mention TODO?'])).answer).toBe(
      'Yes, src/agent/turn.ts mentions “TODO” on 2 lines: 1, 3.',
    )
    // A search that waits for a list is more than it can do: then it must not search somewhere else.
    expect((await converse('Which is the longest file under src and does it mention TODO?')).answer).toContain(
      'I could not answer “does it mention TODO”',
    )
  })

  it('finds where something is defined, not where it is used', async () => {
    const { calls, answer } = await converse('Where is startTurn defined?')
    expect(calls).toHaveLength(1)
    expect(calls[0]?.args.regex).toBe(true)
    expect(answer).toBe(
      'A definition of “startTurn” is found on 1 line in 1 file in this project:\n- src/agent/turn.ts:2: export function startTurn() {}',
    )
  })

  it('counts lines where not all of them are shown, and says how many more there are', async () => {
    const files = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`src/f${at}.ts`, 'needle needle\n']))
    expect((await converse('how many times does needle occur', { files })).answer).toBe(
      '“needle” occurs on 500 lines in 500 files in this project.',
    )
    const { answer } = await converse('which files mention needle?', { files })
    expect(answer).toContain('… and 100 more files')
  })
})

describe('reading', () => {
  const block = (path: string, which: string, lines: readonly string[]) => `${path}, ${which}:\n\n\`\`\`\n${lines.join('\n')}\n\`\`\``
  const readme = (workspace['README.md'] ?? '').trimEnd().split('\n')
  const config = (workspace['package.json'] ?? '').trimEnd().split('\n')
  const read = (path: string, args: Call['args']): Call => ({ tool: 'read_file', args: { path, ...args } })
  it.each<Row>([
    [
      'Show the first 3 lines of README.md',
      [read('README.md', { from: 1, to: 3 })],
      block('README.md', `lines 1 to 3 of ${readme.length}`, readme.slice(0, 3)),
    ],
    [
      'show me line 2 of package.json',
      [read('package.json', { from: 2, to: 2 })],
      block('package.json', 'line 2 of 4', config.slice(1, 2)),
    ],
    [
      'print lines 2-3 of package.json',
      [read('package.json', { from: 2, to: 3 })],
      block('package.json', 'lines 2 to 3 of 4', config.slice(1, 3)),
    ],
    [
      'lines 3 to 2 of package.json',
      [read('package.json', { from: 2, to: 3 })],
      block('package.json', 'lines 2 to 3 of 4', config.slice(1, 3)),
    ],
    ['what is in package.json?', [read('package.json', { to: 200 })], block('package.json', 'all 4 lines', config)],
    ['cat ./package.json', [read('package.json', { to: 200 })], block('package.json', 'all 4 lines', config)],
    [
      'show the last 2 lines of package.json',
      [read('package.json', { from: 1, to: 1 }), read('package.json', { from: 3, to: 4 })],
      block('package.json', 'lines 3 to 4 of 4', config.slice(2)),
    ],
    [
      'What does the first line of README.md say?',
      [read('README.md', { from: 1, to: 1 })],
      block('README.md', `line 1 of ${readme.length}`, readme.slice(0, 1)),
    ],
    ['read scripts/empty.py', [read('scripts/empty.py', { to: 200 })], 'scripts/empty.py is empty.'],
    [
      'How many words are in README.md?',
      [read('README.md', { maxBytes: 40_000 })],
      `README.md has ${(workspace['README.md'] ?? '').trim().split(/\s+/).length} words.`,
    ],
  ])('%s', async (...row) => check(row))

  it('reads what it has found first', async () => {
    const { calls, answer } = await converse('Find the longest file in config and show its first 2 lines.')
    expect(calls.map(({ tool }) => tool)).toEqual(['list_files', 'read_file'])
    expect(answer).toBe(
      `The longest file under config is config/b.yml with 14 lines.\n\n${block('config/b.yml', 'lines 1 to 2 of 14', ['line 1', 'line 2'])}`,
    )
  })

  it('looks below for a file that is not at the top, and does not choose between two', async () => {
    const found = await converse('show the first 2 lines of guide.md')
    expect(found.calls.map(({ tool, args }) => [tool, args.path])).toEqual([
      ['read_file', 'guide.md'],
      ['list_files', '.'],
      ['read_file', 'docs/guide.md'],
    ])
    expect(found.answer).toContain('docs/guide.md, lines 1 to 2 of 60')
    expect((await converse('show runner.ts')).answer).toBe(
      '2 files are named runner.ts: src/agent/runner.ts, src/tools/runner.ts. Please say which one you mean.',
    )
    expect((await converse('show nowhere.ts')).answer).toBe('`read_file` failed: No such file: nowhere.ts.')
  })

  it('keeps a text that has fences of its own apart', async () => {
    const { answer } = await converse('show a.md', { files: { 'a.md': 'x\n````\ny\n````\n' } })
    expect(answer).toBe('a.md, all 4 lines:\n\n`````\nx\n````\ny\n````\n`````')
  })
})

describe('the clock', () => {
  const now = (timeZone?: string): Call => ({ tool: 'current_time', args: timeZone === undefined ? {} : { timeZone } })
  it.each<Row>([
    ['what time is it?', [now()], 'It is 04:05 (UTC, UTC+00:00).'],
    ['What day is it in Tokyo?', [now('Asia/Tokyo')], 'In Tokyo it is Tuesday, 2026-02-03.'],
    ["what's the date in new york", [now('America/New_York')], 'In new york it is 2026-02-02.'],
    ['Which weekday is it in Europe/Berlin?', [now('Europe/Berlin')], 'In Europe/Berlin it is Tuesday.'],
    [
      'What time is it in London and in Sydney?',
      [now('Europe/London'), now('Australia/Sydney')],
      'In London it is 04:05 (Europe/London, UTC+00:00). In Sydney it is 15:05 (Australia/Sydney, UTC+00:00).',
    ],
    ['What year is it?', [now()], 'It is 2026.'],
    ['what month is it in San Francisco', [now('America/Los_Angeles')], 'In San Francisco it is February.'],
    [
      'what time is it in Atlantis?',
      [],
      "I don't know the time zone of Atlantis. Please name it as in the IANA list, such as Europe/Berlin.",
    ],
  ])('%s', async (...row) => check(row))
})

describe('pages', () => {
  const url = 'https://example.com/a?b=1'
  it.each<[string, string]>([
    [`Fetch ${url} and tell me its title.`, `The title of ${url} is “${page.title}”.`],
    [`How many words does ${url} have?`, `${url} has 9 words.`],
    [`What is the size of ${url}?`, `${url} has 1256 bytes (1.2 KB).`],
    [`fetch ${url} and tell me its title and how many words it has`, `The title of ${url} is “${page.title}”. ${url} has 9 words.`],
  ])('%s', async (request, answer) => {
    const said = await converse(request)
    expect(said.calls).toEqual([{ tool: 'fetch_url', args: { url } }])
    expect(said.answer).toBe(answer)
  })

  it('tells what is there when nothing else is asked', async () => {
    const { answer } = await converse(`Fetch ${url}.`)
    expect(answer).toBe(
      `${url} answers with HTTP status 200: text/html, 1256 bytes (1.2 KB). Its title is “${page.title}”.\n\n> Example Domain This domain is for use in examples.`,
    )
  })
})

describe('tools named in the request', () => {
  const weather = {
    type: 'function' as const,
    function: {
      name: 'weather',
      description: 'Tells the weather.',
      parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city'] },
    },
  }
  const tools = [...definitionsOf(), weather, ...definitionsOf(['ping'])]
  const run = { weather: ({ city, days = 1 }: Call['args']) => ({ city: city ?? '', degrees: 12 * Number(days) }), ping: () => 'pong' }

  it.each<[string, Call['args']]>([
    ['call weather with {"city":"Oslo"}', { city: 'Oslo' }],
    ['Call the weather tool with {"city": "São Paulo", "days": 2}.', { city: 'São Paulo', days: 2 }],
    ['weather(city="Oslo")', { city: 'Oslo' }],
    ["please run weather(city='New York', days=3)", { city: 'New York', days: 3 }],
    ['weather("Oslo")', { city: 'Oslo' }],
    ['use weather with city Oslo and days 2', { city: 'Oslo', days: 2 }],
    ['Use the weather tool with city=Oslo, days=2.', { city: 'Oslo', days: 2 }],
    ['invoke `weather` with city: 42', { city: '42' }],
    ['call weather with {"city":"a}b","__proto__":{"x":1}}', JSON.parse('{"city":"a}b","__proto__":{"x":1}}')],
  ])('%s', async (request, args) => {
    const { calls } = await converse(request, { tools, run })
    expect(calls).toEqual([{ tool: 'weather', args }])
  })

  it('calls several, reports each, and goes on with the rest', async () => {
    const { calls, answer } = await converse(
      'call ping and weather with {"city":"Oslo"}, then multiply the result by 3 and tell me how many files are in config',
      { tools, run },
    )
    expect(calls.map(({ tool }) => tool)).toEqual(['ping', 'weather', 'list_files', 'calculate'])
    expect(answer).toBe('ping() → pong weather(city: "Oslo") → city: Oslo, degrees: 12. 12 × 3 = 36. There are 3 files under config.')
  })

  it('does not take every mention of a name for a call', async () => {
    expect((await converse('which files mention weather?', { tools, run })).calls.map(({ tool }) => tool)).toEqual(['search_files'])
    expect((await converse('I like the weather', { tools, run })).calls).toEqual([])
  })

  it('says what is wrong with arguments it can not read', async () => {
    const { calls, answer } = await converse('weather({city: Oslo})', { tools, run })
    expect(calls).toEqual([])
    expect(answer).toContain('its arguments are not a JSON object: {city: Oslo}')
  })

  it('shows how to call them when it is asked for something else', async () => {
    const { answer, calls } = await converse('What is the weather in Oslo?', { tools, run })
    expect(calls).toEqual([])
    expect(answer).toContain('- call weather with {"city": "…"}')
    expect(answer).toContain('- call ping')
  })
})

it('several different things in one message are answered in their order', async () => {
  const { answer } = await converse(
    'What time is it in Tokyo, how many TypeScript files are under src, which files mention startTurn, and what is 3 plus 4?',
  )
  expect(answer).toBe(
    'In Tokyo it is 13:05 (Asia/Tokyo, UTC+00:00). There are 7 TypeScript files under src. ' +
      '2 files under src mention “startTurn”: src/agent/turn.ts (lines 2, 3). 3 + 4 = 7.'.replace(
        '2 files under src mention',
        '1 file under src mentions',
      ),
  )
  expect(linesOf('src/agent/turn.ts')).toBe(31)
})
