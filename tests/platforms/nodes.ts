import { spawnSync } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installed } from './project.ts'

// Runs the tests below in the oldest and the newest supported major version of Node.js; `npm test` runs all in the one between. Arguments
// are passed to Vitest: the files to run instead. Needs `npm ci --prefix .ci/platforms`.

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * What depends on Node.js itself: connections, streams, processes, threads, files, SQLite and the loading of modules, and one pass through
 * everything built on them. The rest is plain JavaScript, which `lib` in tsconfig.json limits to what both versions have.
 */
const files = [
  'tests/cli/',
  'tests/journals/',
  'tests/sessions/',
  'tests/spec/',
  'tests/sqlite/',
  'tests/telemetry/',
  'tests/tools/',
  'tests/models/connection.test',
  'tests/models/event-stream.test',
  'tests/models/every-provider.test',
  'tests/models/http.test',
  'tests/models/openai-contract.test',
  'tests/models/openai-responses-contract.test',
  'tests/models/anthropic-contract.test',
  'tests/models/google-contract.test',
  'tests/models/sdk-requests.test',
  'tests/models/stalled-stream.test',
  'tests/models/retry-after.test',
  'tests/models/transport.test',
  'tests/service/api.test',
  'tests/service/attacks.test',
  'tests/service/chat.test',
  'tests/service/full-disk.test',
  'tests/service/mcp.test',
  'tests/service/responses.test',
  'tests/service/runs.test',
  'tests/service/stored-runs.test',
  'tests/hostile-texts.test',
  'tests/imports.test',
  'tests/json-pieces.test',
  'tests/log.test',
  'tests/secret-texts.test',
  'tests/well-formed.test',
]

/** Of the slow ones, those that depend on processes and SQLite. */
const slowFiles = [
  'tests/journals/sqlite-copies.slow',
  'tests/journals/take-over.slow',
  'tests/log.slow',
  'tests/models/proxy.slow',
  'tests/telemetry/exit.slow',
  'tests/tools/mcp/group-guard.slow',
  'tests/tools/mcp/token-lock.slow',
]

const given = process.argv.slice(2)
const runs = given.length > 0 ? [given] : [files, ['--mode', 'slow', ...slowFiles]]

for (const version of ['node22', 'node26']) {
  const node = join(installed, version, 'bin/node')
  // What tests start by the name `node` has the same version.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  console.log(`\n${version}`)
  for (const args of runs) {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'tests/vitest.config.ts', ...args]
    const { status } = spawnSync(node, vitest, { cwd: root, env, stdio: 'inherit' })
    if (status !== 0) process.exit(1)
  }
}
