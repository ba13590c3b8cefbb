import { execFile, execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startService, token } from './start-service.ts'

const script = fileURLToPath(new URL('../examples/service.sh', import.meta.url))

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'])
    return true
  } catch {
    return false
  }
}

it.skipIf(!hasCurl())('the requests of docs/service.md are answered as it says', async () => {
  const { url } = await startService({ builtinTools: ['calculate', 'current_time'] })
  const env = { PATH: process.env.PATH ?? '', URL: url, TOKEN: token }
  const { stdout } = await promisify(execFile)('sh', ['-eu', script], { env })
  expect(stdout).toMatch(/"finish_reason":"stop"/)
  expect(stdout).toMatch(/id: 1\nevent: RUN_START\n[\s\S]*event: RESULT\ndata: \{"id":"run_/)
  expect(stdout).toMatch(/"object":"list"[\s\S]*toolloop_runs_total\{[\s\S]*"openStreams":0/)
  expect(stdout.match(/391/g)?.length).toBeGreaterThan(1)
})
