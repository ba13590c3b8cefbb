import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'
import { tempFolder } from '../cli/temp-folder.ts'
import { isThere, program, questions, startAgent, token, versionOf } from './agent-service.ts'

interface Client {
  package: string
  /** The files of its home, from which it is started. */
  files(url: string): Record<string, string>
  command: string
  args(question: string, isContinued: boolean): string[]
  env?(url: string): Record<string, string>
}

const json = JSON.stringify

/** A file of this folder, as `docs/clients.md` shows it, for the service at that address. */
function configFile(name: string, url: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8').replace('http://127.0.0.1:8787', url)
}

const clients: Client[] = [
  {
    package: '@openai/codex',
    files: (url) => ({ '.codex/config.toml': configFile('codex.toml', url) }),
    command: 'codex',
    args: (question, isContinued) => [
      ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
      ...(isContinued ? ['resume', '--last'] : []),
      question,
    ],
  },
  {
    package: 'opencode-ai',
    files: (url) => ({ 'opencode.json': configFile('opencode.json', url) }),
    command: 'opencode',
    args: (question, isContinued) => ['run', ...(isContinued ? ['--continue'] : []), question],
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1' }),
  },
  {
    package: '@qwen-code/qwen-code',
    // Else it reads nothing of what a command prints.
    files: () => ({ '.qwen/settings.json': json({ tools: { shell: { enableInteractiveShell: true } } }) }),
    command: 'qwen',
    args: (question, isContinued) => ['--auth-type', 'openai', '--yolo', ...(isContinued ? ['--continue'] : []), '-p', question],
    env: (url) => ({ OPENAI_API_KEY: token, OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'toolloop' }),
  },
  {
    package: '@earendil-works/pi-coding-agent',
    files: (url) => ({ '.pi/agent/models.json': configFile('pi-models.json', url) }),
    command: 'pi',
    args: (question, isContinued) => [
      '--provider',
      'toolloop',
      '--model',
      'toolloop',
      ...(isContinued ? ['--continue'] : []),
      '-p',
      question,
    ],
    env: () => ({ PI_OFFLINE: '1' }),
  },
]

/** Runs a program of `.ci/clients`. Resolves with what it printed; rejects if it fails. */
function run(command: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  const { PATH = '', LANG = 'C.UTF-8' } = process.env
  const child = spawn(program(command), args, {
    cwd,
    env: { PATH, LANG, HOME: cwd, TOOLLOOP_TOKEN: token, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 150_000,
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    stdout += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    stderr += piece
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) =>
      code === 0 ? resolve(stdout) : reject(new Error(`${command} ended with ${code ?? signal}: ${stdout}\n${stderr}`)),
    )
  })
}

describe('programs of other vendors, with the service as their model', () => {
  for (const client of clients) {
    it.skipIf(!isThere(client.package))(
      `E1.7 ${versionOf(client.package)}: a greeting, a tool of its own, the agent's tool, a second turn`,
      async () => {
        await using agent = await startAgent()
        const home = await tempFolder(client.files(agent.url))
        for (const [question, answer] of Object.entries(questions)) {
          const env = client.env?.(agent.url)
          expect(await run(client.command, client.args(question, question === 'AGAIN'), home, env)).toMatch(answer)
        }
      },
    )
  }
})

describe('programs of other vendors, as clients of the service’s MCP server', () => {
  const gemini = '@google/gemini-cli'
  it.skipIf(!isThere(gemini))(`E1.7 ${versionOf(gemini)}: the agent's tool, and the agent itself`, async () => {
    await using agent = await startAgent()
    // Its own model speaks Gemini's API alone.
    await using model = await startMockProvider({
      script: ({ body, readRequest }) => {
        const { messages, tools = [] } = readRequest()
        const last = messages.at(-1)
        if (last?.role === 'tool') return { text: `The tool said: ${JSON.stringify(last.content)}` }
        const asked = JSON.stringify(body.contents)
        const wanted = asked.includes('WEATHER') ? 'weather' : asked.includes('GREET') ? 'ask_toolloop' : undefined
        const tool = tools.find(({ function: { name } }) => wanted !== undefined && name.endsWith(wanted))
        if (tool === undefined) return { text: 'No such tool.' }
        const args: JsonObject = wanted === 'weather' ? { city: 'Oslo' } : { task: 'GREET' }
        return { toolCalls: [{ name: tool.function.name, args }] }
      },
    })
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { disableAutoUpdate: true },
      privacy: { usageStatisticsEnabled: false },
      ...JSON.parse(configFile('gemini-settings.json', agent.url)),
    }
    const home = await tempFolder({ '.gemini/settings.json': json(settings) })
    const env = { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: model.url }
    const ask = (question: string) => run('gemini', ['-m', 'gemini-2.5-flash', '--skip-trust', '-y', '-p', question], home, env)
    expect(await ask('WEATHER')).toMatch(questions.WEATHER)
    expect(await ask('GREET')).toMatch(questions.GREET)
  })

  const inspector = '@modelcontextprotocol/inspector'
  it.skipIf(!isThere(inspector))(`E1.7 ${versionOf(inspector)}: lists tools, and calls one`, async () => {
    await using agent = await startAgent()
    const home = await tempFolder()
    const inspect = (...args: string[]) =>
      run(
        'mcp-inspector',
        ['--cli', `${agent.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, ...args],
        home,
      )
    expect(JSON.parse(await inspect('--method', 'tools/list'))).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: 'weather' })]),
    })
    expect(JSON.parse(await inspect('--method', 'tools/call', '--tool-name', 'weather', '--tool-arg', 'city=Oslo'))).toMatchObject({
      content: [{ type: 'text', text: '21 °C' }],
    })
  })
})
