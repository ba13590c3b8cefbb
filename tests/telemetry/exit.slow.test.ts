import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { type Answer, drip, quickly, startCollector } from './collector.ts'

const program = fileURLToPath(new URL('exporting-program.ts', import.meta.url))

it.each<[name: string, answer: Answer | undefined, ending: 'close' | 'leave']>([
  ['is silent', () => {}, 'close'],
  ['is silent', () => {}, 'leave'],
  ['never ends its answer', drip, 'close'],
  ['never ends its answer', drip, 'leave'],
  ['is down', undefined, 'close'],
])('a program exits on its own while its collector $0: $2', { timeout: 30_000 }, async (_name, answer, ending) => {
  await using collector = await startCollector(answer)
  const endpoint = answer === undefined ? 'http://127.0.0.1:9' : collector.url
  // Longer than the test may take: a request that kept the process alive would fail it.
  const env = { ...process.env, ...quickly, OTEL_EXPORTER_OTLP_TIMEOUT: '120000' }
  const child = spawn(process.execPath, [program, endpoint, ending], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = once(child, 'close')
  expect(String(await once(child.stdout, 'data'))).toBe('Done.\n')
  expect(await exit).toEqual([0, null])
})
