/**
 * `npm run bench:scale`: very many runs in one process. 10,000 at once, each of three turns of a model that thinks for ten seconds; then
 * 1,000,000 one after another, 100 at a time, over a model in memory (`--runs=N` for another number). Every result is checked. Prints how the
 * memory and the event loop fare on the way. Ends with exit code 1 where the memory grows.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { ours, takeCalls } from './loops.ts'
import { oursInMemory } from './memory-loops.ts'
import { answer } from './peers.ts'

const concurrentRuns = 10_000
const thinkMs = 10_000
/** So many are started at once, as requests come to a service: a start is work of the caller's turn of the event loop. */
const startedAtOnce = 10
const answerLength = 56

const runsAsked = Number(process.argv.find((argument) => argument.startsWith('--runs='))?.slice(7) ?? 1_000_000)

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`
}

function heapUsed(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

function check(what: string, got: number, expected: number): void {
  if (got !== expected) throw new Error(`${what}: expected ${expected}, got ${got}`)
}

async function manyAtOnce(): Promise<void> {
  const server = fork(new URL('./server.ts', import.meta.url), { execArgv: [] })
  const [port] = await once(server, 'message')
  const task = { url: `http://127.0.0.1:${String(port)}/think-${thinkMs}/2`, stream: true, rounds: 2 }
  takeCalls()
  // What is loaded and compiled once is not what the runs hold.
  check('answer', await ours({ ...task, url: `http://127.0.0.1:${String(port)}/turns/2` }), answerLength)
  const before = heapUsed()
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const cpu = process.cpuUsage()
  const begin = performance.now()
  const runs: Promise<number>[] = []
  while (runs.length < concurrentRuns) {
    for (let i = 0; i < startedAtOnce; i++) runs.push(ours(task))
    await pause((thinkMs * startedAtOnce) / concurrentRuns)
  }
  const during = process.memoryUsage().rss
  for (const length of await Promise.all(runs)) check('answer', length, answerLength)
  runs.length = 0
  delay.disable()
  check('calls', takeCalls(), 2 * concurrentRuns + 2)
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (performance.now() - begin) / 1000
  server.disconnect()
  const grown = heapUsed() - before
  console.log(`${concurrentRuns} runs at once, in ${seconds.toFixed(0)} s:`)
  console.log(`  CPU time: ${((user + system) / 1e6).toFixed(1)} s`)
  console.log(
    `  event loop, delay at p50, p99, p99.9: ${[50, 99, 99.9].map((at) => (delay.percentile(at) / 1e6).toFixed(1)).join(', ')} ms`,
  )
  console.log(`  RSS with all of them: ${megabytes(during)}; heap kept afterwards: ${megabytes(grown)}`)
}

async function manyInTurn(): Promise<void> {
  const lanes = 100
  const heaps: number[] = []
  const begin = performance.now()
  const share = Math.ceil(runsAsked / 10)
  takeCalls()
  for (let tenth = 1; tenth <= 10; tenth++) {
    let left = share
    const lane = async () => {
      while (left-- > 0) check('answer', await oursInMemory({ url: '', stream: false, rounds: 2 }), answer.length)
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    check('calls', takeCalls(), 2 * share)
    heaps.push(heapUsed())
    console.log(`  ${tenth * share} runs: heap ${megabytes(heaps.at(-1) ?? 0)}, RSS ${megabytes(process.memoryUsage().rss)}`)
  }
  const seconds = (performance.now() - begin) / 1000
  console.log(`${10 * share} runs, ${lanes} at a time: ${((10 * share) / seconds).toFixed(0)} runs a second`)
  const grown = (heaps.at(-1) ?? 0) - (heaps[1] ?? 0)
  if (grown > 2 ** 20) throw new Error(`Expected the heap not to grow, got ${megabytes(grown)} more than after ${2 * share} runs`)
}

if (globalThis.gc === undefined) throw new Error('Expected `node --expose-gc`')
await manyAtOnce()
await manyInTurn()
