import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('the default logger only writes to standard error, because standard output belongs to the program', async () => {
  const script = fileURLToPath(new URL('./stdout-process.ts', import.meta.url))
  const env = { ...process.env, OPENAI_LOG: 'debug', ANTHROPIC_LOG: 'debug' }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { env })
  expect(stdout).toBe('row 1\nrow 2\n')
  const logged = stderr
    .trimEnd()
    .split('\n')
    .map((line): string => JSON.parse(line).msg)
  expect(new Set(logged)).toEqual(
    new Set([
      'the conversation passed in was not valid and was repaired',
      'event listener failed',
      'tool call failed',
      'two tools are named `broken`: the one you registered is used, the built-in one is not',
    ]),
  )
})
