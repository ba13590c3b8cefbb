import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { bareEnv, fakeIO } from './fake-io.ts'
import { runCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const self = fileURLToPath(new URL('resolve-self.ts', import.meta.url))

async function init(cwd: string, ...args: string[]) {
  const io = fakeIO({ cwd, env: { NO_COLOR: '1' } })
  return { code: await runCommand(['init', ...args], io), stdout: io.out(), stderr: io.err() }
}

/** Node.js in a new project, which uses this package in place of an installed one. */
async function node(folder: string, ...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: folder, ...bareEnv }
  return promisify(execFile)(process.execPath, ['--no-warnings', '--import', self, ...args], { cwd: folder, env })
}

describe('toolloop init', () => {
  it('creates a project whose agent, tests, chat and service run immediately, without a key', async () => {
    const cwd = await tempFolder()
    const { code, stdout, stderr } = await init(cwd, 'My Agent')
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Next: cd 'My Agent' && npm install && npm start\n" })
    const folder = join(cwd, 'My Agent')
    const files = await readdir(folder)
    expect(files).toEqual(expect.arrayContaining(['.gitignore', 'agent.ts', 'agent.test.ts', 'package.json', 'toolloop.yaml', 'tools.ts']))
    for (const name of files) expect(stderr).toContain(`wrote ${join('My Agent', name)}\n`)
    const { name, scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    expect([name, scripts.start, scripts.test]).toEqual(['my-agent', 'node main.ts', 'node --test'])
    const asked = await node(folder, 'main.ts')
    expect(asked.stderr).toMatch(/^days_until \{"date":"2099-12-31"\}: \d+\n$/)
    expect(asked.stdout).toMatch(/\d{5}/)
    expect((await node(folder, '--test')).stdout).toMatch(/pass 2\n(.*\n)*.*fail 0\n/)
    const onCli = await runCli(['--tools', './tools.ts', '--no-builtin-tools', 'call days_until with {"date": "2099-12-31"}'], {
      cwd: folder,
    })
    expect(onCli).toMatchObject({ code: 0, stdout: expect.stringMatching(/\d{5}/) })
    expect((await stat(join(folder, 'toolloop.yaml'))).mode & 0o077).toBe(0)
  })

  it('writes nothing if one of its files exists', async () => {
    const cwd = await tempFolder({ 'tools.ts': 'mine' })
    const { code, stderr } = await init(cwd)
    expect(stderr).toContain(`Expected a folder without tools.ts, got ${cwd}. Nothing was written.`)
    expect(code).toBe(2)
    expect(await readdir(cwd)).toEqual(['tools.ts'])
    expect(await readFile(join(cwd, 'tools.ts'), 'utf8')).toBe('mine')
  })
})
