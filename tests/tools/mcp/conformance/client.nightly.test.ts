import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const suite = join(root, '.ci/conformance/node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** The suite runs all scenarios at once, in one process each. */
const scenarioMs = 150_000

describe.skipIf(!existsSync(suite))('the MCP client (skipped without `npm ci --prefix .ci/conformance`)', () => {
  const results = mkdtempSync(join(tmpdir(), 'toolloop-conformance-'))
  afterAll(() => rmSync(results, { recursive: true, force: true }))

  it.each(['2025-11-25', '2026-07-28'])(
    'passes everything that the revision %s requires of clients; exactly the listed scenarios fail',
    async (revision) => {
      const command = `"${process.execPath}" "${here('client.ts')}"`
      const list = here('expected-client-failures.yaml')
      const args = ['client', '--command', command, '--requirements', revision, '--expected-failures', list, '-o', results]
      const { code, output } = await run([suite, ...args, '--timeout', String(scenarioMs)])
      expect(code, output.slice(output.indexOf('=== SUITE SUMMARY'))).toBe(0)
      expect(output).not.toMatch(/: 0 passed, 0 failed/)
    },
  )
})

function run(args: string[]): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, output: stdout + stderr })
    })
  })
}
