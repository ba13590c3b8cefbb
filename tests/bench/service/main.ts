/**
 * `npm run bench:service`: what the service costs, beside Portkey's gateway and a plain proxy on `node:http`. Each is a process of its own,
 * and so is the provider; they take turns, so that whatever else the machine does falls on all alike. Processor time is that of the
 * gateway's process. `--quick`: fewer requests. `--only=TEXT`: workloads with this text in their name.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from '../measure.ts'
import { type Gateway, type Program, plainProxy, portkey, portkeyVersion, start, toolloop } from './gateways.ts'
import { approval, type Block, block, completion, openReaders, openStreams, response, runWithTool, type Work, withTool } from './load.ts'

const isQuick = process.argv.includes('--quick')
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length) ?? ''
const rounds = isQuick ? 3 : 9
const requests = isQuick ? 200 : 500
/** Rounds that don't count. */
const warmUp = 3
const readers = 1_000
const starts = isQuick ? 3 : 10

const besides: Record<string, Work> = {
  'chat completion, whole': completion(false),
  'chat completion, streamed': completion(true),
  'the same with a tool, whole': withTool(false),
  'the same with a tool, streamed': withTool(true),
  'Responses API, whole': response(false),
  'Responses API, streamed': response(true),
}

const row = (...cells: (string | number)[]) => console.log(`| ${cells.join(' | ')} |`)
const head = (...cells: string[]) => {
  row(...cells)
  row(...cells.map(() => '---'))
}
const isAsked = (name: string) => name.includes(only)

/** Blocks of each contender, in turns, in an order that changes from round to round. */
async function inTurns(contenders: readonly (() => Promise<Block>)[]): Promise<Block[][]> {
  const taken: Block[][] = contenders.map(() => [])
  for (let round = -warmUp; round < rounds; round++) {
    for (let at = 0; at < contenders.length; at++) {
      const index = (at + round + warmUp) % contenders.length
      const one = await contenders[index]?.()
      if (round >= 0 && one !== undefined) taken[index]?.push(one)
    }
  }
  return taken
}

function ratio(of: readonly Block[], to: readonly Block[], field: keyof Block): string {
  return `${median(of.map((one, round) => one[field] / (to[round]?.[field] ?? Number.NaN))).toFixed(2)}×`
}

function cells(blocks: readonly Block[]): string[] {
  const middle = (field: keyof Block) => median(blocks.map((one) => one[field]))
  return [`${middle('cpuUs').toFixed(0)} µs`, `${middle('p50').toFixed(1)} ms`, `${middle('p99').toFixed(1)} ms`]
}

async function compareRequests(gateways: readonly Gateway[]): Promise<void> {
  const asked = Object.entries(besides).filter(([name]) => isAsked(name))
  if (asked.length === 0) return
  head('workload', 'gateway', 'processor time', 'p50', 'p99', 'processor time, to Portkey', 'p99, to Portkey', 'to the proxy')
  for (const [name, work] of asked) {
    const taken = await inTurns(gateways.map((gateway) => () => block(gateway, work, requests)))
    const of = (wanted: string) => taken[gateways.findIndex(({ name }) => name === wanted)]
    const [ofPortkey, ofProxy] = [of('Portkey'), of('plain proxy')]
    for (const [at, blocks] of taken.entries()) {
      const to = (other: Block[] | undefined, field: keyof Block) => (other === undefined ? '' : ratio(blocks, other, field))
      row(name, gateways[at]?.name ?? '', ...cells(blocks), to(ofPortkey, 'cpuUs'), to(ofPortkey, 'p99'), to(ofProxy, 'cpuUs'))
    }
  }
}

async function compareRuns(service: Gateway, provider: string): Promise<void> {
  if (!isAsked('run with a tool')) return
  const loop = fork(fileURLToPath(new URL('loop.ts', import.meta.url)), [provider], { execArgv: [] })
  const ofLoop = async (): Promise<Block> => {
    const answered = once(loop, 'message')
    loop.send(requests)
    const [taken] = await answered
    return taken as Block
  }
  const [runs = [], alone = []] = await inTurns([() => block(service, runWithTool, requests), ofLoop])
  loop.disconnect()
  console.log()
  head('a run with a tool', 'processor time', 'p50', 'p99', 'processor time, to the loop')
  row('`/v1/runs`', ...cells(runs), ratio(runs, alone, 'cpuUs'))
  row('the loop alone', ...cells(alone), '')
}

async function compareApprovals(service: Gateway): Promise<void> {
  if (!isAsked('200 approvals')) return
  const started = performance.now()
  const { cpuUs, p50, p99 } = await block(service, approval, 200)
  const seconds = (performance.now() - started) / 1000
  console.log(
    `\n200 approvals: ${cpuUs.toFixed(0)} µs of processor time each, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${seconds.toFixed(2)} s`,
  )
}

async function compareReaders(programs: readonly Program[]): Promise<void> {
  if (!isAsked('readers')) return
  console.log()
  head(`${readers} at once`, 'gateway', 'memory before', 'memory with them', 'growth')
  for (const program of programs) {
    const gateway = await start(program)
    await block(gateway, completion(true), requests)
    const measure = async (what: string, open: typeof openStreams) => {
      const before = await gateway.usage()
      const close = await open(gateway, readers)
      const after = await gateway.usage()
      close()
      row(what, program.name, ...[before.rssMB, after.rssMB, after.rssMB - before.rssMB].map((mb) => `${mb.toFixed(0)} MB`))
    }
    if (program.name === 'toolloop') await measure('readers of the events of one run', openReaders)
    await measure('streamed completions', openStreams)
    await gateway.close()
  }
}

async function compareStarts(programs: readonly Program[]): Promise<void> {
  if (!isAsked('start')) return
  const samples = new Map<string, { ms: number; rssMB: number }[]>()
  const add = (name: string, ms: number, rssMB: number) => samples.set(name, [...(samples.get(name) ?? []), { ms, rssMB }])
  for (let round = 0; round <= starts; round++) {
    for (const program of programs) {
      const gateway = await start(program)
      const { rssMB } = await gateway.usage()
      await gateway.close()
      if (round > 0) add(program.name, gateway.readyMs, rssMB)
    }
    const began = performance.now()
    execFileSync(process.execPath, ['--input-type=module', '-e', "await import('openai')"])
    if (round > 0) add("a process that imports 'openai'", performance.now() - began, Number.NaN)
  }
  console.log()
  head('start', 'until the first 200 (median)', 'memory then')
  for (const [name, taken] of samples) {
    const rss = median(taken.map(({ rssMB }) => rssMB))
    row(name, `${median(taken.map(({ ms }) => ms)).toFixed(0)} ms`, Number.isNaN(rss) ? '' : `${rss.toFixed(0)} MB`)
  }
}

async function startProvider(): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(fileURLToPath(new URL('provider.ts', import.meta.url)), [], { execArgv: [] })
  const [port] = await once(child, 'message')
  return { child, url: `http://127.0.0.1:${String(port)}` }
}

const folder = mkdtempSync(join(tmpdir(), 'toolloop-bench-service-'))
const provider = await startProvider()
const service = toolloop(provider.url, folder)
const peer = portkey(provider.url)
const programs = [service, ...(peer === undefined ? [] : [peer]), plainProxy(provider.url)]
console.log(peer === undefined ? `Portkey ${portkeyVersion} is left out: npm can't get it.` : `Portkey's gateway is ${portkeyVersion}.`)
console.log(`Node ${process.version}; load average before: ${loadavg()[0]?.toFixed(2)}\n`)
const gateways: Gateway[] = []
try {
  for (const program of programs) gateways.push(await start(program))
  await compareRequests(gateways)
  if (gateways[0] !== undefined) {
    await compareRuns(gateways[0], provider.url)
    await compareApprovals(gateways[0])
  }
  if (only === '') {
    console.log()
    head('memory after these workloads', 'RSS')
    for (const gateway of gateways) row(gateway.name, `${(await gateway.usage()).rssMB.toFixed(0)} MB`)
  }
  for (const gateway of gateways.splice(0)) await gateway.close()
  await compareReaders(programs)
  await compareStarts(programs)
} finally {
  for (const gateway of gateways) await gateway.close()
  provider.child.disconnect()
  rmSync(folder, { recursive: true, force: true })
}
