import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectMcpServers, type McpServer } from '../../src/tools/mcp/index.ts'
import { tempFolder } from '../cli/temp-folder.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { callText } from '../tools/mcp/open-tools.ts'
import { isThere, program, versionOf } from './agent-service.ts'

const browser = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => existsSync(path))

interface Tried {
  package: string
  command: string
  args?: string[]
  env?: Record<string, string>
  tool: string
  /** Arguments of a call that needs no network, and what is in its result. */
  call?: [Record<string, string>, RegExp]
  needsBrowser?: boolean
}

const servers: Tried[] = [
  {
    package: '@modelcontextprotocol/server-filesystem',
    command: 'mcp-server-filesystem',
    args: ['.'],
    tool: 'list_directory',
    call: [{ path: '.' }, /\[FILE\] note\.txt/],
  },
  { package: '@modelcontextprotocol/server-memory', command: 'mcp-server-memory', tool: 'read_graph', call: [{}, /entities/] },
  {
    package: '@modelcontextprotocol/server-everything',
    command: 'mcp-server-everything',
    args: ['stdio'],
    tool: 'echo',
    call: [{ message: 'hello' }, /^Echo: hello$/],
  },
  {
    package: '@playwright/mcp',
    command: 'playwright-mcp',
    args: ['--headless', '--no-sandbox', '--isolated', '--executable-path', browser ?? ''],
    tool: 'browser_navigate',
    call: [{ url: 'about:blank' }, /about:blank/],
    needsBrowser: true,
  },
  {
    package: 'chrome-devtools-mcp',
    command: 'chrome-devtools-mcp',
    args: ['--headless', '--isolated', '--executablePath', browser ?? '', '--chromeArg=--no-sandbox', '--no-usage-statistics'],
    tool: 'list_pages',
    call: [{}, /about:blank/],
    needsBrowser: true,
  },
  { package: '@upstash/context7-mcp', command: 'context7-mcp', tool: 'resolve-library-id' },
  { package: '@notionhq/notion-mcp-server', command: 'notion-mcp-server', env: { NOTION_TOKEN: 'ntn_x' }, tool: 'API-post-search' },
  { package: 'firecrawl-mcp', command: 'firecrawl-mcp', env: { FIRECRAWL_API_KEY: 'fc-x' }, tool: 'firecrawl_scrape' },
  { package: 'tavily-mcp', command: 'tavily-mcp', env: { TAVILY_API_KEY: 'tvly-x' }, tool: 'tavily_search' },
  { package: '@sentry/mcp-server', command: 'sentry-mcp', args: ['--access-token=x', '--host=127.0.0.1'], tool: 'find_projects' },
  {
    package: '@cloudflare/mcp-server-cloudflare',
    command: 'mcp-server-cloudflare',
    args: ['run', 'x'],
    env: { CLOUDFLARE_API_TOKEN: 'x' },
    tool: 'kv_get',
  },
]

/** Lists its tools without a warning, and makes the call. */
async function tryServer(server: McpServer, { tool, call }: Pick<Tried, 'tool' | 'call'>): Promise<void> {
  const { logger, records } = recordingLogger()
  await using tools = await connectMcpServers({ server: { ...server, prefix: '', approval: false } }, { logger })
  expect(tools.names()).toContain(tool)
  expect(records.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  if (call !== undefined) expect(await callText(tools, tool, call[0], { timeoutMs: 60_000 })).toMatch(call[1])
}

describe('MCP servers of other vendors', () => {
  for (const server of servers) {
    const isSkipped = !isThere(server.package) || (server.needsBrowser === true && browser === undefined)
    const why = server.needsBrowser && browser === undefined ? ' (SKIPPED: no browser)' : ''
    it.skipIf(isSkipped)(
      `E1.7 ${versionOf(server.package)}${why}: lists its tools${server.call ? ', and answers a call' : ''}`,
      async () => {
        const cwd = await tempFolder({ 'note.txt': 'hello' })
        const { command, args = [], env = {}, ...tried } = server
        await tryServer({ command: program(command), args, cwd, env: { HOME: cwd, ...env } }, tried)
      },
    )
  }

  const everything = '@modelcontextprotocol/server-everything'
  it.skipIf(!isThere(everything))(`E1.7 ${versionOf(everything)} over HTTP: lists its tools, and answers a call`, async () => {
    const port = await freePort()
    const child = spawn(program('mcp-server-everything'), ['streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stderr, 'data')
    await expect
      .poll(() =>
        fetch(`http://127.0.0.1:${port}/mcp`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBeGreaterThan(0)
    await tryServer({ url: `http://127.0.0.1:${port}/mcp` }, { tool: 'echo', call: [{ message: 'hello' }, /^Echo: hello$/] })
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
