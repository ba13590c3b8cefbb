import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/runner.ts'
import { Event } from '../../src/events.ts'
import { createLogger } from '../../src/log.ts'
import { type ChatMessage, hasToolCalls } from '../../src/messages.ts'
import { demoModel } from '../../src/models/demo.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { linesOf, pathsUnder, type Workspace, workspace } from './demo-workspace.ts'

/** The demo with the real tools through the real loop, over a folder on disk. */
const logger = createLogger({ level: 'silent' })
let folder: string
/** The tools leave out binary files' lines as the ones in memory do; the rest of the workspace is the same. */
const files: Workspace = { ...workspace, 'src/two words.ts': 'x\ny\n' }

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolloop-demo-'))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function agent(): AgentRunner {
  const now = () => new Date(Date.UTC(2026, 1, 3, 4, 5, 6))
  return new AgentRunner({ model: demoModel(), logger, tools: builtinTools({ workspace: folder, now }) })
}

describe('the demo with the built-in tools', () => {
  const inSrc = pathsUnder('src', ['.ts', '.tsx', '.mts'], files)
  it.each<[string, string, tools: string[]]>([
    [
      'How many TypeScript files are under src, which is the longest, and what is its line count times 37?',
      `There are ${inSrc.length} TypeScript files under src. The longest is src/agent/runner.ts with 48 lines. 48 × 37 = 1776.`,
      ['list_files', 'calculate'],
    ],
    [
      'How many TypeScript test files are under tests, which is the shortest, and what is its line count divided by 3?',
      'There are 3 TypeScript test files under tests. The shortest is tests/tools/tool.spec.ts with 10 lines. 10 ÷ 3 ≈ 3.333333.',
      ['list_files', 'calculate'],
    ],
    [
      'How many Ruby files are under src, and which is the largest?',
      'There are no Ruby files under src, so there is no largest one.',
      ['list_files'],
    ],
    [
      'Are there more YAML files under config or docs?',
      'There are more under config: 2 YAML files under config, no YAML files under docs (difference: 2).',
      ['list_files', 'list_files'],
    ],
    ['How many folders are under src?', 'There are 3 folders under src.', ['list_files']],
    [
      'Which files mention startTurn?',
      '2 files in this project mention “startTurn”: docs/guide.md (line 1), src/agent/turn.ts (lines 2, 3).',
      ['search_files'],
    ],
    [
      'Where is startTurn defined?',
      'A definition of “startTurn” is found on 1 line in 1 file in this project:\n- src/agent/turn.ts:2: export function startTurn() {}',
      ['search_files'],
    ],
    ['how long is src/index.ts?', 'src/index.ts has 12 lines.', ['list_files']],
    ["how long is 'src/two words.ts'?", 'src/two words.ts has 2 lines.', ['list_files']],
    [
      'Show the last 2 lines of package.json',
      'package.json, lines 3 to 4 of 4:\n\n```\n  "version": "1.2.3"\n}\n```',
      ['read_file', 'read_file'],
    ],
    ['What day is it in Tokyo?', 'In Tokyo it is Tuesday, 2026-02-03.', ['current_time']],
    ['what is 0.1 plus 0.2', '0.1 + 0.2 = 0.3.', ['calculate']],
    ['what is 17 modulo 5?', '17 mod 5 = 2.', ['calculate']],
    ['what is 2 to the power of 100', '2 ^ 100 = 1267650600228229401496703205376.', ['calculate']],
    ['what is 10 / 0', '`calculate` failed: Division by zero.', ['calculate']],
    ['how many source files are in src?', 'There are 9 source files under src.', ['list_files']],
    ['how many TypeScript or test files are there?', 'There are 12 TypeScript or test files in this project.', ['list_files']],
  ])('%s', async (request, answer, tools) => {
    const result = await agent().run(request)
    expect(result.stopReason).toBe('answered')
    expect(result.output).toBe(answer)
    expect(
      result.messages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map((call) => call.function.name) : [])),
    ).toEqual(tools)
  })

  it('passes on what a tool refuses', async () => {
    const { output } = await agent().run('How many files are in ../?')
    expect(output).toMatch(/^`list_files` failed: Expected a path inside the workspace/)
    const fetched = await agent().run('Fetch http://127.0.0.1:9/ and tell me its title')
    expect(fetched.output).toMatch(/^`fetch_url` failed: Expected a host on the public internet/)
  })

  it('goes on with a conversation', async () => {
    const runner = agent()
    let messages: ChatMessage[] = []
    const answers: unknown[] = []
    for (const request of [
      'How many TypeScript files are in this project?',
      'and how many of those are under tests?',
      'times 2?',
      'Which of them is the longest?',
    ]) {
      const result = await runner.run(request, { messages })
      messages = result.messages
      answers.push(result.output)
    }
    expect(answers).toEqual([
      'There are 12 TypeScript files in this project.',
      'There are 4 TypeScript files under tests.',
      '4 × 2 = 8.',
      'The longest TypeScript file under tests is tests/agent/runner.test.ts with 77 lines.',
    ])
  })

  it('streams the answer in pieces, the same as without streaming', async () => {
    const request = 'How many lines does the longest file in docs have?'
    const run = agent().stream(request)
    const pieces: string[] = []
    for await (const event of run) if (event.type === Event.TEXT_DELTA) pieces.push(event.text)
    const { output } = await run.result
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.join('')).toBe(output)
    expect(output).toBe((await agent().run(request)).output)
    expect(output).toBe(`docs/guide.md, the longest file under docs, has ${linesOf('docs/guide.md')} lines.`)
  })

  it('calls a tool of the user’s own when it is named, and says so when one is denied', async () => {
    const weather = defineTool({
      name: 'get_weather',
      description: 'Tells the weather.',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer' } },
        required: ['city'],
        additionalProperties: false,
      },
      effect: 'read',
      execute: ({ city }) => ({ city, degrees: 7 }),
    })
    const runner = new AgentRunner({ model: demoModel(), logger, tools: [weather] })
    expect((await runner.run('call get_weather with city=Oslo and days=2')).output).toBe(
      'get_weather(city: "Oslo", days: 2) → city: Oslo, degrees: 7.',
    )
    expect((await runner.run('get_weather(days=2)')).output).toMatch(/^`get_weather` failed: .*city/)
  })
})
