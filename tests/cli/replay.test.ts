import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { fakeIO } from './fake-io.ts'
import type { FinishedCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

async function run(args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<FinishedCli> {
  const io = fakeIO({ cwd, env })
  io.stdin.end()
  return { code: await runCommand(args, io), stdout: io.out(), stderr: io.err() }
}
const twice = (cwd: string) => Promise.all(['run.json', 'again.json'].map((name) => readFile(join(cwd, name), 'utf8')))

describe('toolloop replay', () => {
  it('replays a run of the demo model with its tools, and records the same bytes again', async () => {
    const cwd = await tempFolder({ 'a.ts': '', 'src/b.ts': '', 'README.md': '# Title\n' })
    const asked = await run(['run', '--record', 'run.json', 'How many TypeScript files are there, and what is 17 * 23?'], cwd)
    expect(asked.code).toBe(0)
    // The current state does not matter.
    const elsewhere = await tempFolder({ 'run.json': await readFile(join(cwd, 'run.json'), 'utf8') })
    const { code, stdout, stderr } = await run(['replay', 'run.json', '--record', 'again.json'], elsewhere)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^the run is the same: \d turns, answered\n$/)
    const [first, second] = await twice(elsewhere)
    expect(JSON.parse(first ?? '').steps['1.tool.0'].tool).toBeDefined()
    expect(second).toBe(first)
  })

  it('replays a run with a provider that failed once, streamed and called tools, without asking it', async () => {
    await using provider = await startStrictProvider({
      script: [
        { text: 'never sent', fault: { status: 429, headers: { 'retry-after': '0' } } },
        {
          reasoning: 'Two calls.',
          text: 'One moment.',
          toolCalls: [1, 2].map((n) => ({ name: 'calculate', arguments: { expression: `${n} * 21` } })),
        },
        { text: 'It is 42 – zweiundvierzig.', usage: { inputTokens: 40, outputTokens: 9 } },
      ],
    })
    const cwd = await tempFolder()
    const model = ['--model', 'custom/mock', '--base-url', provider.baseURL]
    const env = { CUSTOM_API_KEY: 'a-secret-of-mine' }
    expect((await run(['run', '--record', 'run.json', ...model, 'What is 2 * 21?'], cwd, env)).stdout).toContain('zweiundvierzig')
    const { length } = provider.requests
    expect(await run(['replay', 'run.json', '--record', 'again.json', '--quiet'], cwd)).toEqual({ code: 0, stdout: '', stderr: '' })
    const [first = '', second] = await twice(cwd)
    expect(second).toBe(first)
    expect(first).toContain('"retries": 1')
    expect(first).not.toContain(env.CUSTOM_API_KEY)
    expect(provider.requests).toHaveLength(length)
  })

  it('does not overwrite a file that is not a recording', async () => {
    const cwd = await tempFolder({ 'mine.json': '{"name":"mine"}' })
    await run(['run', '--record', 'run.json', 'What is 2 * 21?'], cwd)
    const { code, stderr } = await run(['replay', 'run.json', '--record', 'mine.json'], cwd)
    expect(stderr).toContain('mine.json')
    expect(code).not.toBe(0)
    expect(await readFile(join(cwd, 'mine.json'), 'utf8')).toBe('{"name":"mine"}')
  })

  it('shows the first difference after a changed prompt, and exits with 9', async () => {
    const cwd = await tempFolder()
    await run(['run', '--record', 'run.json', '-i', 'Be brief.', 'What is 2 * 21?'], cwd)
    const changed = await run(['replay', 'run.json', '-i', 'Be polite.'], cwd)
    expect(changed).toEqual({
      code: 9,
      stdout: 'the run differs at 1.model: request.messages[0].content\n  - expected "Be brief."\n  + got      "Be polite."\n',
      stderr: '',
    })
    const { code, stdout } = await run(['replay', 'run.json', '-i', 'Be polite.', '--json'], cwd)
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 9,
      equal: false,
      difference: { where: '1.model: request.messages[0].content' },
    })
  })

  it('asks a live model and runs live tools instead of the recorded ones', async () => {
    const cwd = await tempFolder({ 'a.ts': '' })
    await run(['run', '--record', 'run.json', 'How many TypeScript files are there?'], cwd)
    expect((await run(['replay', 'run.json', '--live-model', '--model', 'demo'], cwd)).code).toBe(0)
    expect((await run(['replay', 'run.json', '--live-tools'], cwd)).code).toBe(0)
    const elsewhere = await tempFolder({ 'a.ts': '', 'b.ts': '', 'run.json': await readFile(join(cwd, 'run.json'), 'utf8') })
    const { code, stdout } = await run(['replay', 'run.json', '--live-tools'], elsewhere)
    expect(code).toBe(9)
    expect(stdout).toMatch(/^the run differs at 1\.tool\.0: content\n {2}- expected .*\\"count\\":1,.*\n {2}\+ got {6}.*\\"count\\":2,/)
  })

  it.each([
    [['replay', 'package.json'], 'to be a recorded run, with `"format": "toolloop run"`'],
    [['replay', 'nothing.json'], 'to be a file with a recorded run'],
    [['replay'], "missing required argument 'file'"],
    [['replay', 'package.json', '--model', 'demo'], 'Expected `--model` to be beside `--live-model`'],
    [['replay', 'package.json', '--base-url', 'http://127.0.0.1:1'], 'Expected `--base-url` to be beside `--live-model`'],
    [['replay', 'package.json', '--skills', 'x'], 'Expected `--skills` to be beside `--live-tools`'],
    [['replay', 'package.json', '--tools', 'x.ts'], 'Expected `--tools` to be beside `--live-tools`'],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await run(args, await tempFolder({ 'package.json': '{}' }))
    expect(stderr).toContain(words)
    expect(code).toBe(2)
  })
})
