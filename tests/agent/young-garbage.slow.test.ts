import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

it('a run that is over leaves nothing for the collector of old objects', async () => {
  const file = fileURLToPath(new URL('./young-garbage-process.ts', import.meta.url))
  const { stdout } = await run(process.execPath, ['--expose-gc', file])
  const left = JSON.parse(stdout) as Record<string, number>
  // A run of two turns and a call allocates 50 KB; it left 6 to 18 KB of them when functions were allocated among the old objects.
  expect(Object.keys(left)).toEqual(['whole', 'streamed', 'events'])
  for (const [way, bytes] of Object.entries(left)) expect({ way, few: bytes < 1_500 }).toEqual({ way, few: true })
}, 60_000)
