import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { connectMcpServers, mcpTokenFiles } from '../../src/tools/mcp/index.ts'
import { startOAuthServer } from '../tools/mcp/oauth-server.ts'
import { callText, isRunning, listed, odd } from '../tools/mcp/open-tools.ts'
import { runCli, startCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

it('toolloop mcp serves built-in and own tools to a client, whatever they print, and ends with it', async () => {
  const cwd = await tempFolder({
    'tools.mjs': `console.log('loading')
     export const shout = { name: 'shout', description: 'Shouts.', parameters: { type: 'object', properties: { text: { type: 'string' } } },
       execute: ({ text }) => { console.log('shouting'); return text.toUpperCase() } }
     export const pay = { name: 'pay', description: 'Pays.', parameters: { type: 'object' }, approval: true, execute: () => 1 }`,
  })
  const stderr: unknown[] = []
  const log = (fields: object) => void stderr.push(fields)
  const logger = { debug: log, info: log, warn: log, error: log }
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }
  const server = { command: process.execPath, args: [main, 'mcp', '--tools', 'tools.mjs'], cwd, env, prefix: '' }
  await using tools = await connectMcpServers({ own: server }, { logger })
  expect(tools.names()).toEqual(expect.arrayContaining(['read_file', 'calculate', 'shout']))
  expect(tools.names()).not.toContain('pay')
  expect(await callText(tools, 'shout', { text: 'hello' })).toBe('HELLO')
  expect(await callText(tools, 'calculate', { expression: '6*7' })).toMatch(/42/)
  expect(await callText(tools, 'read_file', { path: '../../etc/passwd' })).not.toMatch(/root:/)
  expect(stderr).toEqual(
    expect.arrayContaining(
      ['loading', 'not served, because nobody can approve calls: pay', 'shouting'].map((line) => ({ server: 'own', stderr: line })),
    ),
  )
})

it('toolloop mcp refuses options without a meaning, and reports an invalid module', async () => {
  const cwd = await tempFolder()
  const [wrong, missing, bare] = await Promise.all([
    runCli(['mcp', '--json'], { cwd }),
    runCli(['mcp', '--tools', 'none.ts'], { cwd }),
    runCli(['mcp', '--no-builtin-tools'], { cwd }),
  ])
  expect(wrong).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/`toolloop mcp` does not take --json/) })
  expect(missing).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/found no file at/) })
  expect(bare).toMatchObject({ code: 0, stdout: '' })
})

it('toolloop mcp login signs in to a configured server in a browser, and stores the tokens for other processes; logout removes them', async () => {
  await using server = await startOAuthServer()
  const cwd = await tempFolder({
    'toolloop.yaml': `mcp: { servers: { wiki: { url: '${server.url}', auth: {} }, files: { command: ls } } }`,
  })
  const { child, finished } = startCli(['mcp', 'login', 'wiki'], { cwd })
  let stderr = ''
  const page = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (piece) => {
      stderr += piece
      const [found] = /http:\S+\/authorize\S+\n/.exec(stderr) ?? []
      if (found !== undefined) resolve(found)
    })
    finished.then(() => reject(new Error(stderr)), reject)
  })
  expect(await (await fetch(page)).text()).toContain('You are signed in')
  expect(await finished).toMatchObject({ code: 0, stdout: 'Signed in to wiki, which has 1 tool.\n' })
  expect(stderr).not.toContain(server.tokens[0])
  const auth = { store: mcpTokenFiles(join(cwd, '.toolloop', 'mcp')) }
  await using tools = await connectMcpServers({ wiki: { url: server.url, auth } })
  expect(await callText(tools, 'wiki__echo', { a: 1 })).toBe('{"a":1}')
  expect(await runCli(['mcp', 'logout', 'wiki'], { cwd })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Signed out of wiki\./),
  })
  // The empty lock file stays.
  const left = await readdir(join(cwd, '.toolloop', 'mcp'))
  expect(left.filter((name) => !name.endsWith('.lock'))).toEqual([])
  expect(await runCli(['mcp', 'logout', 'wiki'], { cwd })).toMatchObject({ code: 0, stdout: 'Nothing is stored for wiki.\n' })
  const unknown = await runCli(['mcp', 'login', 'files'], { cwd })
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringMatching(/which are wiki; got `files`/) })
})

it('toolloop mcp --http serves them at /mcp to clients with the token, and exits with 0 on SIGTERM', async () => {
  const cwd = await tempFolder()
  const token = 'kR7-token-of-this-test'
  const cli = startCli(['mcp', '--http', '--port', '0'], { cwd, env: { TOOLLOOP_TOKEN: token }, input: null })
  let out = ''
  cli.child.stdout.on('data', (piece) => {
    out += piece
  })
  await cli.prints('/mcp\n')
  const url = /Listening on (\S+)/.exec(out)?.[1] ?? ''
  {
    await using tools = await connectMcpServers({ own: { url, headers: { authorization: `Bearer ${token}` }, prefix: '' } })
    expect(await callText(tools, 'calculate', { expression: '6*7' })).toMatch(/42/)
  }
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
  expect((await fetch(new URL('/v1/models', url), { headers: { authorization: `Bearer ${token}` } })).status).toBe(404)
  cli.child.kill('SIGTERM')
  expect((await cli.finished).code).toBe(0)
  expect(await runCli(['mcp', '--port', '1'], { cwd })).toMatchObject({ code: 2, stderr: expect.stringMatching(/be used with `--http`/) })
})

it.each(
  (['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL'] as const).flatMap((signal) => [
    { signal, args: ['serve', '--port', '0'] },
    { signal, args: ['chat', '--tools', 'tools.mjs'] },
  ]),
)('E2.8 MCP servers end with toolloop on $signal: $args.0', async ({ signal, args }) => {
  const { command, args: program = [] } = odd({ tools: [listed('hang')], stubborn: true })
  const servers = { odd: { command: 'sh', args: ['-c', 'echo $$ > pid; exec "$@"', 'sh', command, ...program] } }
  const mcp = new URL('../../src/tools/mcp/index.ts', import.meta.url)
  const cwd = await tempFolder({
    'toolloop.yaml': JSON.stringify(args[0] === 'serve' ? { mcp: { servers } } : {}),
    'tools.mjs': `import { connectMcpServers } from '${mcp}'
     export const tools = (await connectMcpServers(${JSON.stringify(servers)})).list()
     console.log('Connected')`,
  })
  const { child, finished, prints } = startCli(args, { cwd, input: null })
  await prints(args[0] === 'serve' ? 'Admin page' : 'Connected')
  const pid = Number(await readFile(join(cwd, 'pid'), 'utf8'))
  expect(isRunning(pid)).toBe(true)
  child.kill(signal)
  await finished
  await expect.poll(() => isRunning(pid)).toBe(false)
})
