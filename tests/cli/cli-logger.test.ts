import { expect, it } from 'vitest'
import { createCliLogger } from '../../src/cli/terminal/cli-logger.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { fakeIO } from './fake-io.ts'

function logged(flags: { verbose?: boolean; quiet?: boolean }): string {
  const io = fakeIO()
  const logger = createCliLogger(new Terminal(io), flags)
  logger.debug({}, 'a detail')
  logger.warn({ runId: 'r', apiKey: 'hidden', count: 2 }, 'healed')
  logger.warn({ stopReason: 'max_iterations' }, 'run ended')
  logger.error({ error: 'no\x1b[2Jway' }, 'listener failed')
  return io.err()
}

it('shows warnings and errors as lines for a person, except what has its own line', () => {
  expect(logged({})).toBe('warning: healed apiKey="[redacted]" count=2\nerror: listener failed error="no\\u001b[2Jway"\n')
})

it('only shows errors with quiet', () => {
  expect(logged({ quiet: true })).toBe('error: listener failed error="no\\u001b[2Jway"\n')
})

it('H16 logs everything as JSON with verbose, with secrets redacted', () => {
  const records = logged({ verbose: true })
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(records.map(({ msg }) => msg)).toEqual(['a detail', 'healed', 'run ended', 'listener failed'])
  expect(records[1]).toMatchObject({ apiKey: '[redacted]', count: 2 })
})
