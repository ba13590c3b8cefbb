import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MockProvider } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { asUsersWrite } from '../release/packed-project.ts'
import { installed, makeProject, node26, runIn } from './project.ts'

const isInstalled = existsSync(join(installed, 'next'))
const answers = 'The weather in Berlin is fine.\nThe weather in Berlin is fine.\n'
const minutes = 60_000

/**
 * A program that streams a run with a tool call from two providers, bundled as docs/bundling.md says. What a bundler has made is run in a
 * folder of its own, where nothing of the project is found.
 */
describe.skipIf(!isInstalled)('a bundle (skipped without `npm ci --prefix .ci/platforms`)', () => {
  let project = ''
  let server: MockProvider
  const folders: string[] = []

  beforeAll(async () => {
    project = makeProject()
    folders.push(project)
    server = await startStrictProvider({
      script: ({ readRequest }) =>
        readRequest().messages.at(-1)?.role === 'tool'
          ? { text: 'The weather in Berlin is fine.' }
          : { toolCalls: [{ name: 'weather', arguments: { city: 'Berlin' } }] },
    })
  }, 5 * minutes)

  afterAll(async () => {
    await server?.close()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  /** Runs a command line in the project, moves what it made away from it, and says where it is. */
  function made(command: string, output: string, node?: string): string {
    rmSync(join(project, output), { recursive: true, force: true })
    runIn(project, command, node)
    const folder = mkdtempSync(join(tmpdir(), 'toolloop-bundle-'))
    folders.push(folder)
    cpSync(join(project, output), folder, { recursive: true, verbatimSymlinks: true })
    rmSync(join(project, output), { recursive: true })
    return folder
  }

  async function run(program: string, ...args: string[]): Promise<string> {
    const child = spawn(program, args, { env: { PATH: process.env.PATH, BASE_URL: server.baseURL }, stdio: ['ignore', 'pipe', 'inherit'] })
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
    await once(child, 'close')
    return printed
  }

  it('is made where no optional package is installed', () => {
    const names = readdirSync(join(project, 'node_modules'))
    expect(names.filter((name) => /^(@google|@modelcontextprotocol|@langchain|langchain|@apidevtools)$/.test(name))).toEqual([])
  })

  it('of esbuild runs a tool loop', { timeout: 2 * minutes }, async () => {
    const folder = made('sh esbuild.sh', 'out')
    expect(await run(process.execPath, join(folder, 'main.mjs'))).toBe(answers)
  })

  it('of rolldown runs a tool loop', { timeout: 2 * minutes }, async () => {
    const folder = made('sh rolldown.sh', 'out')
    expect(await run(process.execPath, join(folder, 'main.js'))).toBe(answers)
  })

  it('that is a single executable runs a tool loop', { timeout: 4 * minutes }, async () => {
    const folder = made('sh single-executable.sh', 'out', node26)
    expect(await run(join(folder, 'main'))).toBe(answers)
  })

  it('of Next.js, as a standalone server, runs a tool loop', { timeout: 10 * minutes }, async () => {
    const folder = made('node node_modules/next/dist/bin/next build', '.next/standalone')
    const env = { PATH: process.env.PATH, BASE_URL: server.baseURL, HOSTNAME: '127.0.0.1', PORT: '0', NODE_ENV: 'production' as const }
    const child = spawn(process.execPath, ['server.js'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const closed = once(child, 'close')
    try {
      let address: string | undefined
      for await (const line of createInterface(child.stdout)) {
        address ??= /Local: +(http:\S+)/.exec(line)?.[1]
        if (line.includes('Ready')) break
      }
      for (const model of ['openai/gpt-5.2', 'anthropic/claude-opus-4-5']) {
        const response = await fetch(`${address}/ask?model=${model}`)
        expect(await response.text()).toBe('The weather in Berlin is fine.')
      }
    } finally {
      child.kill()
      await closed
    }
  })

  it.each([
    ['an ES module', 'sed s/main.ts/entries.ts/ esbuild.sh | sh', 'entries.mjs'],
    ['CommonJS', 'esbuild entries.ts --bundle --platform=node --format=cjs --outfile=out/entries.cjs', 'entries.cjs'],
  ])(
    'has any entry of the package in it but the ones for LangChain and of types alone, as %s',
    { timeout: 2 * minutes },
    async (_, command, file) => {
      const { exports }: { exports: object } = JSON.parse(readFileSync(join(project, 'node_modules/toolloop/package.json'), 'utf8'))
      const entries = Object.keys(exports).filter((entry) => !/json$|backends|durable/.test(entry))
      const program = entries.map(
        (entry, at) => `import * as e${at} from 'toolloop${entry.slice(1)}'\nif (Object.keys(e${at}).length === 0) throw new Error()`,
      )
      writeFileSync(join(project, 'entries.ts'), `${program.join('\n')}\nconsole.log('loaded')`)
      const folder = made(command, 'out')
      expect(await run(process.execPath, join(folder, file))).toBe('loaded\n')
    },
  )

  it.each([
    ['as an ES module', 'sed s/main.ts/threads.ts/ esbuild.sh | sh', 'threads.mjs'],
    ['as CommonJS', 'esbuild threads.ts --bundle --platform=node --format=cjs --outfile=out/threads.cjs', 'threads.cjs'],
  ])(
    '%s has the threads of a journal and a search in it, and says that it has no sandbox and no page',
    { timeout: 2 * minutes },
    async (_, command, file) => {
      const folder = made(command, 'out')
      expect(JSON.parse(await run(process.execPath, join(folder, file)))).toEqual({
        output: 'Found.',
        search: expect.objectContaining({ count: 1 }),
        sandbox: expect.stringContaining('must leave the package `toolloop` out of its bundle'),
        page: expect.stringContaining('is not part of a bundle'),
        models: 200,
      })
    },
  )

  it('can leave the package out, and then has all of it', { timeout: 2 * minutes }, () => {
    runIn(project, 'esbuild threads.ts --bundle --platform=node --format=esm --packages=external --outfile=out/threads.mjs')
    expect(JSON.parse(execFileSync(process.execPath, [join(project, 'out/threads.mjs')], { encoding: 'utf8' }))).toMatchObject({
      sandbox: 42,
      page: expect.stringContaining('<html'),
    })
  })

  // In this file, because two that build the package at once would delete each other's files.
  const runtimes = [
    { name: 'Bun', program: join(installed, '.bin/bun'), args: [] },
    { name: 'Deno', program: join(installed, '.bin/deno'), args: ['run', '--allow-all'] },
  ]

  describe.each(runtimes)('$name (skipped if the package has no program for this machine)', ({ program, args }) => {
    it.skipIf(!existsSync(program)).each([
      ['runs the first example of the README', 'quick-start.ts', /^weather: \{"city":"Oslo","sky":"clear","celsius":21\}\nanswered .*Oslo/],
      ['streams runs from OpenAI and Anthropic through their SDKs', 'main.ts', new RegExp(`^${answers}$`)],
      ['records a run in an SQLite file', 'durable-refund.ts', /^paused \{\s+order: .17.,\s+euros: 250,?\s+\}\n$/],
    ])('%s', { timeout: minutes }, async (_, file, printed) => {
      if (file !== 'main.ts')
        writeFileSync(join(project, file), asUsersWrite(readFileSync(new URL(`../examples/${file}`, import.meta.url), 'utf8')))
      const env = { PATH: process.env.PATH, HOME: project, BASE_URL: server.baseURL }
      const { stdout } = await promisify(execFile)(program, [...args, file], { cwd: project, env })
      expect(stdout).toMatch(printed)
    })
  })
})
