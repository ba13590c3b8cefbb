/**
 * The long form of the fault harness: scenario after scenario, each with its seed.
 * `npm run test:faults -- [--store sqlite|dbos] [--faults kill,cut] [--seed 17] [--scenarios 100] [--log]`
 */
import { parseArgs } from 'node:util'
import { hasPostgres, startPostgres } from '../postgres.ts'
import { canMount, inFolder, inPostgres } from './place.ts'
import { play } from './scenario.ts'
import { scenarioOf } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    faults: { type: 'string' },
    seed: { type: 'string' },
    scenarios: { type: 'string' },
    log: { type: 'boolean', default: false },
  },
})
const { store, faults, log } = values
if (store !== 'sqlite' && store !== 'dbos') throw new Error(`Expected --store sqlite or dbos, got ${store}`)
if (store === 'dbos' && !hasPostgres) throw new Error('PostgreSQL is not installed')
const first = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const count = Number(values.scenarios ?? (values.seed === undefined ? 100 : 1))
await using postgres = store === 'dbos' ? await startPostgres() : undefined
for (let seed = first; seed < first + count; seed++) {
  const scenario = scenarioOf(seed, store, faults?.split(','))
  const place = postgres === undefined ? inFolder(scenario.faults.includes('disk') ? 8 : undefined) : inPostgres(postgres)
  const started = performance.now()
  const report = await play(scenario, place)
  await place[Symbol.asyncDispose]()
  const { violations, done } = report
  console.log(
    `seed ${seed} (${store}): ${scenario.faults.join(' ')}; ${JSON.stringify(done)} in ${Math.round(performance.now() - started)} ms`,
  )
  for (const violation of violations) console.error(`  ${violation}`)
  if (violations.length > 0) process.exitCode = 1
  if (log) for (const line of report.log) console.log(`  ${line}`)
}
if (store === 'sqlite' && !canMount()) console.warn('SKIPPED: the full disk, because no disk can be mounted here (only root may)')
