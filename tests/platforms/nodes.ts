import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installed } from './project.ts'

/**
 * Runs what may differ between versions of Node.js in the oldest and the newest one that is supported: the transport, the drivers, the hazards,
 * threads, files, and what Node.js gives in words. Everything runs in the version between them, with `npm test`.
 */
const tests = [
  'tests/hazards',
  'tests/models',
  'tests/journals',
  'tests/tools/sandbox',
  'tests/tools/builtin',
  'tests/testing',
  'tests/layers.test.ts',
]
const root = fileURLToPath(new URL('../..', import.meta.url))

/** These take Node's own dispatcher for one of undici 7, as Node 22 and 24 have it: they replace it, or use its proxy. */
const ofUndici7 = ['tests/models/connection.test.ts', 'tests/models/transport.test.ts']

for (const version of ['node22', 'node26']) {
  const node = join(installed, version, 'bin/node')
  console.log(`\n${version}: ${tests.join(' ')}`)
  const options = ['--config', 'tests/vitest.config.ts', '--testTimeout', '120000']
  if (version === 'node26') options.push(...ofUndici7.flatMap((file) => ['--exclude', file]))
  const { status } = spawnSync(node, ['node_modules/vitest/vitest.mjs', 'run', ...options, ...tests], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
