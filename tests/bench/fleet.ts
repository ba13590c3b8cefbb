/**
 * `npm run bench:fleet`: what a run with a journal costs, 50 at once: on SQLite and on PostgreSQL, in one process and in several, in the
 * library and in the service; and how long runs stand still after a `kill -9`. Every commit waits for the disk. Throws if a run is lost, made
 * twice or left behind, or if a connection stays open. `--quick`: fewer runs. `--only=TEXT`: parts with this text in their name.
 * `--statements`: which statements a run makes.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'
import { median } from './measure.ts'
import { type Gateway, type Program, start, toolloop } from './service/gateways.ts'
import { runWithTool, send } from './service/load.ts'

const atOnce = 50
const isQuick = process.argv.includes('--quick')
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length) ?? ''
const rounds = isQuick ? 1 : 5
const runs = isQuick ? 400 : 1_000
/** Runs of each process before the first that is measured. Its code is compiled again and again over some thousand runs. */
const warmUp = isQuick ? 200 : 2_000
const several = 4
const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Where runs are kept: in a database, or in a file. */
type Place = { url: string } | { file: string }

/** Processes that make runs together. */
interface Fleet {
  pids: readonly number[]
  /** Makes runs with one tool call each, `atOnce` at once. */
  make(count: number): Promise<void>
  close(): Promise<void>
}

/** What a worker is told. `holds`: from now on, calls say `called` and don't return. */
type Order = { count: number; atOnce: number; holds: boolean } | 'close'

/** A worker's process. */
function work(place: Place): void {
  let holds = false
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'read',
    timeoutMs: Number.POSITIVE_INFINITY,
    execute: () => {
      if (!holds) return 'It is sunny in Oslo.'
      process.send?.('called')
      return new Promise<string>(() => {})
    },
  })
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'look' }] }), {
    record: false,
  })
  const journal = 'url' in place ? dbosJournal({ ...place, logger }) : sqliteJournal(place)
  const runner = new AgentRunner({ model, tools: [look], logger, journal })
  process.on('message', async (asked: Order) => {
    if (asked === 'close') return void journal.close().then(() => process.disconnect())
    holds = asked.holds
    let left = asked.count
    const client = async () => {
      while (left-- > 0) {
        const { stopReason, toolCalls } = await runner.run('What is the weather in Oslo?')
        if (stopReason !== 'answered' || toolCalls.length !== 1) throw new Error(`a run ended with ${stopReason}`)
      }
    }
    await Promise.all(Array.from({ length: asked.atOnce }, client))
    process.send?.('made')
  })
}

function startWorker(place: Place): ChildProcess {
  return fork(fileURLToPath(import.meta.url), ['worker', JSON.stringify(place)], { execArgv: [] })
}

function tell(worker: ChildProcess, order: Order): void {
  worker.send(order)
}

/** Resolves with the times at which the process said this, once it has said it so often. */
function said(child: ChildProcess, what: string, times = 1): Promise<number[]> {
  const { promise, resolve, reject } = Promise.withResolvers<number[]>()
  const at: number[] = []
  const hear = (message: unknown) => {
    if (message === what && at.push(performance.now()) === times) resolve(at)
  }
  const fail = (code: number | null) => reject(new Error(`Expected a process to say \`${what}\`, got its end with ${code}`))
  child.on('message', hear).on('exit', fail)
  return promise.finally(() => child.off('message', hear).off('exit', fail))
}

function startWorkers(place: Place, count: number): Fleet {
  const workers = Array.from({ length: count }, () => startWorker(place))
  return {
    pids: workers.map(({ pid = 0 }) => pid),
    make: async (runs) => {
      await Promise.all(
        workers.map(async (worker, at) => {
          const share = (all: number) => Math.floor((all + at) / count)
          const made = said(worker, 'made')
          tell(worker, { count: share(runs), atOnce: share(atOnce), holds: false })
          await made
        }),
      )
    },
    close: async () => {
      await Promise.all(
        workers.map((worker) => {
          tell(worker, 'close')
          return once(worker, 'exit')
        }),
      )
    },
  }
}

const folder = process.argv[2] === 'worker' ? '' : mkdtempSync(join(tmpdir(), 'toolloop-bench-fleet-'))

/** `toolloop serve` with its runs in that place. */
function serviceIn(place: Place, provider: string): Program {
  const kept = 'url' in place ? `journal: { kind: dbos, url: '\${DATABASE_URL}' }` : `keepRuns: { folder: '${place.file}' }`
  const program = toolloop(provider, folder, kept)
  return 'url' in place ? { ...program, env: { ...program.env, DATABASE_URL: place.url } } : program
}

async function startServices(program: Program, count: number): Promise<Fleet> {
  const services: Gateway[] = []
  for (let at = 0; at < count; at++) services.push(await start(program))
  return {
    pids: services.map((service) => service.process.pid ?? 0),
    make: async (runs) => {
      let left = runs
      const client = async (_: unknown, at: number) => {
        const service = services[at % count]
        while (service !== undefined && left-- > 0) await runWithTool(service)
      }
      await Promise.all(Array.from({ length: atOnce }, client))
    },
    close: async () => {
      await Promise.all(
        services.map((service) => {
          service.process.kill('SIGTERM')
          return once(service.process, 'exit')
        }),
      )
    },
  }
}

/** What processes have used so far: milliseconds of processor time, and bytes written to files. */
function usedBy(pids: readonly number[]): { cpuMs: number; bytes: number } {
  const used = { cpuMs: 0, bytes: 0 }
  for (const pid of pids) {
    // Ticks of 10 ms: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    used.cpuMs += [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]) * 10, 0)
    used.bytes += Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
  }
  return used
}

/** PostgreSQL's own process, with those that have ended, and all others. */
function processesOf({ socketFolder }: Postgres): number[] {
  const main = Number.parseInt(readFileSync(join(socketFolder, 'data/postmaster.pid'), 'utf8'), 10)
  const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim().split(' ').map(Number)
  return [main, ...children]
}

/** What one run cost. */
interface Cost {
  perSecond: number
  ourCpuMs: number
  /** Of PostgreSQL. */
  itsCpuMs: number
  statements: number
  /** Written to the file or, of PostgreSQL, to its log. */
  kilobytes: number
}

interface Database {
  server: Postgres
  client: pg.Client
}

async function numberFrom({ client }: Database, sql: string): Promise<number> {
  return Number((await client.query(sql)).rows[0]?.n)
}

async function costOf(fleet: Fleet, count: number, database?: Database): Promise<Cost> {
  const measure = async () => {
    const its = database && {
      ...usedBy(processesOf(database.server)),
      statements: await numberFrom(database, 'SELECT sum(calls) AS n FROM pg_stat_statements'),
      log: await numberFrom(database, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS n"),
    }
    return { at: performance.now(), our: usedBy(fleet.pids), its }
  }
  const before = await measure()
  await fleet.make(count)
  const after = await measure()
  const grown = (of: (measured: typeof before) => number) => (of(after) - of(before)) / count
  return {
    perSecond: 1_000 / grown(({ at }) => at),
    ourCpuMs: grown(({ our }) => our.cpuMs),
    itsCpuMs: grown(({ its }) => its?.cpuMs ?? 0),
    statements: grown(({ its }) => its?.statements ?? 0),
    kilobytes: grown(({ our, its }) => its?.log ?? our.bytes) / 1_024,
  }
}

/** Throws if a run was lost or left behind, or a connection stayed open. */
async function checkNothingLeft(database: Database, recorded: number | undefined): Promise<void> {
  const expected: [what: string, sql: string, n: number][] = [
    ['runs that have not ended', "SELECT count(*) AS n FROM toolloop.runs WHERE status <> 'ended'", 0],
    ['workflows that have not ended', "SELECT count(*) AS n FROM dbos.workflow_status WHERE status = 'PENDING'", 0],
    ['connections', "SELECT count(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend'", 1],
  ]
  if (recorded !== undefined) expected.push(['runs', 'SELECT count(*) AS n FROM toolloop.runs', recorded])
  for (const [what, sql, n] of expected) {
    // A connection that was closed is there for a moment.
    for (let tries = 0; (await numberFrom(database, sql)) !== n; tries++) {
      if (tries === 100) throw new Error(`Expected ${n} ${what}, got ${await numberFrom(database, sql)}`)
      await delay(50)
    }
  }
}

const row = (...cells: string[]) => console.log(`| ${cells.join(' | ')} |`)

function show(name: string, costs: readonly Cost[]): void {
  const of = (field: keyof Cost) => median(costs.map((cost) => cost[field]))
  const its = of('itsCpuMs')
  const ofPostgres = its === 0 ? ['', '', ''] : [`${its.toFixed(2)} ms`, (1_000 / its).toFixed(0), of('statements').toFixed(1)]
  row(name, of('perSecond').toFixed(0), `${of('ourCpuMs').toFixed(2)} ms`, ...ofPostgres, `${of('kilobytes').toFixed(1)} KB`)
}

async function openDatabase(): Promise<Database & AsyncDisposable> {
  const server = await startPostgres({
    fsync: true,
    settings: { max_connections: '200', shared_preload_libraries: 'pg_stat_statements' },
  })
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query('CREATE EXTENSION pg_stat_statements')
  return {
    server,
    client,
    [Symbol.asyncDispose]: async () => {
      await client.end()
      await server.stop()
    },
  }
}

/**
 * Measures one process and several, in turns. All are warm before the first turn, because code that is compiled in each process would count
 * as growth. Each fleet has a server of its own.
 */
async function compare(name: string, startFleet: (place: Place, count: number) => Promise<Fleet>, isRecorded: boolean): Promise<void> {
  if (!name.includes(only)) return
  await using ofOne = await openDatabase()
  await using ofMany = await openDatabase()
  const open = async (database: Database, count: number) => {
    const fleet = await startFleet({ url: database.server.url }, count)
    await fleet.make(warmUp * count)
    // A new table has no statistics until PostgreSQL analyzes it by itself, within minutes.
    await database.client.query('ANALYZE')
    return { database, count, fleet, costs: [] as Cost[] }
  }
  const [one, many] = [await open(ofOne, 1), await open(ofMany, several)]
  for (let round = 0; round < rounds; round++) {
    for (const { fleet, database, costs } of round % 2 === 0 ? [one, many] : [many, one]) {
      await database.client.query('SELECT pg_stat_statements_reset()')
      costs.push(await costOf(fleet, runs, database))
      if (process.argv.includes('--statements')) await showStatements(database)
    }
  }
  for (const { fleet, database, count } of [one, many]) {
    await fleet.close()
    await checkNothingLeft(database, isRecorded ? warmUp * count + runs * rounds : undefined)
  }
  show(`${name}, 1 process`, one.costs)
  show(`${name}, ${several} processes`, many.costs)
  const growth = (of: (cost: Cost) => number) => median(many.costs.map((cost, round) => of(cost) / of(one.costs[round] ?? cost))).toFixed(2)
  const [ours, its] = [growth(({ ourCpuMs }) => ourCpuMs), growth(({ itsCpuMs }) => itsCpuMs)]
  const total = growth(({ ourCpuMs, itsCpuMs }) => ourCpuMs + itsCpuMs)
  console.error(`${name}: with ${several} processes, a run costs ${total} times the processor time (ours ${ours}, PostgreSQL's ${its})`)
}

async function showStatements({ client }: Database): Promise<void> {
  const { rows } = await client.query(
    'SELECT calls, total_exec_time AS ms, query FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 60',
  )
  for (const { calls, ms, query } of rows) {
    console.error(
      `${(calls / runs).toFixed(2)} a run, ${((ms * 1_000) / runs).toFixed(0)} µs: ${query.replaceAll(/\s+/g, ' ').slice(0, 300)}`,
    )
  }
}

/** How long 50 runs stand still if their process is killed: until the first and the last begin their next step again in another. */
async function killWorker(name: string, placeOf: () => Place | Promise<Place>): Promise<void> {
  await timeResumption(name, async () => {
    const place = await placeOf()
    const [killed, other] = [startWorker(place), startWorker(place)]
    const made = said(other, 'made')
    tell(other, { count: 1, atOnce: 1, holds: false })
    await made
    tell(other, { count: 0, atOnce: 0, holds: true })
    const called = said(killed, 'called', atOnce)
    tell(killed, { count: atOnce, atOnce, holds: true })
    await called
    const resumed = said(other, 'called', atOnce)
    const times = await timesAfter(() => killed.kill('SIGKILL'), resumed)
    other.kill('SIGKILL')
    await once(other, 'exit')
    return times
  })
}

async function killService(name: string, placeOf: () => Place | Promise<Place>): Promise<void> {
  await timeResumption(name, async () => {
    let ask = () => {}
    const provider = createServer(() => ask()).listen(0, '127.0.0.1')
    await once(provider, 'listening')
    const asked = (): Promise<number[]> => {
      const { promise, resolve } = Promise.withResolvers<number[]>()
      const at: number[] = []
      ask = () => at.push(performance.now()) === atOnce && resolve(at)
      return promise
    }
    const program = serviceIn(await placeOf(), `http://127.0.0.1:${(provider.address() as AddressInfo).port}`)
    const [killed, other] = [await start(program), await start(program)]
    const begun = asked()
    const target = killed.target('/v1/runs', 'hold')
    for (let run = 0; run < atOnce; run++) (await send(target, { model: target.model, input: 'Hello.', background: true })).resume()
    await begun
    const times = await timesAfter(() => killed.process.kill('SIGKILL'), asked())
    await other.close()
    provider.closeAllConnections()
    provider.close()
    return times
  })
}

async function timesAfter(kill: () => void, resumed: Promise<number[]>): Promise<number[]> {
  const at = performance.now()
  kill()
  return (await resumed).map((time) => (time - at) / 1_000)
}

async function timeResumption(name: string, killOnce: () => Promise<number[]>): Promise<void> {
  if (!name.includes(only)) return
  const taken: number[][] = []
  for (let round = 0; round < rounds; round++) taken.push(await killOnce())
  const [first, last] = [taken.map((times) => times[0] ?? Number.NaN), taken.map((times) => times.at(-1) ?? Number.NaN)]
  const text = (seconds: number) => `${seconds.toFixed(2)} s`
  row(name, text(median(first)), text(median(last)), text(Math.max(...last)))
}

async function main(): Promise<void> {
  if (!hasPostgres) throw new Error('Expected the programs of PostgreSQL (apt-get install postgresql)')
  console.log(`Node ${process.version}; load average before: ${loadavg()[0]?.toFixed(2)}\n`)
  const provider = fork(fileURLToPath(new URL('service/provider.ts', import.meta.url)), [], { execArgv: [] })
  const [port] = await once(provider, 'message')
  let files = 0
  const newFile = (): Place => ({ file: join(folder, `runs-${files++}`) })
  try {
    row(
      `a run with a call, ${atOnce} at once`,
      'runs/s',
      'our CPU',
      "PostgreSQL's CPU",
      'runs/s a core of PostgreSQL',
      'statements',
      'written',
    )
    row(...Array.from({ length: 7 }, () => '---'))
    const alone = async (name: string, startFleet: (place: Place) => Promise<Fleet>) => {
      if (!name.includes(only)) return
      const fleet = await startFleet(newFile())
      await fleet.make(warmUp)
      const costs: Cost[] = []
      for (let round = 0; round < rounds; round++) costs.push(await costOf(fleet, runs))
      await fleet.close()
      show(name, costs)
    }
    const serve = async (place: Place, count: number) => startServices(serviceIn(place, `http://127.0.0.1:${String(port)}`), count)
    await alone('the library on SQLite', async (place) => startWorkers(place, 1))
    await alone('the service on SQLite', (place) => serve(place, 1))
    await compare('the library on PostgreSQL', async (place, count) => startWorkers(place, count), true)
    await compare('the service on PostgreSQL', serve, false)
    console.log()
    row(`from kill -9 of a process with ${atOnce} runs to their next step`, 'the first', 'the last', 'at most')
    row(...Array.from({ length: 4 }, () => '---'))
    await killWorker('killed: the library on SQLite', newFile)
    await killService('killed: the service on SQLite', newFile)
    await using database = await openDatabase()
    // Each round has tables of its own.
    let databases = 0
    const newDatabase = async (): Promise<Place> => {
      const name = `bench_${databases++}`
      await database.client.query(`CREATE DATABASE ${name}`)
      return { url: new URL(`/${name}`, database.server.url).href }
    }
    await killWorker('killed: the library on PostgreSQL', newDatabase)
    await killService('killed: the service on PostgreSQL', newDatabase)
  } finally {
    provider.disconnect()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[2] === 'worker') work(JSON.parse(process.argv[3] ?? ''))
else await main()
