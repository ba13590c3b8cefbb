/**
 * The long form of the fault harness: one scenario after another, each with its seed. `npm run test:faults -- [--store sqlite|dbos]
 * [--faults kill,cut] [--seed 17] [--scenarios 100] [--times 1] [--log]`
 */
import { parseArgs } from 'node:util'
import { hasPostgres, startPostgres } from '../postgres.ts'
import { faultsOf } from './faults.ts'
import { canMount, inFolder, inPostgres } from './place.ts'
import { play } from './scenario.ts'
import { scenarioOf } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    faults: { type: 'string' },
    seed: { type: 'string' },
    scenarios: { type: 'string' },
    times: { type: 'string', default: '1' },
    log: { type: 'boolean', default: false },
  },
})
const { store, times } = values
if (store !== 'sqlite' && store !== 'dbos') throw new Error(`Expected \`--store\` to be sqlite or dbos, got ${store}`)
if (store === 'dbos' && !hasPostgres) throw new Error('Expected PostgreSQL to be installed for `--store dbos`')
const hasDisk = store === 'sqlite' && canMount()
if (store === 'sqlite' && !hasDisk) console.warn('SKIPPED: full disks, because none can be mounted here (only root may)')
const kinds = values.faults?.split(',') ?? [...faultsOf[store], ...(hasDisk ? ['disk'] : [])]
const first = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const scenarios = Number(values.scenarios ?? (values.seed === undefined ? 100 : 1))

await using postgres = store === 'dbos' ? await startPostgres() : undefined
for (let n = 0; n < scenarios * Number(times); n++) {
  const seed = first + Math.floor(n / Number(times))
  const { faults } = scenarioOf(seed, store, kinds)
  await using place = postgres === undefined ? inFolder(faults.includes('disk') ? 32 : undefined) : inPostgres(postgres)
  const started = performance.now()
  const { violations, log, done } = await play({ seed, faults }, place)
  const seconds = Math.round((performance.now() - started) / 1_000)
  console.log(`--seed ${seed}: ${faults.join(' ')}; ${done.runs} runs, ${done.entries} entries in the ledger, ${seconds} s`)
  if (violations.length > 0) process.exitCode = 1
  if (violations.length > 0 || values.log) console.log(log.join('\n'))
  for (const violation of violations) console.error(`VIOLATED: ${violation}`)
}
