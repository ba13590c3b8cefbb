import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { geometry } from '../tools/skills/skill-folders.ts'
import { fakeIO } from './fake-io.ts'
import { tempFolder } from './temp-folder.ts'

const within = (folder: string, files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [join(folder, name), content]))
const joined = {
  'joined/SKILL.md': '---\nname: joined\ndescription: "Joins\\x1b[31m words."\n---\nx',
  'joined/scripts/join.mjs': 'export default (args) => args.join("+")',
}

async function run(args: string[], files: Record<string, string> = {}, input = '') {
  const cwd = await tempFolder(files)
  const io = fakeIO({ cwd, env: { HOME: join(cwd, 'home') } })
  io.stdin.end(input)
  const code = await runCommand(args, io)
  return { code, stdout: io.out(), stderr: io.err(), cwd }
}

describe('toolloop skills', () => {
  it('list: includes untrusted Skills of the project, and those of the user and of --skills', async () => {
    const files = {
      ...within('.agents/skills', joined),
      ...within('home/.toolloop/skills', geometry),
      'more/broken/SKILL.md': '---\nname: broken\n---\nx',
    }
    const { code, stdout, stderr, cwd } = await run(['skills', 'list', '--skills', 'more'], files)
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      `geometry user: ${cwd}/home/.toolloop/skills/geometry`,
      '  Areas and lengths.',
      `joined project, not trusted: ${cwd}/.agents/skills/joined`,
      '  Joins [31m words.',
      '',
    ])
    expect(stderr).toContain('error ')
    expect(stderr).toContain('Expected a `description`')
    const { stdout: json } = await run(['skills', 'list', '--json'], files)
    expect(JSON.parse(json)).toMatchObject({
      skills: [
        { name: 'geometry', scope: 'user', trusted: true, tools: ['circle_area', 'geometry'] },
        { name: 'joined', scope: 'project', trusted: false },
      ],
      problems: [{ severity: 'warning' }],
    })
    expect(await run(['skills', 'list'])).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('--skills names others') })
  })

  it('validate: reports problems, and exits with 1 for a Skill that can’t be used', async () => {
    const files = { ...within('s', geometry), 's/broken/SKILL.md': '# Hello' }
    expect(await run(['skills', 'validate', 's/geometry'], files)).toMatchObject({ code: 0, stdout: '✓ geometry: 3 scripts, 2 tools\n' })
    expect(await run(['skills', 'validate', 's/geometry/SKILL.md'], files)).toMatchObject({ code: 0 })
    const all = await run(['skills', 'validate', 's'], files)
    expect(all).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^error .*s\/broken\/SKILL\.md: Expected the file to begin with a frontmatter/),
    })
    const { code, stdout } = await run(['skills', 'validate', 'nope', '--json'], files)
    expect({ code, said: JSON.parse(stdout) }).toMatchObject({ code: 1, said: { ok: false, problems: [{ message: /found none/ }] } })
  })

  it('run: runs a script of a Skill by name or folder, with its arguments', async () => {
    const files = { ...within('.agents/skills', joined), ...within('s', joined) }
    expect(await run(['skills', 'run', 'joined', 'scripts/join.mjs', 'a', 'b'], files)).toMatchObject({
      code: 0,
      stdout: 'a+b\n',
      stderr: '',
    })
    const flags = ['skills', 'run', '--json', 's/joined', 'scripts/join.mjs', '--', '--a', '-b']
    expect(JSON.parse((await run(flags, files)).stdout)).toEqual({ success: true, result: '--a+-b' })
    expect(await run(['skills', 'run', 'joined', 'scripts/gone.mjs'], files)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('error: "scripts/gone.mjs" does not exist in the Skill joined. Its files: scripts/join.mjs.'),
    })
    expect(await run(['skills', 'run', 'nope', 'x'], files)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no Skill `nope`'),
    })
    expect(await run(['skills', 'run', 'nope'], files)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("missing required argument 'script'"),
    })
  })
})

it.each([
  ['run', ['run', 'call circle_area {"radius": 1}'], ''],
  ['chat', ['chat'], 'call circle_area {"radius": 1}\n'],
])('toolloop %s ends the threads in which scripts of Skills have run', async (_, args, input) => {
  const threads: Worker[] = []
  const note = (thread: Worker) => void threads.push(thread)
  process.on('worker', note)
  onTestFinished(() => void process.off('worker', note))
  const { code, stdout } = await run([...args, '--skills', 's', '--yes'], within('s', geometry), input)
  expect(code).toBe(0)
  expect(stdout).toContain('3.14')
  expect(threads.map(({ threadId }) => threadId)).toContain(-1)
  expect(new Set(threads.map(({ threadId }) => threadId))).toEqual(new Set([-1]))
})

describe('toolloop tools', () => {
  it('list: prints every tool a run would have, with its source', async () => {
    const files = {
      ...within('s', geometry),
      'mine.mjs': 'export const mine = { name: "mine", description: "Mine.", parameters: { type: "object" } }',
    }
    const { code, stdout } = await run(['tools', 'list', '--tools', 'mine.mjs', '--skills', 's', '--json'], files)
    expect(code).toBe(0)
    expect(JSON.parse(stdout).map(({ name, source }: Record<string, string>) => `${name} ${source}`)).toEqual([
      'mine registered',
      ...['list_files', 'read_file', 'search_files', 'calculate', 'current_time', 'fetch_url'].map((name) => `${name} builtin`),
      ...['activate_skill', 'read_skill_file', 'run_skill_script', 'circle_area', 'geometry'].map((name) => `${name} skill`),
    ])
    expect((await run(['tools', 'list', '--no-builtin-tools', '--skills', 's'], files)).stdout).toContain(
      'circle_area(radius) skill\n  The area of a circle.\n',
    )
  })

  it('X6 call: neither a result nor an error controls the terminal; a pipe gets the result unchanged', async () => {
    const evil = '\\x1b]0;owned\\x07\\u202efdp.exe'
    const files = {
      'tools.mjs': `export default [
        { name: 'read', description: 'Reads ${evil}.', parameters: { type: 'object' }, execute: () => '${evil}' },
        { name: 'fail', description: 'Fails.', parameters: { type: 'object' }, execute: () => { throw new Error('${evil}') } },
      ]`,
    }
    const cwd = await tempFolder(files)
    const call = async (tty: boolean, ...args: string[]) => {
      const io = fakeIO({ cwd, tty, env: { HOME: cwd, NO_COLOR: '1' } })
      await runCommand(['tools', ...args, '--tools', 'tools.mjs'], io)
      return io.out() + io.err()
    }
    expect(await call(false, 'call', 'read', '{}')).toBe('\x1b]0;owned\x07\u202efdp.exe\n')
    for (const args of [['call', 'read', '{}'], ['call', 'fail', '{}'], ['call', 'read', '{}', '--json'], ['list']]) {
      const written = await call(true, ...args)
      expect(written).toContain('‹U+202E›fdp.exe')
      expect(written).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u)
    }
  })

  it('call: runs one of them as typed', async () => {
    const files = within('s', geometry)
    expect(await run(['tools', 'call', 'calculate', '{"expression": "6 * 7"}'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"result":42'),
    })
    expect(await run(['tools', 'call', 'circle_area', '{"radius": 1}', '--skills', 's'], files)).toMatchObject({
      code: 0,
      stdout: '{"area":3.14}\n',
    })
    const wrong = await run(['tools', 'call', 'calculate', '{"expression": 6}', '--json'])
    expect(wrong).toMatchObject({
      code: 2,
      stderr: 'error: `expression`: expected string, got number 6. `calculate` takes (expression)\n',
    })
    expect(JSON.parse(wrong.stdout)).toMatchObject({ success: false })
    expect((await run(['tools', 'call', 'calculate', '{expression: 6}'])).stderr).toMatch(
      /^error: Expected the arguments to be one JSON object in quotes, such as '\{"name": "value"\}': not valid JSON .*`calculate` takes \(expression\)\n$/,
    )
    expect((await run(['tools', 'call', 'calculat'])).stderr).toContain('Tool not found: calculat (did you mean `calculate`?). Available')
    expect(await run(['tools', 'call', 'nope'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Tool not found: nope. Available tools: list_files'),
    })
    expect(await run(['tools', 'call', 'calculate', '--model', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('does not take'),
    })
  })
})

it('toolloop run --skills: the model sees them and can use them', async () => {
  const { code, stdout } = await run(['-m', 'demo', '--skills', 's', 'call circle_area with {"radius": 2}'], within('s', geometry))
  expect(code).toBe(0)
  expect(stdout).toContain('12.57')
})

it('doctor lists the available sandboxes', async () => {
  const { stdout } = await run(['doctor', '--json'])
  expect(JSON.parse(stdout).sandboxes).toMatchObject([{ name: 'QuickJS', available: true }, { name: 'bubblewrap' }])
  expect((await run(['doctor'])).stdout).toMatch(
    /Sandboxes for scripts of Skills\n✓ QuickJS for JavaScript and TypeScript modules\n[✓-] bubblewrap/,
  )
})
