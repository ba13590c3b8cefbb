import { describe, expect, it } from 'vitest'
import { bytesOf, converse, linesOf, pathsUnder } from './demo-workspace.ts'

/** What is asked, the tools that are called for it, and the answer: the whole of it, or what it has to contain. */
type Row = [request: string, tools: string, answer: string | RegExp]

async function check([request, tools, answer]: Row): Promise<void> {
  const said = await converse(request.split(' || '))
  expect(said.calls.map(({ tool }) => tool).join(' ')).toBe(tools)
  if (typeof answer === 'string') expect(said.answer).toBe(answer)
  else expect(said.answer).toMatch(answer)
}

const all = pathsUnder('.').length
const readme = `README.md has ${linesOf('README.md')} lines and ${bytesOf('README.md')} bytes.`

describe('many files', () => {
  it.each<Row>([
    [
      'How many TypeScript files are under src, which is the longest, and what is its line count times 37?',
      'list_files list_files calculate',
      'There are 7 TypeScript files in src. The longest TypeScript file in src is src/agent/runner.ts, 48 lines. 48 × 37 = 1776.',
    ],
    ['How many files are there?', 'list_files', `There are ${all} files in this project.`],
    ['how many ts files does src/tools have', 'list_files', 'There are 2 .ts files in src/tools.'],
    ['How many *.ts files are in ./src/', 'list_files', 'There are 5 .ts files in src.'],
    ['How many tests are there?', 'list_files', 'There are 3 test files in this project.'],
    ['count the TypeScript test files in tests', 'list_files', 'There are 3 TypeScript test files in tests.'],
    ['How many TypeScript or JavaScript files are in src?', 'list_files', 'There are 8 TypeScript or JavaScript files in src.'],
    ['how many folders are in src', 'list_files', 'There are 3 folders in src.'],
    ['Are there any Python files?', 'list_files', 'Yes, there are 3 Python files in this project.'],
    ['Is there a Go file in src?', 'list_files', 'No, there are no Go files in src.'],
    ['How many Rust files are in src, and which is the largest?', 'list_files list_files', 'There are no Rust files in src.'],
    [
      'list all markdown files',
      'list_files',
      'There are 3 Markdown files in this project:\n- README.md\n- docs/guide.md\n- docs/notes/old.md',
    ],
    ["What's in this folder?", 'list_files list_files', /^This folder has 5 folders and 2 files:\n- config\/\n/],
    ['ls', 'list_files list_files', /^This folder has/],
    [
      'what is in src/tools',
      'list_files list_files',
      'src/tools has 0 folders and 3 files:\n- src/tools/runner.ts\n- src/tools/tool.ts\n- src/tools/view.tsx',
    ],
    ['Which file has the most lines?', 'list_files', 'The longest file in this project is tests/agent/runner.test.ts, 77 lines.'],
    [
      'what are the 2 largest files in src/agent',
      'list_files',
      /^The 2 largest files in src\/agent:\n1\. src\/agent\/runner\.ts, \d+ bytes\n2\. src\/agent\/turn\.ts, \d+ bytes$/,
    ],
    [
      'longest markdown file',
      'list_files',
      'The longest Markdown files in this project are docs/guide.md and docs/notes/old.md, 60 lines each.',
    ],
    [
      'which file was changed last?',
      'list_files',
      'The newest file in this project is tests/data.json, changed on 2026-01-24 at 10:30 UTC.',
    ],
    ['how many lines of code are in src?', 'list_files', 'The 8 source files in src have 135 lines in total.'],
    ['How big is src/agent?', 'list_files', /^The 3 files in src\/agent have \d+ bytes in total\.$/],
    ['how many files are in scr', 'list_files', '`list_files` failed: No such file or folder: scr.'],
  ])('%s', async (...row) => check(row))
})

describe('one file', () => {
  it.each<Row>([
    ['How long is the README?', 'list_files', readme],
    ['how long is the readme file', 'list_files', readme],
    ['length of README.md', 'list_files', readme],
    ['how big is src/index.ts?', 'list_files', `src/index.ts has ${bytesOf('src/index.ts')} bytes.`],
    ['How many words are in docs/guide.md?', 'list_files read_file', 'docs/guide.md has 122 words.'],
    ['when was README.md last changed?', 'list_files', 'README.md was last changed on 2026-01-01 at 10:30 UTC.'],
    [
      'show me the first 2 lines of src/agent/turn.ts',
      'list_files read_file',
      'src/agent/turn.ts, lines 1 to 2 of 31:\n\n```\n// TODO first\nexport function startTurn() {}\n```',
    ],
    ['tail -2 config/c.json', 'list_files read_file', 'config/c.json, lines 1 to 2 of 2:\n\n```\nline 1\nline 2\n```'],
    ['show lines 3 to 4 of src/index.ts', 'list_files read_file', /lines 3 to 4 of 12:\n\n```\nline 3\nline 4\n```$/],
    ['cat scripts/empty.py', 'list_files', 'scripts/empty.py is empty.'],
    ['What does the README say?', 'list_files read_file', /^README\.md, lines 1 to 24 of 24:\n\n```\n# Sample/],
    ['what is the size of the longest file in src?', 'list_files', `src/agent/runner.ts has ${bytesOf('src/agent/runner.ts')} bytes.`],
    ['where is runner.ts?', 'list_files', 'There is src/agent/runner.ts and src/tools/runner.ts.'],
    ['is there a Dockerfile?', 'list_files', 'There is no file Dockerfile in this project.'],
    ['how long is docs/logo.png', 'list_files', /^docs\/logo\.png is not a text file/],
    [
      'Fetch https://example.com',
      'fetch_url',
      'https://example.com answers with HTTP status 200. The title of https://example.com is “Example Domain”.\n\n> This domain is for use in examples.',
    ],
    ['what is the title of example.com?', 'fetch_url', 'The title of https://example.com is “Example Domain”.'],
  ])('%s', async (...row) => check(row))
})

describe('text', () => {
  it.each<Row>([
    [
      'search for TODO in src',
      'search_files',
      '“TODO” is found on 2 lines in 1 file in src:\n- src/agent/turn.ts:1: // TODO first\n- src/agent/turn.ts:3: startTurn() // TODO twice TODO',
    ],
    ['grep startTurn docs', 'search_files', /^“startTurn” is found on 1 line in 1 file in docs:/],
    [
      'Which files mention startTurn?',
      'search_files',
      '“startTurn” is found on 3 lines in 2 files in this project:\n- src/agent/turn.ts\n- docs/guide.md',
    ],
    ['Where is startTurn defined?', 'search_files', /^A definition of “startTurn” is found on 1 line in 1 file in this project:/],
    ['how many files contain "line 20"?', 'search_files', /^“line 20” is found on \d+ lines in \d+ files in this project\.$/],
    ['find XYZ_NOWHERE', 'search_files', '“XYZ_NOWHERE” is found nowhere in this project.'],
  ])('%s', async (...row) => check(row))
})

describe('package.json', () => {
  it.each<Row>([
    ['what version is this?', 'read_file', 'The version in package.json: 1.2.3.'],
    ['What is the version and the license?', 'read_file', 'The version in package.json: 1.2.3. The license in package.json: MIT.'],
    ['What is this project about?', 'read_file', 'The description in package.json: A sample to look at.'],
    ['how many dependencies does it have?', 'read_file', 'package.json has 1 dependency.'],
    ['list the dev dependencies', 'read_file', 'package.json has 2 development dependencies:\n- vitest: 5.1.0\n- typescript: 7.0.2'],
    ['which version of typescript does it use?', 'read_file', 'package.json names typescript 7.0.2 (devDependencies).'],
    ['does this project use react?', 'read_file', 'package.json names no dependency “react”.'],
    ['which node version do I need?', 'read_file', 'The engines in package.json: node >=22.'],
    ['How do I run the tests?', 'read_file', '`npm test`, which runs `vitest run`.'],
    ['what scripts are there', 'read_file', 'package.json has 2 scripts:\n- test: vitest run\n- build: tsc'],
  ])('%s', async (...row) => check(row))
})

describe('arithmetic', () => {
  it.each<[request: string, expression: string, answer: string]>([
    ['12*37', '12 * 37', '12 × 37 = 444.'],
    ['What is 12 * (3 + 4)?', '12 * (3 + 4)', '12 × (3 + 4) = 84.'],
    ['what is three times twenty-five?', '3 * 25', '3 × 25 = 75.'],
    ['whats 1,234 plus 5.5', '1234 + 5.5', '1234 + 5.5 = 1239.5.'],
    ['what is the square root of 144?', 'sqrt(144)', 'sqrt(144) = 12.'],
    ['2 to the power of 10', '2 ^ 10', '2 ^ 10 = 1024.'],
    ['half of 90', '90 / 2', '90 ÷ 2 = 45.'],
    ['100 / 7', '100 / 7', '100 ÷ 7 ≈ 14.285714.'],
    ['-5 + 3', '-5 + 3', '-5 + 3 = -2.'],
    ['subtract 5 from 12', '12 - 5', '12 - 5 = 7.'],
    ['multiply 3 + 4 by 2', '(3 + 4) * 2', '(3 + 4) × 2 = 14.'],
    ['How many files are in config? || double that', '3 * 2', '3 × 2 = 6.'],
    ['6 * 7 || minus 2 || divide it by 4', '40 / 4', '40 ÷ 4 = 10.'],
    ['What is the line count of src/index.ts plus the number of files in config?', '12 + 3', '12 + 3 = 15.'],
  ])('%s', async (request, expression, answer) => {
    const said = await converse(request.split(' || '))
    expect(said.calls.at(-1)).toEqual({ tool: 'calculate', args: { expression } })
    expect(said.answer).toBe(answer)
  })
})

describe('date and time', () => {
  it.each<Row>([
    ['what time is it?', 'current_time', 'It is 04:05 (UTC, UTC+00:00).'],
    ['time in new york', 'current_time', 'In New York it is 23:05 (America/New_York, UTC+00:00).'],
    ["What's the time in London and Tokyo?", 'current_time current_time', /^In London it is 04:05 .*\. In Tokyo it is 13:05 .*\.$/],
    ['what day is today', 'current_time', 'It is Tuesday, 2026-02-03.'],
    ['what year is it', 'current_time', 'It is 2026.'],
  ])('%s', async (...row) => check(row))
})

describe('follow-ups, and two questions in one', () => {
  it.each<Row>([
    ['How many TypeScript files are in src? || and in tests?', 'list_files', 'There are 4 TypeScript files in tests.'],
    [
      'How many ts files are in src? || what about js files?',
      'list_files',
      'There are 1 .js files in src.'.replace('are 1 .js files', 'is 1 .js file'),
    ],
    ['How many files are in tests? || and how many of those are tests?', 'list_files', 'There are 3 test files in tests.'],
    [
      'How many TypeScript files are in src? || Which of them is the longest?',
      'list_files',
      /^The longest TypeScript file in src is src\/agent\/runner\.ts/,
    ],
    ['list the 3 longest files in src || how long is the second one?', '', /^src\/agent\/turn\.ts has 31 lines/],
    ['How long is README.md? || and package.json?', 'list_files', /^package\.json has 20 lines/],
    ['What time is it in Tokyo? || and in London?', 'current_time', /^In London/],
    [
      'How many TypeScript files are in src and how many in tests?',
      'list_files list_files',
      'There are 7 TypeScript files in src. There are 4 TypeScript files in tests.',
    ],
    [
      'How many files are in src and what time is it?',
      'list_files current_time',
      'There are 13 files in src. It is 04:05 (UTC, UTC+00:00).'.replace('13', String(pathsUnder('src').length)),
    ],
    ['how mnay files are in config', 'list_files', 'There are 3 files in config.\n(I read “mnay” as “many”.)'.replace('\n', ' ')],
  ])('%s', async (...row) => check(row))
})

describe('what it does not understand wholly it does not answer', () => {
  it.each([
    'Write a poem about the sea',
    'Delete all TypeScript files under src',
    'Why is the sky blue?',
    'summarize the README',
    'What is the weather in Paris?',
    'How many functions are in src?',
    'How many frobnicated files are there in src?',
    'How many TypeScript files in src compile?',
    'How many files are not in src?',
    'What is the longest line in README.md?',
    'what is the longest word in English',
    '3 boxes with 14 apples',
    'If I have 3 boxes with 14 apples each, how many apples do I have?',
    'how many days are in a week',
    'who won in 2022',
    'search the web for cats',
    'find bugs',
    'run the tests',
    'are the tests passing?',
    'call frobnicate with x=1',
    'what time is the meeting?',
    'what is my name?',
    'what is it?',
    'explain this',
    'how big is the universe?',
    'where is Paris?',
    'how many people live in France',
    'how do I build a house',
    "what's 5 apples plus 3 oranges",
    'What day is Christmas?',
    'what day is tomorrow?',
    'how many days until Christmas?',
    'which file is longest and what is the meaning of life?',
    'double that',
    'read the second one',
    'and in tests?',
    'read_file',
    'asdf',
  ])('%s', async (request) => {
    const { answer, calls } = await converse(request)
    expect(calls).toEqual(request === 'read_file' ? [{ tool: 'read_file', args: {} }] : [])
    if (request === 'read_file') return
    expect(answer).toMatch(/^I can't answer “/)
    expect(answer).toContain('no language model')
    expect(answer.split('\n').length).toBeLessThanOrEqual(3)
  })

  it.each(['Wie viele Dateien gibt es in src?', 'Combien de fichiers y a-t-il?', '有多少文件?'])(
    '%s: says that it is English only',
    async (request) => {
      expect((await converse(request)).answer).toContain('I understand English only.')
    },
  )

  it('names the part that it does not understand', async () => {
    expect((await converse('How many files are in src and what is the meaning of life?')).answer).toMatch(
      /^I can't answer “what is the meaning of life”\./,
    )
  })
})

describe('tools by their names', () => {
  const run = { weather: () => ({ sky: 'clear', celsius: 21 }), get_time: () => 'late' }
  it.each<[request: string, tool: string, args: object]>([
    ['read_file path=README.md', 'read_file', { path: 'README.md' }],
    ['read_file README.md', 'read_file', { path: 'README.md' }],
    ['search_files query=TODO path=src', 'search_files', { query: 'TODO', path: 'src' }],
    ['use calculate with expression="3*4"', 'calculate', { expression: '3*4' }],
    ['calculate("6*7")', 'calculate', { expression: '6*7' }],
    ['call weather with {"city": "Oslo", "days": [1, 2]}', 'weather', { city: 'Oslo', days: [1, 2] }],
    ['please call the weather tool with city=Oslo and days=2', 'weather', { city: 'Oslo', days: 2 }],
    ['weather(city="New York, NY", days=2).', 'weather', { city: 'New York, NY', days: 2 }],
    ['get_time', 'get_time', {}],
    [`call weather with ${JSON.stringify({ text: 'x'.repeat(5_000) })}`, 'weather', { text: 'x'.repeat(5_000) }],
  ])('%s', async (request, tool, args) => {
    expect((await converse(request, { run })).calls).toEqual([{ tool, args }])
  })

  it('tells the result, and goes on with it', async () => {
    const said = await converse('call weather with {"city": "Oslo"}, then call get_time and what is 2 + 2?', { run })
    expect(said.answer).toBe('weather(city: "Oslo") → sky: clear, celsius: 21. get_time() → late 2 + 2 = 4.')
    expect((await converse(['call calculate with expression="3*4"', 'double that'])).answer).toBe('12 × 2 = 24.')
  })

  it('a name is a word like any other where nothing calls it', async () => {
    expect((await converse('is the weather nice?', { run })).calls).toEqual([])
  })
})
