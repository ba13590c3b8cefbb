import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '../../src/messages.ts'
import { demoModel } from '../../src/models/demo.ts'
import { anyCharacter } from '../any-text.ts'
import { converse, definitionsOf } from './demo-workspace.ts'

const tools = definitionsOf()
const question = 'How many TypeScript files are under src, which is the longest, and what is its line count times 37?'

describe('results that are not what was asked for', () => {
  const say = (content: string) => converse(question, { run: { list_files: () => content } })

  it.each<[string, string]>([
    ['boom', "`list_files` answered with something I can't read: boom"],
    ['', "`list_files` answered with something I can't read: (nothing)"],
    ['[1,2]', "`list_files` answered with something I can't read: [1,2]"],
    ['{"error":"disk on fire"}', '`list_files` failed: disk on fire.'],
    ['{"files":[]}', '`list_files` answered with something that is no list of files.'],
    ['{"count":"7","files":[]}', '`list_files` answered with something that is no list of files.'],
  ])('%s', async (content, answer) => {
    expect((await say(content)).answer).toBe(answer)
  })

  it('leaves out entries that are no files', async () => {
    const { answer } = await say('{"count":2,"files":[null,7,{"path":5},{"path":"src/a.ts","bytes":9,"lines":3}]}')
    expect(answer).toBe('There are 2 TypeScript files under src. The longest is src/a.ts with 3 lines. 3 × 37 = 111.')
  })

  it('tells of a failure once, however much depends on it', async () => {
    const { answer, calls } = await converse(question, {
      run: {
        list_files: () => {
          throw new Error('Tool `list_files` timed out after 30000 ms.')
        },
      },
    })
    expect(calls).toHaveLength(1)
    expect(answer).toBe('`list_files` failed: Tool `list_files` timed out after 30000 ms.')
  })

  it('tells what it knows beside a failure', async () => {
    const { answer } = await converse(question, { run: { calculate: () => '{"result":"NaN"}' } })
    expect(answer).toBe(
      'There are 7 TypeScript files under src. The longest is src/agent/runner.ts with 48 lines. `calculate` answered without a number for 48 * 37.',
    )
  })

  it('reads the head of a result that was cut in the middle', async () => {
    const files = Array.from({ length: 9 }, (_, at) => ({ path: `src/file-${at}.ts`, bytes: 10, lines: 100 - at, modified: '' }))
    const whole = JSON.stringify({ path: 'src', count: 900, totalBytes: 9000, totalLines: 70_000, files })
    for (const end of [120, 160, 161, 175, 190, 205]) {
      const { answer } = await say(`${whole.slice(0, end)}\n\n(… 400 of ${whole.length} bytes cut here …)\n\n${whole.slice(-40)}`)
      expect(answer).toContain('There are 900 TypeScript files under src. The longest is src/file-0.ts with 100 lines. 100 × 37 = 3700.')
    }
  })

  it('keeps the digits of a result that is a text', async () => {
    const big = '123456789012345678901234567890'
    expect((await converse('what is 3 times 4', { run: { calculate: () => JSON.stringify({ result: big }) } })).answer).toBe(
      `3 × 4 = ${big}.`,
    )
    expect(
      (await converse('what is 3 times 4', { run: { calculate: () => JSON.stringify({ result: '0.3333333333333333333' }) } })).answer,
    ).toBe('3 × 4 ≈ 0.333333.')
  })

  it('passes on what a list may lack', async () => {
    const { answer } = await converse('How many files are in src?', {
      run: { list_files: () => '{"count":2,"files":[],"note":"1 folder could not be read"}' },
    })
    expect(answer).toBe('There are 2 files under src. (1 folder could not be read)')
  })

  it('does not take a part of the files for all of them', async () => {
    const files = Object.fromEntries(Array.from({ length: 800 }, (_, at) => [`src/f${at}.ts`, 'x\n'.repeat(at + 1)]))
    const above = async (lines: number) => (await converse(`how many files under src have more than ${lines} lines?`, { files })).answer
    expect(await above(100)).toBe('There are at least 600 files with more than 100 lines under src.')
    expect(await above(300)).toBe('There are 500 files with more than 300 lines under src.')
    const { answer } = await converse('list the files under src', { files })
    expect(answer).toContain('There are 800 files under src:')
    expect(answer).toContain('… and 700 more.')
  })

  it('a tool message without a call, or with the id of another, changes nothing', async () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: '12*37' },
      { role: 'tool', toolCallId: 'call_1', content: '{"result":1}' },
    ]
    const { toolCalls } = await demoModel().generate({ messages, tools })
    expect(toolCalls.map((call) => call.function.arguments)).toEqual(['{"expression":"12 * 37"}'])
  })
})

const words = fc.constantFrom(
  ...`how many TypeScript files are under src which is the longest and what its line count times 37 of those in tests ? . , ( ) * + / "foo" 'bar' \`x\`
  README.md *.ts .ts ./a/b call weather with {"city":1} fetch https://example.com a b list show read first last 10 lines more fewer than between 3 5 or
  half sum difference both them it that mention TODO where used compare not excluding every newest day Tokyo percent %`.split(/\s+/),
)
const prose = fc.array(words, { maxLength: 40 }).map((list) => list.join(' '))
const anyRequest = fc.oneof(prose, fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ unit: anyCharacter, maxLength: 100 }))
const anyResult = fc.oneof(
  fc.json(),
  fc.string({ unit: anyCharacter }),
  fc.constantFrom(
    '',
    '{"count":1,"files":[{"path":"a","bytes":1}]}',
    '{"result":3}',
    '{"matches":[],"count":0,"files":0}',
    '{"text":"a","path":"a"}',
  ),
)

it('never throws and always comes to an answer, whatever is asked and whatever tools say', async () => {
  const offered = [...tools, ...definitionsOf(['weather'])]
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRequest, { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.tuple(anyResult, fc.boolean())),
      async (requests, results) => {
        const messages: ChatMessage[] = []
        for (const content of requests) {
          messages.push({ role: 'user', content })
          for (let step = 0; ; step++) {
            expect(step).toBeLessThan(8)
            const response = await demoModel().generate({ messages, tools: offered })
            if (response.toolCalls.length === 0) {
              expect(response.text).not.toBe('')
              messages.push({ role: 'assistant', content: response.text })
              break
            }
            messages.push({ role: 'assistant', content: '', toolCalls: response.toolCalls })
            for (const call of response.toolCalls) {
              expect(() => JSON.parse(call.function.arguments)).not.toThrow()
              const [content, isError] = results.next().value
              messages.push({ role: 'tool', toolCallId: call.id, content, ...(isError ? { isError } : {}) })
            }
          }
        }
      },
    ),
    { numRuns: 300 },
  )
})

it('reads long and repetitive text in bounded time', async () => {
  const parts = [
    'how many files and ',
    'the sum of ',
    '(',
    '"',
    '/a',
    '1,',
    'half of the double ',
    'call list_files(',
    "'x ",
    'a.b/',
    '*.{',
    'not ',
    '- x\n',
  ]
  for (const part of parts) {
    const started = performance.now()
    await demoModel().generate({
      messages: [{ role: 'user', content: part.repeat(Math.ceil(8_000 / part.length)).slice(0, 8_000) }],
      tools,
    })
    // Far above what it takes (about 0.2 s at most), far below what anything exponential would.
    expect(performance.now() - started).toBeLessThan(5_000)
  }
  const { answer } = await converse(`How many files are there? ${'x '.repeat(5_000)}`)
  expect(answer).toContain('it is longer than 8000 characters')
})
