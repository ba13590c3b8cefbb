import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MockProvider } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { installed, makeProject } from './project.ts'

const run = promisify(execFile)
const runtimes = [
  { name: 'Bun', command: 'bun', args: [] },
  { name: 'Deno', command: 'deno', args: ['run', '--allow-all'] },
].map((runtime) => ({ ...runtime, program: join(installed, '.bin', runtime.command) }))
const usable = runtimes.filter(({ program }) => existsSync(program))
for (const { name } of runtimes.filter((runtime) => !usable.includes(runtime))) {
  it.skip(`${name} is not tested: run \`npm ci --prefix .ci/platforms\` first`, () => {})
}
const examples = ['quick-start', 'durable-refund']

/** An example as the docs show it: it imports the package by its name. */
function shown(example: string): string {
  const source = readFileSync(new URL(`../examples/${example}.ts`, import.meta.url), 'utf8')
  return source.replace(/'\.\.\/\.\.\/src\/(.*?)\/?index\.ts'/g, (_, entry) => `'toolloop${entry === '' ? '' : `/${entry}`}'`)
}

describe.skipIf(usable.length === 0)('other runtimes', () => {
  let project = ''
  let provider: MockProvider

  beforeAll(async () => {
    project = makeProject()
    for (const example of examples) writeFileSync(join(project, `${example}.ts`), shown(example))
    provider = await startStrictProvider({
      script: ({ readRequest }) =>
        readRequest().messages.at(-1)?.role === 'tool'
          ? { text: 'The weather in Berlin is fine.' }
          : { toolCalls: [{ name: 'weather', arguments: { city: 'Berlin' } }] },
    })
  }, 300_000)

  afterAll(async () => {
    await provider?.close()
    if (project !== '') rmSync(project, { recursive: true, force: true })
  })

  describe.each(usable)('$name', ({ program, args }) => {
    const runFile = async (file: string) => {
      const env = { PATH: process.env.PATH, HOME: project, BASE_URL: provider.baseURL, DATA_FOLDER: undefined }
      const { stdout } = await run(program, [...args, file], { cwd: project, env })
      return stdout
    }

    it('runs the first example of the README', async () => {
      expect(await runFile('quick-start.ts')).toMatch(/^weather: \{"city":"Oslo","sky":"clear","celsius":21\}\nanswered .*Oslo/)
    })

    it('streams runs from OpenAI and Anthropic through their SDKs', async () => {
      expect(await runFile('main.ts')).toBe('The weather in Berlin is fine.\nThe weather in Berlin is fine.\n')
    })

    it('records a run in an SQLite file', async () => {
      expect(await runFile('durable-refund.ts')).toMatch(/^paused \{\s+order: .17.,\s+euros: 250,?\s+\}\n$/)
    })
  })
})
