/**
 * `npm run bench`: what the loop costs over one written by hand, over loopback HTTP to a server. Server and contenders have a process
 * each. CPU time of the contender's process, medians, contenders taken in turns. Every result is checked. Ends with exit code 1 if one is
 * wrong. `--only=SCENARIO,…` measures some, `--quick` takes fewer samples, `--peers` measures other runtimes as well.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { measure, median } from './measure.ts'
import { scenarios } from './scenarios.ts'

const quick = process.argv.includes('--quick')
const withPeers = process.argv.includes('--peers')
const only = process.argv
  .find((argument) => argument.startsWith('--only='))
  ?.slice(7)
  .split(',')

function microseconds(milliseconds: number, units: number): string {
  return `${((milliseconds / units) * 1000).toFixed(0)} µs`
}

/** Milliseconds and bytes for `import 'toolloop'` in a fresh process. */
function importCost(): [number, number] {
  const entry = new URL('../../dist/index.js', import.meta.url).href
  const script = `const m = process.memoryUsage().rss; const t = performance.now(); await import(${JSON.stringify(entry)}); console.log(JSON.stringify([performance.now() - t, process.memoryUsage().rss - m]))`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
}

function write(...cells: string[]): void {
  console.log(`| ${cells.join(' | ')} |`)
}

const server = fork(new URL('./server.ts', import.meta.url), { execArgv: [] })
const [port] = await once(server, 'message')
write('what', 'loop', 'CPU', 'wall', 'against by hand', 'more')
write('---', '---', '---', '---', '---', '---')
for (const [name, scenario] of Object.entries(scenarios)) {
  if (only !== undefined && !only.includes(name)) continue
  const { title, units, contenders, peers } = scenario
  if (withPeers && peers === undefined) continue
  const rounds = quick ? Math.ceil(scenario.rounds / 5) : scenario.rounds
  const names = Object.keys(withPeers ? { ...contenders, ...peers } : contenders)
  const mayFail = Object.keys(peers ?? {})
  for (const [contender, standing] of await measure(name, { ...scenario, rounds }, names, mayFail, `http://127.0.0.1:${String(port)}`)) {
    if (standing instanceof Error) {
      write(title, contender, 'fails', '', '', standing.message)
      continue
    }
    const { cpuMs, wallMs, ratio, figures } = standing
    const more = Object.entries(figures).map(([figure, value]) => `${figure}: ${value.toFixed(value < 10 ? 2 : 0)}`)
    write(title, contender, microseconds(cpuMs, units), microseconds(wallMs, units), `${ratio.toFixed(2)}×`, more.join('; '))
  }
}
server.disconnect()
if (!withPeers && (only === undefined || only.includes('import'))) {
  const costs = Array.from({ length: quick ? 3 : 11 }, importCost)
  const [time, memory] = [median(costs.map(([ms]) => ms)), median(costs.map(([, bytes]) => bytes)) / 2 ** 20]
  write("import 'toolloop', cold", 'toolloop', '', `${time.toFixed(0)} ms`, '', `${memory.toFixed(1)} MB`)
}
