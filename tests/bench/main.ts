/**
 * `npm run bench`: what the loop costs over one written by hand, over loopback HTTP to a server in a process of its own.
 * CPU time of this process, medians, contenders taken in turns. Every result is checked. Ends with exit code 1 if one is wrong.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { handWritten, type Loop, ours, oursListening, plainSdk } from './loops.ts'
import { interleave, median, percentile, sample } from './measure.ts'
import { argumentPieces, textPieces } from './server.ts'

const quick = process.argv.includes('--quick')
const rows: string[][] = []

function check(what: string, got: unknown, expected: unknown): void {
  if (got === expected) return
  console.error(`${what}: expected ${String(expected)}, got ${String(got)}`)
  process.exitCode = 1
}

async function compare(title: string, loops: Record<string, () => Promise<unknown>>, rounds: number, perUnit = 1): Promise<void> {
  const result = await interleave(loops, quick ? Math.ceil(rounds / 5) : rounds, quick ? 2 : 4)
  const base = result['by hand']?.cpuMs ?? Number.NaN
  for (const [name, { cpuMs, wallMs }] of Object.entries(result)) {
    rows.push([
      title,
      name,
      `${((cpuMs / perUnit) * 1000).toFixed(0)} µs`,
      `${((wallMs / perUnit) * 1000).toFixed(0)} µs`,
      `${(cpuMs / base).toFixed(2)}×`,
    ])
  }
}

async function benchTurns(url: string): Promise<void> {
  const rounds = 9
  for (const stream of [true, false]) {
    const target = `${url}/${stream ? 'turns' : 'whole'}/${rounds}`
    const repeat = 20
    const task = (loop: Loop) => async () => {
      for (let i = 0; i < repeat; i++) {
        const { toolResults, textLength } = await loop({ url: target, stream, rounds })
        check('tool results', toolResults, rounds)
        check('answer', textLength, 56)
      }
    }
    await compare(
      `a turn, ${stream ? 'streamed' : 'whole'}`,
      { 'by hand': task(handWritten), toolloop: task(ours), 'openai SDK': task(plainSdk) },
      25,
      repeat * (rounds + 1),
    )
  }
}

async function benchText(url: string): Promise<void> {
  const length = textPieces * 4
  const repeat = 2
  const task = (loop: Loop) => async () => {
    for (let i = 0; i < repeat; i++) {
      let seen = 0
      const onText = (text: string) => {
        seen += text.length
      }
      const { textLength } = await loop({ url: `${url}/text/0`, stream: true, rounds: 0, onText })
      check('text', textLength, length)
      check('text seen', seen, length)
    }
  }
  await compare(
    '1 MB of text in 4-character pieces',
    {
      'by hand': task(handWritten),
      'toolloop, listener': task(oursListening),
      'toolloop, stream().text': task(ours),
      'openai SDK': task(plainSdk),
    },
    7,
    repeat,
  )
}

async function benchArguments(url: string): Promise<void> {
  // Several at a time: what one leaves to the garbage collector must not fall on the next contender.
  const repeat = 4
  const task = (loop: Loop) => async () => {
    for (let i = 0; i < repeat; i++) {
      const { toolResults } = await loop({ url: `${url}/arguments/1`, stream: true, rounds: 1 })
      check('tool results', toolResults, 1)
    }
  }
  await compare(
    `one call with ${(argumentPieces * 16) / 2 ** 20} MB of arguments in 16-character deltas`,
    { 'by hand': task(handWritten), toolloop: task(ours), 'openai SDK': task(plainSdk) },
    12,
    repeat,
  )
}

/** Whether a late round costs more than an early one, beyond the longer request: both loops send the same bytes. */
async function benchManyRounds(url: string): Promise<void> {
  const rounds = 200
  for (const [name, loop] of Object.entries({ 'by hand': handWritten, toolloop: ours })) {
    const first: number[] = []
    const last: number[] = []
    for (let repeat = quick ? 4 : 12; repeat > 0; repeat--) {
      const marks: number[] = []
      const cpu = process.cpuUsage()
      const onRound = () => {
        const { user, system } = process.cpuUsage(cpu)
        marks.push((user + system) / 1000)
      }
      const { toolResults } = await loop({ url: `${url}/turns/${rounds}`, stream: true, rounds, onRound })
      check('tool results', toolResults, rounds)
      const between = (from: number) => ((marks[from + 20] ?? Number.NaN) - (marks[from] ?? Number.NaN)) / 20
      first.push(between(10))
      last.push(between(rounds - 20))
    }
    const [early, late] = [median(first.slice(1)), median(last.slice(1))]
    rows.push([
      '200 rounds: a late round against an early one',
      name,
      `${(late * 1000).toFixed(0)} µs`,
      `${(early * 1000).toFixed(0)} µs early`,
      `${(late / early).toFixed(2)}× the early one`,
    ])
  }
}

async function benchConcurrency(url: string): Promise<void> {
  const runs = 1000
  const rounds = 2
  for (const [name, loop] of Object.entries({ 'by hand': handWritten, toolloop: ours })) {
    const one = () => loop({ url: `${url}/turns/${rounds}`, stream: true, rounds })
    await Promise.all(Array.from({ length: 200 }, one))
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const times: number[] = []
    const { cpuMs, wallMs } = await sample(() =>
      Promise.all(
        Array.from({ length: runs }, async () => {
          const start = performance.now()
          const { toolResults } = await one()
          check('tool results', toolResults, rounds)
          times.push(performance.now() - start)
        }),
      ),
    )
    delay.disable()
    const rss = (process.memoryUsage().rss / 2 ** 20).toFixed(0)
    const perRun = `${((cpuMs / runs) * 1000).toFixed(0)} µs`
    const detail = `${((runs / wallMs) * 1000).toFixed(0)} runs/s, p99 ${percentile(times, 0.99).toFixed(0)} ms, loop delay max ${(delay.max / 1e6).toFixed(0)} ms, RSS ${rss} MB`
    rows.push(['1,000 runs at once, 3 turns each', name, perRun, '', detail])
  }
}

function benchImport(): void {
  const script = (what: string) =>
    `const m = process.memoryUsage().rss; const t = performance.now(); ${what}; console.log(JSON.stringify([performance.now() - t, process.memoryUsage().rss - m]))`
  const entry = new URL('../../dist/index.js', import.meta.url).href
  const measured = Array.from({ length: quick ? 3 : 11 }, (): [number, number] =>
    JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', script(`await import(${JSON.stringify(entry)})`)], { encoding: 'utf8' }),
    ),
  )
  const time = median(measured.map(([ms]) => ms)).toFixed(0)
  const memory = (median(measured.map(([, bytes]) => bytes)) / 2 ** 20).toFixed(1)
  rows.push(["import 'toolloop', cold", 'toolloop', '', `${time} ms`, `${memory} MB`])
}

const server = fork(new URL('./server.ts', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] })
const [port] = await once(server, 'message')
const url = `http://127.0.0.1:${String(port)}`
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice(7)
const parts: Record<string, (url: string) => unknown> = {
  turns: benchTurns,
  text: benchText,
  arguments: benchArguments,
  rounds: benchManyRounds,
  concurrency: benchConcurrency,
  import: benchImport,
}
for (const [name, bench] of Object.entries(parts)) if (only === undefined || only === name) await bench(url)
server.disconnect()

console.log(`| what | loop | CPU | wall | against by hand |\n|---|---|---|---|---|`)
for (const row of rows) console.log(`| ${row.join(' | ')} |`)
