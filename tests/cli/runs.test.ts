import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { fakeIO } from './fake-io.ts'
import { type FinishedCli, startCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const index = fileURLToPath(new URL('../../src/index.ts', import.meta.url))
const amount = "parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }"
const tools = `
import { existsSync, writeFileSync } from 'node:fs'
import { ask, defineTool } from ${JSON.stringify(index)}
export const pay = defineTool({
  name: 'pay', description: 'Pays money.', approval: true, ${amount},
  execute: ({ amount }) => 'paid ' + amount,
})
export const donate = defineTool({
  name: 'donate', description: 'Donates money.', ${amount},
  execute: ({ amount }, { answer }) => (answer === undefined ? ask({ about: 'To whom?' }) : amount + ' for ' + answer),
})
export const sell = defineTool({ name: 'sell', description: 'Sells.', ${amount} })
const asleep = import.meta.dirname + '/asleep.txt'
export const sleep = defineTool({
  name: 'sleep', description: 'Sleeps.', effect: 'read', ${amount},
  execute: () => existsSync(asleep) ? 'slept' : (writeFileSync(asleep, ''), new Promise(() => {})),
})
`

/** Runs a command; with `answers`, on a terminal where a person gives them to its questions. */
async function command(args: readonly string[], cwd: string, answers?: readonly string[]): Promise<FinishedCli> {
  const io = fakeIO({ cwd, tty: answers !== undefined, env: { NO_COLOR: '1', TOOLLOOP_JOURNAL: 'runs.sqlite' } })
  if (answers === undefined) io.stdin.end()
  const code = runCommand(args, io)
  for (const answer of answers ?? []) {
    // Text that is typed before there is a question answers none.
    await vi.waitFor(() => expect(io.err()).toMatch(answer === 'y' || answer === 'w' ? /\[w\]hy not $/ : /(why not\?|refuses\):) $/), {
      timeout: 50_000,
    })
    io.stdin.write(answer)
  }
  return { code: await code, stdout: io.out(), stderr: io.err() }
}

/** A folder with these tools, and a run in its journal that has made a call and waits. */
async function waiting(tool: string) {
  const cwd = await tempFolder({ 'tools.ts': tools })
  const agent = ['--tools', 'tools.ts', '--no-builtin-tools']
  const ran = await command(['run', ...agent, `Use ${tool} with amount 5`], cwd)
  expect(ran.code).toBe(8)
  const [{ runId }] = JSON.parse((await command(['runs', 'list', '--json'], cwd)).stdout)
  const decide = (args: readonly string[], answers?: readonly string[]) =>
    command(['runs', 'decide', runId, ...agent, ...args], cwd, answers)
  const show = async () => JSON.parse((await command(['runs', 'show', runId, '--json'], cwd)).stdout)
  return { cwd, runId, decide, show, ran, agent }
}

async function written(name: string, folder: string): Promise<void> {
  for await (const { filename } of watch(folder)) if (filename === name) return
}

describe('toolloop runs', () => {
  it('exports everything about a run, without secrets, with its recording if given', async () => {
    const cwd = await tempFolder()
    const agent = ['run', '--no-builtin-tools', '--record', 'run.json']
    await command([...agent, 'My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'], cwd)
    const [{ runId }] = JSON.parse((await command(['runs', 'list', '--json'], cwd)).stdout)
    const plain = await command(['runs', 'export', runId], cwd)
    expect(JSON.parse(plain.stdout)).toMatchObject({ toolloop: expect.any(String), run: { runId, status: 'ended', result: { runId } } })
    expect(plain.stdout).not.toContain('sk-proj-')
    expect(JSON.parse(plain.stdout)).not.toHaveProperty('recording')
    const whole = await command(['runs', 'export', runId, '--record', 'run.json'], cwd)
    expect(JSON.parse(whole.stdout)).toMatchObject({ recording: { runId } })
    expect(await command(['runs', 'export', 'run_none'], cwd)).toMatchObject({ code: 2, stdout: '' })
    await command([...agent, 'Another'], cwd)
    expect(await command(['runs', 'export', runId, '--record', 'run.json'], cwd)).toMatchObject({ code: 2, stdout: '' })
  })

  it('lists a waiting run, shows it, and continues with its decision, once', async () => {
    const { cwd, runId, decide, ran } = await waiting('pay')
    expect(ran.stderr).toContain(`to decide: toolloop runs decide ${runId} --tools tools.ts --no-builtin-tools\n`)
    const listed = await command(['runs', 'list', '--status', 'waiting'], cwd)
    expect(listed.stdout).toMatch(/^run_\S+ {2}\S+Z {2}waiting for pay\n$/)
    expect((await command(['runs', 'show', runId], cwd)).stdout).toContain('waits: call_1 pay {"amount":5} (approval)')
    expect(await decide(['--yes'])).toMatchObject({ code: 0, stdout: expect.stringContaining('paid 5') })
    expect((await command(['runs', 'show', runId], cwd)).stdout).toMatch(/^run_\S+ answered, .*\nuser: Use pay/)
    const again = await decide(['--yes'])
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('it waits for nothing') })
    expect((await command(['runs', 'list', '--status', 'waiting', '--json'], cwd)).stdout).toBe('[]\n')
    const chosen = async (...filters: string[]) => (await command(['runs', 'list', ...filters], cwd)).stdout.split('\n').length - 1
    expect([await chosen('--stop-reason', 'answered'), await chosen('--stop-reason', 'budget')]).toEqual([1, 0])
    const models = ['demo/demo', 'demo', 'dem', 'other']
    expect(await Promise.all(models.map((model) => chosen('--model', model)))).toEqual([1, 1, 0, 0])
    expect([await chosen('--session', 'none'), await chosen('--process', 'gone'), await chosen('--metadata', 'org=acme')]).toEqual([
      0, 0, 0,
    ])
  })

  it.each([
    ['a refusal, with why', 'pay', ['--reject', 'too much'], 'too much'],
    ['an answer to a question', 'donate', ['--answer', 'the cats'], '5 for the cats'],
    ['the result of a call that is the caller’s', 'sell', ['--answer', '{"sold":true}', '--call', 'call_1'], 'sold'],
  ])('accepts %s', async (_what, tool, args, told) => {
    const { decide, show } = await waiting(tool)
    await decide(args)
    const { status, result } = await show()
    expect(status).toBe('ended')
    expect(JSON.stringify(result.messages.find(({ role }: { role: string }) => role === 'tool'))).toContain(told)
  })

  it.each([
    ['pay', ['y'], 'paid 5'],
    ['pay', ['w', 'not today\r'], 'not today'],
    ['donate', ['the dogs\r'], '5 for the dogs'],
  ])('asks on a terminal: %s, %j', async (tool, answers, told) => {
    const { decide, show } = await waiting(tool)
    const { stderr } = await decide([], answers)
    expect(stderr).toContain(tool === 'pay' ? 'run pay {"amount":5}?' : 'donate: To whom?')
    expect(JSON.stringify((await show()).result.messages)).toContain(told)
  })

  it.each([
    ['pay', [], 'Expected `--yes` to be given, or `--reject` or `--answer`, where no terminal is there'],
    ['pay', ['--answer', 'x'], 'Expected --yes or --reject for call_1 (pay)'],
    ['donate', ['--yes'], 'Expected --answer for call_1 (donate)'],
    ['pay', ['--yes', '--reject'], 'Expected one of --yes, --reject and --answer, got more'],
    ['pay', ['--yes', '--call', 'call_9'], 'to wait for call_9; it waits for call_1 (pay)'],
  ])('refuses a decision that does not match, and the run keeps waiting: %s %j', async (tool, args, words) => {
    const { decide, show } = await waiting(tool)
    const { code, stderr } = await decide(args)
    expect(stderr).toContain(words)
    expect(code).toBe(2)
    expect(await show()).toMatchObject({ status: 'waiting', pending: [{ tool }] })
  })

  it('ends a waiting run', async () => {
    const { cwd, runId, show } = await waiting('pay')
    expect(await command(['runs', 'cancel', runId], cwd)).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await show()).toMatchObject({ status: 'ended', stopReason: 'aborted' })
  })

  it('continues a run whose process was killed', async () => {
    const cwd = await tempFolder({ 'tools.ts': tools })
    const agent = ['--tools', 'tools.ts', '--no-builtin-tools', '--journal', 'runs.sqlite']
    const asleep = written('asleep.txt', cwd)
    const killed = startCli(['run', ...agent, 'Use sleep with amount 5'], { cwd })
    await asleep
    killed.child.kill('SIGKILL')
    await once(killed.child, 'close')
    const [{ runId, status }] = JSON.parse((await command(['runs', 'list', '--json'], cwd)).stdout)
    expect(status).toBe('running')
    const resumed = await command(['runs', 'resume', runId, ...agent], cwd)
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('slept') })
  })

  it.each([
    [['list'], 'Expected `--journal` to name the file in which `toolloop run` recorded its runs, got runs.sqlite, which does not exist'],
    [['list', '--status', 'lost'], "argument 'lost' is invalid"],
    [['list', '--metadata', 'org'], 'Expected `field=value`, got `org`'],
    [['show'], "missing required argument 'run'"],
    [['list', '--yes'], '`toolloop runs list` does not take'],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await command(['runs', ...args], await tempFolder())
    expect(stderr).toContain(words)
    expect(code).toBe(2)
  })

  it('prints a command that a shell reads correctly, whatever its options', async () => {
    const cwd = await tempFolder({ 'tools.ts': tools })
    const options = ['--tools', 'tools.ts', '--no-builtin-tools', '-i', "Don't ask", '--journal', 'a b/runs.sqlite']
    const { stderr } = await command(['run', ...options, 'Use pay with amount 5'], cwd)
    const [, line = ''] = /to decide: toolloop (.*)\n/.exec(stderr) ?? []
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' })
      .split('\n')
      .slice(0, -1)
    expect(words).toEqual(expect.arrayContaining(["Don't ask", 'a b/runs.sqlite']))
    expect(await command([...words, '--yes'], cwd)).toMatchObject({ code: 0, stdout: expect.stringContaining('paid 5') })
  })

  it('names an unknown run', async () => {
    const { cwd } = await waiting('pay')
    for (const name of ['show', 'cancel', 'resume'])
      expect(await command(['runs', name, 'run_none'], cwd)).toMatchObject({ code: 2, stderr: expect.stringContaining('run_none') })
  })
})
