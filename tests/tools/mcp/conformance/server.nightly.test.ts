import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { configFile, startService } from '../../../service/start-service.ts'
import { changingTools, conformanceTools, extendServer } from './server-fixture.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const suite = join(root, '.ci/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js')

/** The suite of the protocol's authors. Its exit code is 1 if any scenario fails that the revision requires of a server. */
it.skipIf(!existsSync(suite)).each(['2025-11-25', '2026-07-28'])(
  'the service passes the conformance suite for servers, revision %s',
  { timeout: 300_000 },
  async (revision) => {
    const { file, write } = await configFile('service: { mcp: true }\n')
    // The offer changes with the configuration.
    const change = () => write(`service: { mcp: { instructions: "${randomUUID()}" } }\n`)
    const { url } = await startService({
      configFile: file,
      tools: [...conformanceTools, ...changingTools(change)],
      mcp: { agents: false, logToClient: true, extend: extendServer },
      authenticate: () => ({ name: 'suite', roles: ['run'] }),
    })
    const results = await mkdtemp(join(tmpdir(), 'toolloop-conformance-'))
    onTestFinished(() => rm(results, { recursive: true, force: true }))
    const options = ['--url', `${url}/mcp`, '--requirements', revision, '-o', results]
    const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
      execFile(process.execPath, [suite, 'server', ...options], { cwd: results, maxBuffer: 64_000_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : error.code, output: stdout + stderr }),
      )
    })
    expect(code, output.slice(output.indexOf('=== SUMMARY'))).toBe(0)
  },
)
