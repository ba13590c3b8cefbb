import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import { createLogger } from '../../src/core/logger.ts'
import { type ChatMessage, hasToolCalls } from '../../src/core/messages.ts'
import { demoModel } from '../../src/models/demo/demo.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { type Workspace, workspace } from './demo-workspace.ts'

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
  it.each<[string, string | RegExp, tools: string]>([
    [
      'How many TypeScript files are under src, which is the longest, and what is its line count times 37?',
      'There are 8 TypeScript files in src. The longest TypeScript file in src is src/agent/runner.ts, 48 lines. 48 × 37 = 1776.',
      'list_files list_files calculate',
    ],
    ['How long is the README?', /^README\.md has 24 lines and \d+ bytes\.$/, 'list_files'],
    ["How long is 'src/two words.ts'?", 'src/two words.ts has 2 lines and 4 bytes.', 'list_files'],
    ['how many TypeScript test files are there?', 'There are 3 TypeScript test files in this project.', 'list_files'],
    ["what's in src?", /^src has 2 folders and 3 files:\n- src\/agent\/\n- src\/tools\/\n- src\/index\.ts\n/, 'list_files list_files'],
    ['Which files mention startTurn?', /^“startTurn” is found on 3 lines in 2 files in this project:/, 'search_files'],
    ['Where is startTurn defined?', /- src\/agent\/turn\.ts:2: export function startTurn\(\) \{\}$/, 'search_files'],
    ['Show the last 2 lines of config/a.yaml', 'config/a.yaml, lines 3 to 4 of 4:\n\n```\nline 3\nline 4\n```', 'list_files read_file'],
    ['What version is this?', 'The version in package.json: 1.2.3.', 'read_file'],
    ['What day is it in Tokyo?', 'In Tokyo it is Tuesday, 2026-02-03.', 'current_time'],
    ['what is 0.1 plus 0.2', '0.1 + 0.2 = 0.3.', 'calculate'],
    ['what is 15% of 240?', '15% of 240 = 36.', 'calculate'],
    ['what is 17 modulo 5?', '17 mod 5 = 2.', 'calculate'],
    ['what is 2 to the power of 100', '2 ^ 100 = 1267650600228229401496703205376.', 'calculate'],
    ['what is 10 / 0', '`calculate` failed: Division by zero.', 'calculate'],
    [
      'how many files are in scr',
      '`list_files` failed: "scr" does not exist in the workspace; `list_files` shows what does.',
      'list_files',
    ],
  ])('%s', async (request, answer, tools) => {
    const result = await agent().run(request)
    expect(result.stopReason).toBe('answered')
    if (typeof answer === 'string') expect(result.output).toBe(answer)
    else expect(result.output).toMatch(answer)
    const called = result.messages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map((call) => call.function.name) : []))
    expect(called.join(' ')).toBe(tools)
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
      'There are 4 TypeScript files in tests.',
      '4 × 2 = 8.',
      'The longest TypeScript file in tests is tests/agent/runner.test.ts, 77 lines.',
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
    expect(output).toMatch(/^docs\/guide\.md has 60 lines/)
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
