import { describe, expect, it } from 'vitest'
import { describeExitCodes } from '../../src/cli/exit-codes.ts'
import { runCommand } from '../../src/cli/program.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { fakeIO } from './fake-io.ts'
import { runCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

async function run(args: string[], options: { tty?: boolean; input?: string; env?: Record<string, string> } = {}) {
  const { tty = false, env = {} } = options
  const io = fakeIO({ cwd: await tempFolder(), tty, env })
  io.stdin.end(options.input ?? '')
  const code = await runCommand(args, io)
  return { code, stdout: io.out(), stderr: io.err() }
}

describe('an invalid command line exits with 2, a reason and a hint', () => {
  it.each<[string[], RegExp]>([
    [['--modle', 'x', 'Hi'], /unknown option '--modle'\n\(Did you mean --model\?\)\n\(toolloop --help/],
    [['Hi', '--max-iterations', '0'], /Expected an integer ≥ 1, got `0`/],
    [['Hi', '--max-iterations', '1.5'], /Expected an integer ≥ 1, got `1\.5`/],
    [['Hi', '--deadline', 'soon'], /Expected a number of seconds > 0, got `soon`/],
    [['Hi', '--timeout', ''], /Expected a number of seconds > 0, got ``/],
    [['Hi', '--json', '--events'], /expected one of --json and --events, got both/],
    [['doctor', '--tools', 'x.ts'], /`toolloop doctor` does not take -t, --tools <file>/],
    [['--events', 'chat'], /`toolloop chat` does not take --events/],
    [['Hi', '--workspace', 'gone'], /Expected `--workspace` to be a folder, found none at/],
    [['Hi', '--instructions', '@gone.md'], /Expected `--instructions` to name a file after the @: .*gone\.md/],
    [['Hi', '--tools', 'gone.ts'], /found no file at .*gone\.ts/],
    [['Hi', '--model', 'nowhere/x'], /nowhere/],
    [['Hi', '--model', 'opnai/x'], /Expected a known provider, got `opnai` \(did you mean `openai`\?\)\. Known: /],
    [['chatt'], /unknown command 'chatt'\n\(Did you mean chat\? To send it as a prompt: toolloop run chatt\)\n/],
    [['Serv', '--port', '80'], /unknown command 'Serv'\n\(Did you mean serve\?/],
    [['hlep'], /Did you mean help\?/],
    [['tols', 'list'], /unknown command 'tols'\n\(Did you mean tools\?.*run tols list\)/],
    [['tools', 'lst'], /unknown command 'lst'\n\(Did you mean list\?\)/],
    [['Hi', '--base-url', 'nowhere'], /Expected `--base-url` to be an http or https URL/],
    [['Hi', '--model', 'demo', '--tool-calling', 'xml'], /Expected `toolCalling` to be 'auto', 'native', 'tags', .*hermes.*, got `"xml"`/],
    [['-'], /Expected a prompt, got nothing on standard input/],
    [[], /Expected a prompt, got nothing on standard input/],
    [['  '], /Expected a prompt, got an empty text/],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  it('prints it to stdout too with --json', async () => {
    const { code, stdout } = await run(['Hi', '--json', '--tools', 'gone.ts'])
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toEqual({ error: { code: 'invalid_option', message: expect.stringContaining('gone.ts') } })
  })
})

describe('a prompt that looks like a command', () => {
  const prompts: string[][] = [
    ['Tokyo'],
    ['chart!'],
    ['chat', 'is', 'French', 'for', 'cat'].slice(1),
    ['tools', 'are', 'nice'].slice(1),
    ['run', 'chart'],
    ['skill trees'],
  ]
  it.each(prompts.map((words) => [words]))('is sent: %j', async (words) => {
    await using mock = await startStrictProvider({ script: ['ok'] })
    const { code } = await run([...words, '--no-builtin-tools', '-m', 'custom/m', '--base-url', mock.baseURL])
    expect(code).toBe(0)
    const prompt = words.join(' ').replace(/^run /, '')
    expect(mock.requests[0]?.body.messages).toEqual([{ role: 'user', content: prompt }])
  })
})

describe('a command line without a prompt', () => {
  it('opens the chat on a terminal, unless data is requested', async () => {
    const { code, stderr } = await run(['-m', 'demo'], { tty: true })
    expect(code).toBe(0)
    expect(stderr).toContain('/help lists the commands')
    expect(stderr).toMatch(/try: How many files are here, and which is the longest\? · What is 15% of 240\?/)
    expect(await run(['--json'], { tty: true })).toMatchObject({ code: 2, stderr: expect.stringContaining('Expected a prompt, got none') })
  })

  it('otherwise prints two examples that can be copied', async () => {
    const { code, stderr } = await run([])
    expect(code).toBe(2)
    const [, example = '', piped = ''] = /Try:\n {2}toolloop "(.*)"\n {2}echo "(.*)" \| toolloop\n$/.exec(stderr) ?? []
    expect((await run([example])).stdout).toMatch(/391/)
    expect((await run([], { input: `${piped}\n` })).stdout).toMatch(/Tokyo.* \d\d:\d\d/)
  })

  it('starts the examples with the command that was used', async () => {
    const started = (npm_lifecycle_event: string) => run([], { env: { npm_lifecycle_event } })
    expect((await started('start')).stderr).toMatch(/ {2}npm start -- "What.*\n {2}echo ".*" \| npm start\n/)
    expect((await started('npx')).stderr).toMatch(/ {2}npx toolloop "What.*\n {2}echo ".*" \| npx toolloop\n/)
  })
})

describe('help', () => {
  it('lists options, examples and exit codes', async () => {
    const { code, stdout, stderr } = await run(['--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const text of ['--model <provider/name>', 'Examples\n', 'toolloop doctor', describeExitCodes()]) expect(stdout).toContain(text)
  })

  it('lists the options of a command', async () => {
    const { stdout } = await run(['doctor', '--help'])
    expect(stdout).toContain('--json')
    expect(stdout).not.toContain('--tools')
  })

  it('has one line for every exit code', () => {
    const codes = describeExitCodes()
      .split('\n')
      .map((line) => Number.parseInt(line, 10))
    expect(codes).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130])
  })
})

it('--version prints the version', async () => {
  const { code, stdout } = await run(['--version'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/)
})

it('an old Node.js gets one line that says so', async () => {
  const old = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.19.0" } })'
  const { code, stdout, stderr } = await runCli(['--help'], {
    cwd: await tempFolder(),
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(old)}`],
  })
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: 'toolloop needs Node.js 22.18 or newer; this is 20.19.0\n' })
})
