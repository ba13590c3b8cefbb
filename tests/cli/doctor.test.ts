import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { Diagnosis } from '../../src/cli/commands/doctor.ts'
import { runCommand } from '../../src/cli/program.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { fakeIO } from './fake-io.ts'
import { runCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const key = 'sk-not-a-real-key-0123456789abcdef'

it('doctor --json reports the setup, and never a key’s value', async () => {
  const mock = await startStrictProvider({ models: ['llama3.2'] })
  onTestFinished(() => mock.close())
  const env = { OPENAI_API_KEY: key, OLLAMA_HOST: mock.url }
  const { code, stdout } = await runCli(['doctor', '--json'], { cwd: await tempFolder(), env })
  expect(code).toBe(0)
  expect(stdout).not.toContain(key)
  const own = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  const diagnosis: Diagnosis = JSON.parse(stdout)
  expect(diagnosis).toMatchObject({
    ok: true,
    problems: [],
    toolloop: own.version,
    node: { version: process.versions.node, required: own.engines.node, ok: true },
    keys: [{ provider: 'openai', variable: 'OPENAI_API_KEY' }],
    servers: [{ provider: 'ollama', baseURL: mock.baseURL, models: ['llama3.2'] }],
    model: { source: 'key', why: 'OPENAI_API_KEY is set' },
  })
  expect(diagnosis.optionalPackages.map(({ name }) => name)).toEqual(Object.keys(own.peerDependencies ?? {}))
})

it('doctor prints it as lines, with the model that a run would use', async () => {
  const io = fakeIO({ cwd: await tempFolder() })
  expect(await runCommand(['doctor'], io)).toBe(0)
  expect(io.out()).toContain('A run uses demo: no key found\nTo use another model ')
  expect(io.out()).toMatch(/API keys in the environment\n- none\n/)
  expect(io.err()).toBe('')
})

it('doctor fails with a reason if a run could not start', async () => {
  const io = fakeIO({ cwd: await tempFolder({ 'toolloop.yaml': 'model: 5' }) })
  expect(await runCommand(['doctor', '--json'], io)).toBe(1)
  expect(JSON.parse(io.out())).toMatchObject({ ok: false, problems: [expect.stringContaining('toolloop.yaml is invalid: /model')] })
  const unknown = fakeIO({ cwd: await tempFolder(), env: { TOOLLOOP_MODEL: 'nowhere/x' } })
  expect(await runCommand(['doctor'], unknown)).toBe(1)
  expect(unknown.out()).toMatch(/✗ .*nowhere/u)
})
