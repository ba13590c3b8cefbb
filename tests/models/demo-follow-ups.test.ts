import { describe, expect, it } from 'vitest'
import { type Call, converse, linesOf } from './demo-workspace.ts'

const ts = '*.{ts,tsx,mts,cts}'

function last(calls: readonly Call[]): string[] {
  return calls.map(({ tool, args }) =>
    `${tool} ${args.path ?? args.expression ?? args.timeZone ?? ''} ${args.pattern ?? args.query ?? ''}`.trim(),
  )
}

describe('follow-ups', () => {
  it.each<[string[], string[], string]>([
    [
      ['How many TypeScript files are in this project?', 'and how many of those are under tests?'],
      [`list_files tests ${ts}`],
      'There are 4 TypeScript files under tests.',
    ],
    [
      ['How many TypeScript files are under src?', 'and under tests?'],
      [`list_files tests ${ts}`],
      'There are 4 TypeScript files under tests.',
    ],
    [['How many TypeScript files are under src?', 'and tests?'], [`list_files tests ${ts}`], 'There are 4 TypeScript files under tests.'],
    [
      ['How many Python files are under scripts?', 'What about Markdown?'],
      ['list_files scripts *.{md,mdx,markdown}'],
      'There are no Markdown files under scripts.',
    ],
    [['How many TypeScript files are under src?', 'times 2?'], ['calculate 7 * 2'], '7 × 2 = 14.'],
    [['How many TypeScript files are under src?', 'half of that'], ['calculate 7 / 2'], '7 ÷ 2 = 3.5.'],
    [['How many TypeScript files are under src?', 'and multiply it by 3', 'minus 1'], ['calculate 21 - 1'], '21 - 1 = 20.'],
    [
      ['How many TypeScript files are under src?', 'How many Python files are under scripts?', 'add both'],
      ['calculate 7 + 3'],
      '7 + 3 = 10.',
    ],
    [
      ['How many TypeScript files are under src?', 'Which is the longest?'],
      [`list_files src ${ts}`],
      'The longest TypeScript file under src is src/agent/runner.ts with 48 lines.',
    ],
    [
      ['Which is the longest TypeScript file under src?', 'and the shortest?'],
      [`list_files src ${ts}`],
      'The shortest TypeScript file under src is src/agent/deep/part.mts with 3 lines.',
    ],
    [['Which is the longest TypeScript file under src?', 'What is its line count times 37?'], ['calculate 48 * 37'], '48 × 37 = 1776.'],
    [
      ['Which is the longest file in config?', 'show me its first 2 lines'],
      ['read_file config/b.yml'],
      'config/b.yml, lines 1 to 2 of 14:\n\n```\nline 1\nline 2\n```',
    ],
    [['Which is the longest file in config?', 'how big is it?'], [], 'config/b.yml, the longest file under config, has 103 bytes.'],
    [['Show README.md', 'how many lines does it have?'], ['list_files . README.md'], `README.md has ${linesOf('README.md')} lines.`],
    [
      ['How long is src/index.ts?', 'and src/legacy.js?', 'which is longer?'],
      [],
      'src/index.ts is the longer one: src/index.ts has 12 lines, src/legacy.js has 5 lines (difference: 7).',
    ],
    [
      ['list the 3 longest files under src', 'what is their total line count?'],
      ['list_files src'],
      'The 3 longest files under src have 99 lines in total.',
    ],
    [
      ['list the 3 largest files under src', 'how many of them have more than 30 lines?'],
      ['list_files src'],
      'There are 2 files with more than 30 lines among the 3 largest files under src.',
    ],
    [
      ['Which files mention startTurn?', 'how many of those are under docs?'],
      ['list_files docs'],
      'There is 1 file under docs that mentions “startTurn”.',
    ],
    [['Which files under src mention TODO?', 'and under docs?'], ['search_files docs TODO'], 'Nothing under docs mentions “TODO”.'],
    [['What time is it in Tokyo?', 'and in Berlin?'], ['current_time Europe/Berlin'], 'In Berlin it is 05:05 (Europe/Berlin, UTC+00:00).'],
    [['Are there more TypeScript files under src or tests?', 'add both counts'], ['calculate 7 + 4'], '7 + 4 = 11.'],
    [['fetch https://example.com/x', 'What is its title?'], [], 'The title of https://example.com/x is “Example Domain”.'],
    [
      ['How many Rust files are under src, which is the longest?', 'What is its line count times 3?'],
      [],
      'There are no Rust files under src, so there is nothing to calculate with.',
    ],
  ])('%j', async (requests, calls, answer) => {
    const said = await converse(requests)
    expect(said.answer).toBe(answer)
    if (calls.length > 0) expect(last(said.calls)).toEqual(calls)
  })

  it('takes numbers of earlier messages from their results, without asking again', async () => {
    const said = await converse(['How many TypeScript files are under src?', 'times 2?'])
    expect(said.calls).toEqual([{ tool: 'calculate', args: { expression: '7 * 2' } }])
  })

  it('asks again for what the conversation no longer holds', async () => {
    const { messages } = await converse('How many TypeScript files are under src?')
    const forgotten = messages.filter((message) => message.role === 'user')
    expect(forgotten).toHaveLength(1)
    const [first] = forgotten
    const again = await converse([typeof first?.content === 'string' ? first.content : '', 'times 2?'])
    expect(again.answer).toBe('7 × 2 = 14.')
  })
})

it('a new question without a reference starts afresh', async () => {
  const { calls } = await converse(['How many TypeScript files are under src?', 'How many Markdown files are there?'])
  expect(calls[0]?.args).toEqual({ path: '.', pattern: '*.{md,mdx,markdown}', limit: 1 })
})
