import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createService, type ServiceOptions } from '../../../src/service/index.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { KeptCredentials } from '../../../src/tools/mcp/auth/credentials.ts'
import { connectMcpServers, type McpAuthorization, openLoopbackSignIn } from '../../../src/tools/mcp/index.ts'
import { startOAuthServer } from '../../tools/mcp/oauth-server.ts'
import type { Bad } from '../misbehave.ts'
import { look, type Probe, quiet, turns, within } from './probe.ts'

const token = 'test-token-operator'
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

/** A run over HTTP is answered, no matter what the program's function does. */
async function answers(options: ServiceOptions): Promise<void> {
  const service = createService({ model: scriptedModel(turns()), tools: [look], token, env: {}, logger: quiet, ...options })
  const body = JSON.stringify({ input: 'go' })
  await within(100, (async () => service.fetch(new Request('http://localhost/v1/runs', { method: 'POST', headers, body })))())
  await service.drain(0)
}

async function reloads(options: ServiceOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-callbacks-'))
  const configFile = join(folder, 'toolloop.yaml')
  writeFileSync(configFile, 'instructions: Be brief.\n')
  const service = createService({ model: scriptedModel(turns()), token, env: {}, logger: quiet, configFile, ...options })
  const ask = (path: string, init: RequestInit = {}) => service.fetch(new Request(`http://localhost${path}`, { headers, ...init }))
  const { etag } = (await (await ask('/admin/api/config')).json()) as { etag: string }
  await ask('/admin/api/config', {
    method: 'PUT',
    headers: { ...headers, 'if-match': etag },
    body: JSON.stringify({ text: 'instructions: Be long.\n' }),
  })
  await service.drain(0)
  rmSync(folder, { recursive: true })
}

async function signsOut(bad: Bad): Promise<void> {
  const store = { load: () => '{}', save: () => {}, remove: bad }
  await within(40, new KeptCredentials(store, new URL('http://one.test')).forget())
}

const refuse = () => Promise.reject(new Error('no network'))
const connected = (server: object, options: object = {}): Promise<unknown> =>
  within(
    300,
    (async () => {
      const tools = await connectMcpServers(
        { one: { url: 'http://127.0.0.1:1/mcp', fetch: refuse, ...server } as never },
        { logger: quiet, ...options },
      )
      await tools.close()
    })(),
  )

/** A server in this process, behind the client's `fetch`. */
async function served(ofClient: object, ofService: object = {}): Promise<void> {
  const service = createService({ model: scriptedModel(turns()), tools: [look], token, env: {}, logger: quiet, mcp: ofService })
  const own = (url: string | URL, init?: RequestInit) => service.fetch(new Request(url, init))
  await connected({ url: 'http://localhost/mcp', headers, fetch: own }, ofClient)
  await service.drain(0)
}

let oauth: ReturnType<typeof startOAuthServer> | undefined
/** The browser of a user who agrees to everything. */
async function agree({ url }: McpAuthorization): Promise<string> {
  const { headers: sent } = await fetch(url, { redirect: 'manual' })
  return sent.get('location') ?? ''
}
/** Signs in to a server, and again with the stored tokens once they are invalid. */
async function signing(members: object, ofStore: object = {}): Promise<void> {
  oauth ??= startOAuthServer()
  const { url } = await oauth
  const kept = new Map<string, string>()
  const store = {
    load: (key: string) => kept.get(key),
    save: (key: string, text: string) => void kept.set(key, text),
    remove: (key: string) => void kept.delete(key),
  }
  const server = { url, fetch, auth: { store: { ...store, ...ofStore }, authorize: agree, ...members } }
  await connected(server)
}

async function shown(bad: Bad): Promise<void> {
  const signIn = await openLoopbackSignIn({ show: bad, timeoutMs: 20 })
  // Node.js 22 has no `await using`.
  try {
    const url = `https://auth.test/authorize?state=${'s'.repeat(22)}&redirect_uri=${encodeURIComponent(String(signIn.redirectUrl))}`
    await within(40, signIn.authorize({ server: 'one', url: new URL(url), signal: AbortSignal.timeout(30) } as never))
  } finally {
    await signIn[Symbol.asyncDispose]()
  }
}

/** Callbacks of the service and of MCP. */
export const serviceProbes: Record<string, Probe> = {
  'ServiceOptions.authenticate': (bad) => answers({ authenticate: bad, token: undefined } as never),
  'ServiceOptions.context': (bad) => answers({ context: bad }),
  'ServiceOptions.onReload': (bad) => reloads({ onReload: bad }),
  'Logger.info': (bad) => reloads({ logger: { ...quiet, info: bad } }),
  'McpOptions.onChange': (bad) => served({ onChange: bad }),
  'McpServing.extend': (bad) => served({}, { extend: bad }),
  'McpUrl.fetch': (bad) => connected({ fetch: bad }),
  'McpUrl.headers': (bad) => connected({ headers: bad }),
  'McpAuth.authorize': (bad) => signing({ authorize: bad }),
  'McpTokenStore.load': (bad) => signing({}, { load: bad }),
  'McpTokenStore.save': (bad) => signing({}, { save: bad }),
  'McpTokenStore.remove': signsOut,
  'McpTokenStore.lock': (bad) => signing({}, { lock: bad }),
  'LoopbackSignInOptions.show': shown,
}
