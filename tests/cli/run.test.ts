import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import type { MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { fakeIO } from './fake-io.ts'
import { type FinishedCli, runCli, startCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const addTool = `import { defineTool } from 'toolloop'
type Numbers = { a: number; b: number }
export const add = defineTool({
  name: 'add', description: 'Adds two numbers.', effect: 'read', secrets: ['pin'],
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' }, pin: { type: 'string' } }, required: ['a', 'b'] },
  execute: (args) => { const { a, b } = args as Numbers; return { sum: a + b, big: 1n } },
})`

/** The same tool for a command that runs in this process, where Node.js does not load modules itself. */
const plainAddTool = addTool.replace(/^import .*\n/, '').replace('defineTool(', '(')

/** Runs it in this process, because only its output and exit code matter. */
async function runHere(
  args: readonly string[],
  { cwd, env = {}, input = '' }: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<FinishedCli> {
  const io = fakeIO({ cwd, env })
  io.stdin.end(input)
  return { code: await runCommand(args, io), stdout: io.out(), stderr: io.err() }
}

async function provider(options: MockProviderOptions) {
  const mock = await startStrictProvider(options)
  onTestFinished(() => mock.close())
  return { mock, env: { TOOLLOOP_MODEL: 'custom/mock-model' }, url: ['--base-url', mock.baseURL] }
}
const call = (args: object, name = 'add') => ({ text: 'Let me see.', toolCalls: [{ name, arguments: { ...args } }] })

describe('toolloop run', () => {
  it('applies the limits of the configuration, which the command line overrides', async () => {
    const again = Array.from({ length: 8 }, (_, at) => call({ a: at, b: 1 }))
    const { mock, env, url } = await provider({ script: again })
    const cwd = await tempFolder({ 't.ts': plainAddTool, 'toolloop.yaml': 'limits: { maxIterations: 2, maxResultBytes: 20 }' })
    const args = ['--no-builtin-tools', '-t', 't.ts', ...url]
    expect(await runHere([...args, 'Add.'], { cwd, env })).toMatchObject({ code: 3, stderr: expect.stringContaining('after 2 iterations') })
    expect(await runHere([...args, '-n', '3', 'Add.'], { cwd, env })).toMatchObject({
      stderr: expect.stringContaining('after 3 iterations'),
    })
    expect(mock.requests).toHaveLength(5)
    const spent = await tempFolder({ 't.ts': plainAddTool, 'toolloop.yaml': 'limits: { tokens: 1 }' })
    expect((await runHere([...args, 'Add.'], { cwd: spent, env })).code).toBe(4)
  })

  it('answers with the demo model and the built-in tools if there is no key: answer on stdout, the rest on stderr', async () => {
    const cwd = await tempFolder({ 'a.ts': '', 'src/b.ts': '', 'src/c.js': '' })
    const { code, stdout, stderr } = await runHere(['How many TypeScript files are in this project?'], { cwd })
    expect(code).toBe(0)
    expect(stdout).toMatch(/\b2\b/)
    expect(stdout).not.toMatch(/[→✓]/u)
    const [first, ...rest] = stderr.trimEnd().split('\n')
    expect(first).toBe('demo model (no key found) — see toolloop doctor')
    expect(rest[0]).toMatch(/^→ \w+ \{.*\}$/u)
    expect(rest[1]).toMatch(/^✓ \w+ [\d.]+ m?s · [\d.]+ (B|KiB)$/u)
  })

  it('`--code-mode` has the model write a script, which is shown with its calls beneath', async () => {
    const code = 'const { sum } = await tools.add({ a: 1, b: 2 })\nreturn (await tools.add({ a: sum, b: 3 })).sum'
    const { mock, env, url } = await provider({ script: [{ toolCalls: [{ name: 'run_script', arguments: { code } }] }, 'It is 6.'] })
    const cwd = await tempFolder({ 't.ts': plainAddTool })
    const { stdout, stderr } = await runHere(['--code-mode', '--no-builtin-tools', '-t', 't.ts', ...url, 'Add.'], { cwd, env })
    expect(stdout).toBe('It is 6.\n')
    const lines = stderr
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.replace(/\d+ ms|\d+\.\d s/g, 'N ms'))
    expect(lines).toEqual([
      '→ run_script',
      '  1 const { sum } = await tools.add({ a: 1, b: 2 })',
      '  2 return (await tools.add({ a: sum, b: 3 })).sum',
      '  → add {"a":1,"b":2}',
      '  ✓ add {"a":1,"b":2} N ms · 19 B',
      '  → add {"a":3,"b":3}',
      '  ✓ add {"a":3,"b":3} N ms · 19 B',
      '✓ run_script N ms · 1 B',
    ])
    expect(mock.requests).toHaveLength(2)
  })

  it('`--preview` carries out nothing, and pauses with the plan', async () => {
    const { env, url } = await provider({ script: [call({ a: 2, b: 3 }), 'I would add.'] })
    const cwd = await tempFolder({ 't.ts': plainAddTool.replace("effect: 'read', ", '') })
    const { code, stdout } = await runHere(['--preview', '--json', '--no-builtin-tools', '-t', 't.ts', ...url, 'Add.'], { cwd, env })
    const { stopReason, pending, toolCalls } = JSON.parse(stdout)
    expect([code, stopReason, toolCalls]).toEqual([8, 'paused', []])
    expect(pending).toMatchObject([{ kind: 'approval', tool: 'add', plan: { at: 1, of: 1 } }])
    const both = await runHere(['--preview', '--yes', ...url, 'Add.'], { cwd, env })
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("'--preview' cannot be used with option '-y, --yes'")])
  })

  it('runs tools of a TypeScript module that imports toolloop, and streams text and tool lines', async () => {
    const cwd = await tempFolder({ 'tools/add.ts': addTool })
    const { mock, env, url } = await provider({ script: [call({ a: 2, b: 3, pin: 'swordfish' }), 'It is 5.'] })
    const args = ['run', 'What', 'is', '2+3?', '--tools', './tools/add.ts', '--no-builtin-tools', '-i', 'Be brief.', ...url]
    const { code, stdout, stderr } = await runCli(args, { cwd, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Let me see.\nIt is 5.\n' })
    expect(stderr).toMatch(
      /^model: custom\/mock-model \(TOOLLOOP_MODEL\)\n→ add \{"a":2,"b":3,"pin":"\[redacted\]"\}\n✓ add [\d.]+ m?s · 19 B\n$/u,
    )
    const [request] = mock.requests
    expect(request?.body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is 2+3?' },
    ])
  })

  it('S3-3 warns once of a backend in toolloop.yaml that is not installed, and continues with the other', async () => {
    const cwd = await tempFolder({ 'toolloop.yaml': 'backend: langchain\n' })
    const hook = `import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) { if (/^@?langchain/.test(name)) throw new Error('no ' + name); return next(name, context) } })`
    const { env, url } = await provider({ script: ['It is 5.'] })
    const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
    const { code, stdout, stderr } = await runCli(['What is 2+3?', '--no-builtin-tools', ...url], { cwd, env, execArgv })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'It is 5.\n' })
    expect(stderr.match(/the backend `langchain` could not be loaded, `native` is used instead/g)).toHaveLength(1)
  })

  it('prints the result as one object, and nothing else, with --json', async () => {
    const cwd = await tempFolder({ 'add.ts': plainAddTool })
    const { env, url } = await provider({ script: [call({ a: 2, b: 3 }), 'It is 5.'] })
    const { code, stdout, stderr } = await runHere(['--json', '--quiet', '-t', 'add.ts', 'Add.', ...url], { cwd, env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const result = JSON.parse(stdout)
    expect(result).toMatchObject({ output: 'It is 5.', stopReason: 'answered', iterations: 2, toolCalls: [{ tool: 'add', outcome: 'ok' }] })
    expect(result.toolCalls[0]).not.toHaveProperty('value')
    expect(result.messages).toHaveLength(4)
  })

  it('H16 prints every event and finally the result as lines of JSON, without secrets, with --events', async () => {
    const cwd = await tempFolder({ 'add.ts': plainAddTool })
    const { env, url } = await provider({ script: [call({ a: 2, b: 3, pin: 'swordfish' }), 'It is 5.'] })
    const { code, stdout } = await runHere(['--events', '-t', 'add.ts', 'Add.', ...url], { cwd, env })
    expect(code).toBe(0)
    expect(stdout).not.toContain('swordfish')
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const types = lines.map(({ type }) => type)
    expect(types[0]).toBe('RUN_START')
    expect(types.slice(-2)).toEqual(['RUN_END', 'RESULT'])
    expect(types.filter((type) => type === 'TOOL_CALL_START' || type === 'TOOL_CALL_END')).toEqual(['TOOL_CALL_START', 'TOOL_CALL_END'])
    const text = lines
      .filter(({ type }) => type === 'TEXT_DELTA')
      .map((event) => event.text)
      .join('')
    expect(text).toBe('Let me see.It is 5.')
    expect(lines.at(-1).result).toMatchObject({ output: 'It is 5.', stopReason: 'answered' })
  })

  it('reads the prompt from piped stdin', async () => {
    const cwd = await tempFolder()
    const { mock, env, url } = await provider({ script: ['Yes.'] })
    const { stdout } = await runHere(['-q', '--no-builtin-tools', ...url], { cwd, env, input: 'First line\nsecond: ✓\n' })
    expect(stdout).toBe('Yes.\n')
    expect(mock.requests[0]?.body.messages).toEqual([{ role: 'user', content: 'First line\nsecond: ✓' }])
  })
})

describe('the exit code of toolloop run', () => {
  it('is 3 at the iteration limit', async () => {
    const cwd = await tempFolder({ 'add.ts': plainAddTool })
    const { env, url } = await provider({ script: (_request, index) => call({ a: index, b: 0 }) })
    const { code, stderr } = await runHere(['-t', 'add.ts', '-n', '2', 'Add.', ...url], { cwd, env })
    expect(code).toBe(3)
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('stopped: no answer after 2 iterations; --max-iterations allows more')
  })

  it('is 4 at the deadline', async () => {
    const cwd = await tempFolder()
    const { env, url } = await provider({ script: [{ hang: true }] })
    const { code, stdout, stderr } = await runHere(['--deadline', '0.2', 'Wait.', ...url], { cwd, env })
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toContain('stopped: the deadline passed')
  })

  it('is 5 if the model fails', async () => {
    const cwd = await tempFolder()
    const { env, url } = await provider({ faults: () => ({ status: 401 }), script: [] })
    const { code, stdout, stderr } = await runHere(['Hi.', ...url], { cwd, env })
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toMatch(/^model error: .*\(unauthorized\)$/m)
  })

  it('F7 is 10 if the answer was cut, which is printed as far as it came', async () => {
    const cwd = await tempFolder()
    const { env, url } = await provider({ script: [{ text: 'The first half', finishReason: 'length' }] })
    const { code, stdout, stderr } = await runHere(['Explain.', ...url], { cwd, env })
    expect({ code, stdout }).toEqual({ code: 10, stdout: 'The first half\n' })
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('truncated: the answer was cut off at a token limit')
  })

  it('is 2 if a key is missing, with its name', async () => {
    const { code, stderr } = await runHere(['-m', 'openai/gpt-5.2', 'Hi.'], { cwd: await tempFolder() })
    expect(code).toBe(2)
    expect(stderr).toMatch(/error: .*OPENAI_API_KEY/)
  })

  it('is 8 if a call needs an approval and nobody is there; --yes approves it', async () => {
    const tools = plainAddTool.replace("effect: 'read'", 'approval: true')
    const cwd = await tempFolder({ 'add.ts': tools })
    const { env, url } = await provider({ script: [call({ a: 2, b: 3 }), call({ a: 2, b: 3 }), 'It is 5.'] })
    const refused = await runHere(['-t', 'add.ts', 'Add.', ...url], { cwd, env })
    expect(refused.code).toBe(8)
    expect(refused.stderr).toContain('paused: 1 call to be decided: add (needs an approval)')
    const { code, stdout } = await runHere(['--yes', '-t', 'add.ts', 'Add.', ...url], { cwd, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Let me see.\nIt is 5.\n' })
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('H30 is set by %s, which ends the run in an orderly way: the text so far stays, code %i', async (signal, expected) => {
    const cwd = await tempFolder()
    const { mock, env, url } = await provider({ script: [{ text: 'Half an answer', hang: true }] })
    const { child, finished, prints } = startCli(['Talk.', ...url], { cwd, env, input: null })
    await prints('Half an answer')
    child.kill(signal)
    const { code, stdout, stderr } = await finished
    expect({ code, stdout }).toEqual({ code: expected, stdout: 'Half an answer\n' })
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('aborted')
    // The request was aborted, not left hanging.
    await mock.waitForEnd(1)
  })

  it('is 130 immediately on a second SIGINT, if the first could not end it', async () => {
    const stuck =
      "process.on('SIGINT', () => console.log('heard'))\nconsole.log('loading')\nawait new Promise(() => setInterval(() => {}, 1_000))"
    const cwd = await tempFolder({ 'stuck.ts': stuck })
    const { child, finished, prints } = startCli(['-t', 'stuck.ts', 'Hi.'], { cwd, input: null })
    await prints('loading')
    child.kill('SIGINT')
    await prints('heard')
    child.kill('SIGINT')
    expect((await finished).code).toBe(130)
  })

  it('is 0 without a message if the reader of stdout disconnects', async () => {
    const cwd = await tempFolder()
    let goOn = () => {}
    const gone = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const { env, url } = await provider({ script: [{ chunks: ['The head', gone, ' and', ' the rest', ' of it.'], hang: true }] })
    const { child, finished, prints } = startCli(['-q', 'Talk.', ...url], { cwd, env, input: null })
    await prints('The head')
    child.stdout.destroy()
    goOn()
    const { code, stderr } = await finished
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })
})
