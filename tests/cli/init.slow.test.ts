import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { bareEnv, fakeIO } from './fake-io.ts'
import { runCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
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
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Next: (\(cd \S+ && npm run build\) && )?cd 'My Agent' && npm install && npm start\n$/)
    const folder = join(cwd, 'My Agent')
    const files = await readdir(folder)
    expect(files).toEqual(expect.arrayContaining(['.gitignore', 'agent.ts', 'agent.test.ts', 'package.json', 'toolloop.yaml', 'tools.ts']))
    for (const name of files) expect(stderr).toContain(`wrote ${join('My Agent', name)}\n`)
    const { name, scripts, dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    expect([name, scripts.start, scripts.test]).toEqual(['my-agent', 'node main.ts', 'node --test'])
    // This package runs from a clone, which npm finds nowhere else.
    expect(resolve(folder, dependencies.toolloop.replace('file:', ''))).toBe(
      fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, ''),
    )
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

  it('creates a README whose commands work with the demo model as they are', async () => {
    const cwd = await tempFolder({
      // Stands in for the one that `npm install` links.
      'bin/toolloop': `#!/bin/sh\nexec node '${main}' "$@"\n`,
    })
    await chmod(join(cwd, 'bin/toolloop'), 0o755)
    await init(cwd, 'agent')
    const folder = join(cwd, 'agent')
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const [install, ...lines] = (/```sh\n(.*?)```/s.exec(readme)?.[1] ?? '')
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +#.*/, ''))
    expect(install).toBe('npm install')
    expect(lines).toEqual(['npm start', 'npm start -- "call days_until with date=2030-12-31"', 'npm test', 'npm run chat', 'npm run serve'])
    const env = {
      ...bareEnv,
      PATH: `${join(cwd, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: cwd,
      NODE_OPTIONS: `--no-warnings --import ${self}`,
    }
    const [start = '', call = '', test = '', chat = '', serve = ''] = lines
    const run = (line: string, input = '') => {
      const child = spawn('sh', ['-c', line], { cwd: folder, env, detached: true })
      onTestFinished(() => {
        try {
          process.kill(-(child.pid ?? 0), 'SIGKILL')
        } catch {
          // It has ended.
        }
      })
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece) => (said += piece))
      child.stdin.end(input)
      const ended = once(child, 'close').then(([code]) => ({ code, said }))
      return { said: () => said, ended }
    }
    expect(await run(start).ended).toMatchObject({ code: 0, said: expect.stringMatching(/days_until \{"date":"2099-12-31"\}: \d{5}\n/) })
    expect(await run(call).ended).toMatchObject({ code: 0, said: expect.stringMatching(/days_until \{"date":"2030-12-31"\}: \d+\n/) })
    expect(await run(test).ended).toMatchObject({ code: 0, said: expect.stringContaining('pass 2') })
    const chatted = await run(chat, 'call days_until with date=2030-12-31\n').ended
    expect(chatted).toMatchObject({ code: 0, said: expect.stringMatching(/✓ days_until [\d.]+ m?s/) })
    const served = run(`${serve} -- --port 0`)
    await vi.waitFor(() => expect(served.said()).toContain('Admin page:'), { timeout: 60_000 })
  })

  it('writes nothing if one of its files exists', async () => {
    const cwd = await tempFolder({ 'tools.ts': 'mine' })
    const { code, stderr } = await init(cwd)
    expect(stderr).toContain(`Expected a folder without tools.ts, got ${cwd}. Nothing was written.`)
    expect(code).toBe(2)
    expect(await readdir(cwd)).toEqual(['tools.ts'])
    expect(await readFile(join(cwd, 'tools.ts'), 'utf8')).toBe('mine')
  })

  it('writes nothing if one of its files is a link that leads nowhere, or if the folder is a file', async () => {
    const cwd = await tempFolder({ file: '' })
    await symlink(join(cwd, 'none'), join(cwd, 'tools.ts'))
    const linked = await init(cwd)
    expect([linked.code, linked.stderr]).toEqual([2, expect.stringContaining(`Expected a folder without tools.ts, got ${cwd}.`)])
    const inFile = await init(cwd, 'file/agent')
    expect([inFile.code, inFile.stderr]).toEqual([2, expect.stringContaining(`Expected a folder that can be written to, got ${cwd}/file`)])
    expect((await readdir(cwd)).toSorted()).toEqual(['file', 'tools.ts'])
  })

  it('tells how to enter a folder whose name looks like an option', async () => {
    const { stdout } = await init(await tempFolder({}), '--', '--agent')
    expect(stdout).toContain('cd ./--agent && npm install')
  })
})
