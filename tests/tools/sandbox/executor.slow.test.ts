import { execFile, spawn } from 'node:child_process'
import { chmod, copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { ToolDispatcher } from '../../../src/tools/dispatcher.ts'
import { SkillsSandboxExecutor } from '../../../src/tools/sandbox/executor.ts'
import { findIsolation } from '../../../src/tools/sandbox/process/isolation.ts'
import type { HostCall } from '../../../src/tools/sandbox/sandbox.ts'
import { loadSkills } from '../../../src/tools/skills/index.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { turnEventLoop } from '../../hazards/waiting.ts'

const isolation = await findIsolation()
const signal = new AbortController().signal

async function commandLines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
}

/** Whether a process with this argument is running. */
const isRunning = async (argument: string) => (await commandLines()).some((line) => line.split('\0').includes(argument))

afterEach(() => void vi.useRealTimers())

describe('SkillsSandboxExecutor', () => {
  it('S1-24 S1-25 kills a Skill’s VM at its time limit, returns a timeout error, and the loop continues', async () => {
    const folder = await tempFolder({
      'spin/SKILL.md': '---\nname: spin\ndescription: d\nmetadata: { toolloop-tools: tools.yaml }\n---\nx',
      'spin/tools.yaml':
        'tools: [{ description: spins, script: spin.mjs, timeoutMs: 150 }, { name: quick, description: q, script: quick.mjs }]',
      'spin/spin.mjs': 'export default () => { for (;;); }',
      'spin/quick.mjs': 'export default () => "quick"',
    })
    // A single thread: while the first script spins in it, no other can run.
    await using skills = await loadSkills({ paths: [folder], project: false, user: false, sandbox: { threads: 1 } })
    const { logger } = recordingLogger()
    const tools = new ToolDispatcher([{ kind: 'skill', tools: skills }], { logger })
    expect(await tools.dispatch('quick')).toEqual({ success: true, result: 'quick' })
    const model = scriptedModel([{ toolCalls: [{ name: 'spin' }] }, { toolCalls: [{ name: 'quick' }] }, 'done'])
    const result = await new AgentRunner({ model, tools, logger }).run('go')
    expect(result).toMatchObject({
      stopReason: 'answered',
      output: 'done',
      toolCalls: [{ outcome: 'timeout' }, { outcome: 'ok', value: 'quick' }],
    })
    expect(result.toolCalls[0]?.content).toBe('Tool `spin` timed out after 150 ms. It may have taken effect.')
  })

  it.skipIf(!isolation.available)('S1-24 kills a Skill’s process with everything it started at its time limit', async () => {
    const mark = `86401.${process.pid}`
    const folder = await tempFolder({
      'spin/SKILL.md': '---\nname: spin\ndescription: d\n---\nx',
      'spin/scripts/spin.sh': `(trap "" TERM; setsid sleep ${mark}) & trap "" TERM; sleep ${mark}; wait`,
    })
    await using skills = await loadSkills({ paths: [folder], project: false, user: false })
    const tools = new ToolDispatcher([{ kind: 'skill', tools: skills }], { logger: recordingLogger().logger })
    // However long it takes to start, its time is over while it runs.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const running = tools.dispatch('spin')
    while (!(await isRunning(mark))) await turnEventLoop(1)
    vi.advanceTimersByTime(30_000)
    vi.useRealTimers()
    expect(await running).toEqual({ success: false, error: 'Tool `spin` timed out after 30000 ms. It may have taken effect.' })
    await expect.poll(() => isRunning(mark), { interval: 5, timeout: 10_000 }).toBe(false)
  })

  it.skipIf(!isolation.available)('kills a process on abort, and all running ones when closed', async () => {
    const mark = `86402.${process.pid}`
    const folder = await tempFolder({ 'wait.sh': `sleep ${mark}` })
    await using executor = new SkillsSandboxExecutor()
    const controller = new AbortController()
    const aborted = executor.run({ folder, script: 'wait.sh', args: [], signal: controller.signal })
    const closed = executor.run({ folder, script: 'wait.sh', args: [], signal })
    await expect.poll(() => isRunning(mark), { interval: 5, timeout: 10_000 }).toBe(true)
    controller.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    await executor.close()
    await expect(closed).rejects.toThrow('closed')
    await expect.poll(() => isRunning(mark), { interval: 5, timeout: 10_000 }).toBe(false)
  })

  it.skipIf(!isolation.available)('leaves nothing of a process, whenever it is aborted', async () => {
    const mark = `86403.${process.pid}`
    const folder = await tempFolder({ 'wait.sh': 'sleep $1' })
    await using executor = new SkillsSandboxExecutor()
    const run = async (turns: number) => {
      const controller = new AbortController()
      const ended = executor.run({ folder, script: 'wait.sh', args: [mark], signal: controller.signal })
      const refused = expect(ended).rejects.toThrow('enough')
      await turnEventLoop(turns)
      controller.abort(new Error('enough'))
      await refused
    }
    for (let turns = 1; turns <= 4_000; turns *= 2) await Promise.all([run(turns), run(Math.ceil(turns * 1.4))])
    await expect.poll(() => isRunning(mark), { interval: 5, timeout: 10_000 }).toBe(false)
  })

  it('queues scripts beyond the number of threads; an aborted one leaves the queue', async () => {
    const folder = await tempFolder({ 'a.mjs': 'export default async (n, host) => [n, await host.call("wait")]' })
    await using executor = new SkillsSandboxExecutor({ threads: 1 })
    const gate = Promise.withResolvers<string>()
    const call: HostCall = () => gate.promise
    const controller = new AbortController()
    const run = (n: string, of = signal) => executor.run({ folder, script: 'a.mjs', args: [n], signal: of, call })
    const [first, second, third] = [run('1'), run('2', controller.signal), run('3')]
    await turnEventLoop(5)
    controller.abort(new Error('no longer'))
    await expect(second).rejects.toThrow('no longer')
    gate.resolve('go')
    expect([await first, await third].map(({ value }) => value)).toEqual([
      [['1'], 'go'],
      [['3'], 'go'],
    ])
  })

  it('does not pass a late answer to the next script', async () => {
    const folder = await tempFolder({
      'early.mjs': 'export default (args, host) => { host.call("late"); return "gone" }',
      'next.mjs': 'export default (args, host) => host.call("mine")',
    })
    await using executor = new SkillsSandboxExecutor({ threads: 1 })
    const [late, mine] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    const asked = Promise.withResolvers<void>()
    const call: HostCall = (name) => {
      if (name === 'late') return late.promise
      asked.resolve()
      return mine.promise
    }
    expect(await executor.run({ folder, script: 'early.mjs', args: [], signal, call })).toMatchObject({ value: 'gone' })
    const next = executor.run({ folder, script: 'next.mjs', args: [], signal, call })
    await asked.promise
    late.resolve('of another')
    await turnEventLoop(5)
    mine.resolve('mine')
    expect(await next).toMatchObject({ value: 'mine' })
  })

  it('limits calls of the host, and ends them with the script', async () => {
    const folder = await tempFolder({
      'many.mjs':
        'export default async (args, host) => { let n = 0; try { for (;;) { await host.call("x"); n++ } } catch (e) { return [n, e.message] } }',
      'lost.mjs': 'export default (args, host) => { host.call("wait"); throw new Error("over") }',
    })
    await using executor = new SkillsSandboxExecutor()
    const run = (script: string, call: HostCall) => executor.run({ folder, script, args: [], signal, call })
    expect(await run('many.mjs', async () => 1)).toMatchObject({ value: [100, 'This script may make at most 100 calls to host tools.'] })
    const seen = Promise.withResolvers<AbortSignal>()
    const waits: HostCall = (_name, _args, of) => {
      seen.resolve(of)
      return new Promise(() => {})
    }
    await expect(run('lost.mjs', waits)).rejects.toThrow('over')
    expect((await seen.promise).aborted).toBe(true)
  })

  it('starts no thread and compiles no engine for a warm call, and a script leaves nothing for the next', async () => {
    const folder = await tempFolder({
      'a.mjs': 'globalThis.n = (globalThis.n ?? 0) + 1\nArray.prototype.extra = 1\nexport default () => globalThis.n',
    })
    await using executor = new SkillsSandboxExecutor({ threads: 1 })
    const run = () => executor.run({ folder, script: 'a.mjs', args: [], signal })
    await run()
    for (let i = 0; i < 3; i++) expect(await run()).toMatchObject({ value: 1 })
  })

  it('lets the process end despite a warm thread', async () => {
    const folder = await tempFolder({ 'a.mjs': 'export default () => 1' })
    const source = new URL('../../../src/tools/skills/index.ts', import.meta.url).href
    const script = `import { SkillsSandboxExecutor } from ${JSON.stringify(source)}
      const executor = new SkillsSandboxExecutor()
      console.log(await executor.run({ folder: ${JSON.stringify(folder)}, script: 'a.mjs', args: [], signal: new AbortController().signal }))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 50_000 })
    expect(stdout).toContain('value: 1')
  })

  it.skipIf(!isolation.available)('closes the host’s inherited files for a process', async () => {
    const folder = await tempFolder({ 'a.sh': 'ls /proc/self/fd | tr "\\n" " "' })
    const source = new URL('../../../src/tools/skills/index.ts', import.meta.url).href
    const script = `import { readdirSync } from 'node:fs'
      import { SkillsSandboxExecutor } from ${JSON.stringify(source)}
      const run = { folder: ${JSON.stringify(folder)}, script: 'a.sh', args: [], signal: new AbortController().signal }
      const { stdout } = await new SkillsSandboxExecutor().run(run)
      console.log(JSON.stringify([readdirSync('/proc/self/fd').includes('29'), stdout]))`
    const stdio: ('ignore' | 'pipe')[] = Array.from({ length: 30 }, (_, fd) => (fd === 1 || fd === 29 ? 'pipe' : 'ignore'))
    const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], { stdio })
    if (child.stdout === null) throw new Error('no pipe')
    const stdout = await text(child.stdout)
    // Descriptor 3 is the one that `ls` reads them from.
    expect(JSON.parse(stdout)).toEqual([true, '0 1 2 3 '])
  })

  it('runs TypeScript that is JavaScript with types, and refuses anything else with a message', async () => {
    const folder = await tempFolder({
      'a.ts':
        "import { twice } from './lib/b.mts'\nimport data from './data.json'\nexport default (n: number[]): number => twice(data.n as number)",
      'lib/b.mts': 'export const twice = (n: number): number => n * 2',
      'data.json': '{"n": 21}',
      'enum.ts': 'enum A { B }\nexport default () => A.B',
    })
    await using executor = new SkillsSandboxExecutor()
    const run = (script: string) => executor.run({ folder, script, args: [], signal })
    expect(await run('a.ts')).toMatchObject({ value: 42 })
    await expect(run('enum.ts')).rejects.toThrow(/TypeScript enum is not supported/)
  })

  it.skipIf(!isolation.available || process.getuid?.() !== 0)(
    'copies a folder that only root can enter, and removes the copy',
    async () => {
      const folder = await tempFolder({ 'a.sh': 'cat data.txt', 'data.txt': 'mine' })
      await chmod(folder, 0o700)
      await using executor = new SkillsSandboxExecutor()
      expect(await executor.run({ folder, script: 'a.sh', args: [], signal })).toMatchObject({ stdout: 'mine' })
      const copies = async () => (await readdir(join(folder, '..'))).filter((name) => name.startsWith('toolloop-skill-'))
      await expect.poll(copies).toEqual([])
    },
  )

  it.skipIf(!isolation.available || process.getuid?.() !== 0)(
    'X9 runs a Node.js script if only root can enter the folder of Node.js; the script sees an ordinary file',
    async () => {
      const folder = await tempFolder({
        'a.cjs': "console.log(process.execPath, require('node:fs').statSync(process.execPath).mode.toString(8))",
      })
      const home = await tempFolder()
      await copyFile(process.execPath, join(home, 'node'))
      await chmod(home, 0o700)
      const source = new URL('../../../src/tools/sandbox/executor.ts', import.meta.url).href
      const program = `
        import { SkillsSandboxExecutor } from ${JSON.stringify(source)}
        await using executor = new SkillsSandboxExecutor({ limits: { memoryBytes: 16_777_216 } })
        const signal = new AbortController().signal
        console.log((await executor.run({ folder: ${JSON.stringify(folder)}, script: 'a.cjs', args: [], signal })).stdout)`
      const { stdout } = await promisify(execFile)(join(home, 'node'), ['--no-warnings', '--input-type=module', '-e', program])
      expect(stdout.trim()).toBe('/run/node 100555')
    },
  )

  it.skipIf(!isolation.available || process.getuid?.() !== 0)(
    'X9 names a `readable` file or workspace that only root can read in the error',
    async () => {
      const folder = await tempFolder({ 'a.sh': 'true' })
      const closed = await tempFolder({ data: '' })
      await chmod(closed, 0o700)
      for (const [options, words] of [
        [{ readable: [join(closed, 'data')] }, `\`${join(closed, 'data')}\`, which \`readable\` names, is not accessible`],
        [{ workspace: closed }, 'the workspace is not accessible'],
      ] as const) {
        await using executor = new SkillsSandboxExecutor(options)
        await expect(executor.run({ folder, script: 'a.sh', args: [], signal })).rejects.toThrow(words)
      }
    },
  )

  it('reports what is available', async () => {
    const report = await SkillsSandboxExecutor.available()
    expect(report.vm.available).toBe(true)
    expect(report.process.available).toBe(isolation.available)
    expect(report.process.why).toBe(isolation.available ? undefined : isolation.why)
  })
})
