import { spawnSync } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installed } from './project.ts'

/**
 * Runs the tests in the oldest and the newest version of Node.js that is supported; `npm test` runs them in the one between these. Arguments
 * are Vitest's, such as the files to run. Needs `npm ci --prefix .ci/platforms`.
 */
const root = fileURLToPath(new URL('../..', import.meta.url))

/** Parts that the tests are run in, each in processes of its own: in one that has run hundreds of files, each collection of garbage takes long. */
const parts = 6

for (const version of ['node22', 'node26']) {
  const node = join(installed, version, 'bin/node')
  // What tests start by the name `node` has the same version.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'tests/vitest.config.ts', '--retry', '1']
  // A few files are not in every part.
  if (process.argv.length > 2) vitest.push('--passWithNoTests')
  for (let part = 1; part <= parts; part++) {
    console.log(`\n${version}, part ${part} of ${parts}`)
    const args = [...vitest, '--shard', `${part}/${parts}`, ...process.argv.slice(2)]
    const { status } = spawnSync(node, args, { cwd: root, env, stdio: 'inherit' })
    if (status !== 0) process.exit(1)
  }
}
