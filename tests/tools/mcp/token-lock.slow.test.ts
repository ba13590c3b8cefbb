import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectMcpServers, type McpAuth, type McpTokenStore, mcpTokenFiles } from '../../../src/tools/mcp/index.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { type OAuthServer, startOAuthServer } from './oauth-server.ts'
import { callText } from './open-tools.ts'

const program = fileURLToPath(new URL('token-process.ts', import.meta.url))

const open = (url: string, auth: McpAuth) => connectMcpServers({ wiki: { url, auth } }, { logger: recordingLogger().logger })

/** Signs in, so that processes find tokens in the store. */
async function signIn({ url }: OAuthServer, store: McpTokenStore): Promise<void> {
  const authorize: McpAuth['authorize'] = async (asked) => (await fetch(asked.url, { redirect: 'manual' })).headers.get('location') ?? ''
  await using _tools = await open(url, { store, authorize })
}

interface TokenProcess {
  child: ChildProcess
  /** Makes the process call, and resolves with the result. */
  call(): Promise<string>
}

async function startProcess(url: string, folder: string): Promise<TokenProcess> {
  const child = spawn(process.execPath, [program, url, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)
  await once(lines, 'line')
  const call = async () => {
    child.stdin.write('call\n')
    const [line] = await once(lines, 'line')
    return String(line)
  }
  return { child, call }
}

function memory(): McpTokenStore {
  const kept = new Map<string, string>()
  return { load: (key) => kept.get(key), save: (key, text) => void kept.set(key, text), remove: (key) => void kept.delete(key) }
}

/** Resolves with the `go` of the next request for tokens. */
function nextTokenRequest(server: OAuthServer): Promise<() => void> {
  return new Promise((resolve) => {
    server.atToken = (go) => {
      server.atToken = (next) => next()
      resolve(go)
    }
  })
}

describe('E2.4 tokens shared by several processes', () => {
  it('E2.4 are renewed by one of them, and nobody is signed out', async () => {
    await using server = await startOAuthServer()
    const folder = await tempFolder()
    await signIn(server, mcpTokenFiles(folder))
    const processes = await Promise.all(Array.from({ length: 4 }, () => startProcess(server.url, folder)))
    server.expire()
    const results = await Promise.all(processes.map(({ call }) => call()))
    expect(results).toEqual(processes.map(({ child }) => `{"pid":${child.pid}}`))
    // The code, and one renewal.
    expect(server.count('/token')).toBe(2)
  })

  it('E2.4 are renewed by another process if the renewing one is killed', async () => {
    await using server = await startOAuthServer()
    const folder = await tempFolder()
    await signIn(server, mcpTokenFiles(folder))
    const [first, second] = await Promise.all([startProcess(server.url, folder), startProcess(server.url, folder)])
    server.expire()
    // It holds the lock, and dies with it.
    const asked = nextTokenRequest(server)
    first.child.stdin?.write('call\n')
    await asked
    const result = second.call()
    first.child.kill('SIGKILL')
    expect(await result).toBe(`{"pid":${second.child.pid}}`)
    expect(server.count('/token')).toBe(3)
  })

  it('E2.4 are renewed in turn within a process without a lock, and in the store’s lock if it has one', async () => {
    for (const locks of [undefined, [] as string[]]) {
      await using server = await startOAuthServer()
      const store = memory()
      if (locks !== undefined) {
        let last = Promise.resolve()
        store.lock = async (key, work) => {
          locks.push(key)
          last = last.then(work)
          await last
        }
      }
      await signIn(server, store)
      // Only the store is shared.
      await using ann = await open(server.url, { store })
      await using bob = await open(server.url, { store })
      server.expire()
      const results = await Promise.all([ann, bob].map((tools, n) => callText(tools, 'wiki__echo', { n })))
      expect(results).toEqual(['{"n":0}', '{"n":1}'])
      expect(server.count('/token')).toBe(2)
      // One sign-in, one for the code, and one for each of the two.
      if (locks !== undefined) expect([locks.length, new Set(locks).size]).toEqual([4, 1])
    }
  })

  it.each<[string, NonNullable<McpTokenStore['lock']>, RegExp]>([
    ['fails', () => Promise.reject(new Error('the database is gone')), /failed: the database is gone/],
    [
      'throws',
      () => {
        throw new Error('no lock today')
      },
      /failed: no lock today/,
    ],
    ['does not run its work', async () => {}, /Expected `store\.lock` to be a function that runs `work`/],
  ])('E2.4 are not renewed without a lock that %s; the call fails', async (_, lock, words) => {
    await using server = await startOAuthServer()
    const store = memory()
    await signIn(server, store)
    await using tools = await open(server.url, { store: { ...store, lock } })
    server.expire()
    expect(await callText(tools, 'wiki__echo')).toMatch(words)
    expect(server.count('/token')).toBe(1)
  })

  it('E2.4 are still saved if the tools are closed during a renewal', async () => {
    await using server = await startOAuthServer()
    const store = memory()
    await signIn(server, store)
    const tools = await open(server.url, { store })
    server.expire()
    const asked = nextTokenRequest(server)
    const failed = callText(tools, 'wiki__echo')
    const go = await asked
    const closed = tools.close()
    go()
    await Promise.all([closed, failed])
    await using later = await open(server.url, { store })
    expect(await callText(later, 'wiki__echo', { n: 1 })).toBe('{"n":1}')
    expect(server.count('/token')).toBe(2)
  })
})
