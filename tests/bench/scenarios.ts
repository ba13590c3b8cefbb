/** What is measured: each scenario's work, by contender, the one written by hand first. Every result is checked. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { handWrittenAnthropic, oursOverAnthropic } from './anthropic-loops.ts'
import { handWrittenGoogle, oursOverGoogle } from './google-loops.ts'
import { handWritten, type Loop, ours, oursListening, plainSdk } from './loops.ts'
import { argumentPieces, textPieces } from './server.ts'

/** Further figures of one sample, by name. */
export type Figures = Record<string, number>

/** One sample of work against the server at `url`. Rejects when a result is wrong. */
export type Work = (url: string) => Promise<Figures | undefined>

export interface Scenario {
  title: string
  /** Units of work in a sample: CPU and wall time are told per unit. */
  units: number
  rounds: number
  warmUp: number
  contenders: Record<string, Work>
}

function check(what: string, got: unknown, expected: unknown): void {
  if (got !== expected) throw new Error(`${what}: expected ${String(expected)}, got ${String(got)}`)
}

function by<Name extends string>(loops: Record<Name, Loop>, work: (loop: Loop) => Work): Record<Name, Work> {
  const entries = Object.entries<Loop>(loops).map(([name, loop]) => [name, work(loop)] as const)
  return Object.fromEntries(entries) as Record<Name, Work>
}

const anthropicLoops = { 'by hand': handWrittenAnthropic, toolloop: oursOverAnthropic }
const googleLoops = { 'by hand': handWrittenGoogle, toolloop: oursOverGoogle }
const loops = { 'by hand': handWritten, toolloop: ours, 'openai SDK': plainSdk }

function turns(what: string, stream: boolean, contenders: Record<string, Loop>): Scenario {
  const rounds = 9
  const repeat = 20
  const work = (loop: Loop) => async (url: string) => {
    for (let i = 0; i < repeat; i++) {
      const { toolResults, textLength } = await loop({ url: `${url}/${stream ? 'turns' : 'whole'}/${rounds}`, stream, rounds })
      check('tool results', toolResults, rounds)
      check('answer', textLength, 56)
    }
    return undefined
  }
  const title = `a turn, ${what}`
  return { title, units: repeat * (rounds + 1), rounds: 30, warmUp: 10, contenders: by(contenders, work) }
}

function text(what: string, contenders: Record<string, Loop>): Scenario {
  const length = textPieces * 4
  const repeat = 2
  const work = (loop: Loop) => async (url: string) => {
    for (let i = 0; i < repeat; i++) {
      let seen = 0
      const onText = (piece: string) => {
        seen += piece.length
      }
      const { textLength } = await loop({ url: `${url}/text/0`, stream: true, rounds: 0, onText })
      check('text', textLength, length)
      check('text seen', seen, length)
    }
    return undefined
  }
  return { title: `1 MB of text in 4-character pieces${what}`, units: repeat, rounds: 9, warmUp: 3, contenders: by(contenders, work) }
}

function callArguments(): Scenario {
  const repeat = 4
  const work = (loop: Loop) => async (url: string) => {
    for (let i = 0; i < repeat; i++) {
      const { toolResults } = await loop({ url: `${url}/arguments/1`, stream: true, rounds: 1 })
      check('tool results', toolResults, 1)
    }
    return undefined
  }
  const title = `one call with ${(argumentPieces * 16) / 2 ** 20} MB of arguments in 16-character deltas`
  return { title, units: repeat, rounds: 12, warmUp: 3, contenders: by(loops, work) }
}

/** Whether a late round costs more than an early one, beyond the longer request: both loops send the same bytes. */
function manyRounds(): Scenario {
  const rounds = 200
  const work = (loop: Loop) => async (url: string) => {
    const marks: number[] = []
    const cpu = process.cpuUsage()
    const onRound = () => {
      const { user, system } = process.cpuUsage(cpu)
      marks.push((user + system) / 1000)
    }
    const { toolResults } = await loop({ url: `${url}/turns/${rounds}`, stream: true, rounds, onRound })
    check('tool results', toolResults, rounds)
    const between = (from: number) => ((marks[from + 20] ?? Number.NaN) - (marks[from] ?? Number.NaN)) / 20
    const [early, late] = [between(10), between(rounds - 20)]
    return { 'early, µs': early * 1000, 'late, µs': late * 1000, 'late : early': late / early }
  }
  const { 'by hand': hand, toolloop } = by(loops, work)
  return { title: 'a round of 200', units: rounds, rounds: 15, warmUp: 2, contenders: { 'by hand': hand, toolloop } }
}

function concurrency(): Scenario {
  const runs = 1000
  const rounds = 2
  const work = (loop: Loop) => async (url: string) => {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const begin = performance.now()
    const times: number[] = []
    const one = async () => {
      const start = performance.now()
      const { toolResults } = await loop({ url: `${url}/turns/${rounds}`, stream: true, rounds })
      check('tool results', toolResults, rounds)
      times.push(performance.now() - start)
    }
    await Promise.all(Array.from({ length: runs }, one))
    delay.disable()
    times.sort((a, b) => a - b)
    return {
      'runs/s': (runs / (performance.now() - begin)) * 1000,
      'p99, ms': times[Math.floor(times.length * 0.99)] ?? Number.NaN,
      'loop delay, ms': delay.max / 1e6,
      'RSS, MB': process.memoryUsage().rss / 2 ** 20,
    }
  }
  const { 'by hand': hand, toolloop } = by(loops, work)
  const title = `${runs} runs at once, ${rounds + 1} turns each: a run`
  return { title, units: runs, rounds: 7, warmUp: 2, contenders: { 'by hand': hand, toolloop } }
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  turns: turns('streamed', true, loops),
  whole: turns('whole', false, loops),
  text: text('', {
    'by hand': handWritten,
    'toolloop, listener': oursListening,
    'toolloop, stream().text': ours,
    'openai SDK': plainSdk,
  }),
  arguments: callArguments(),
  rounds: manyRounds(),
  concurrency: concurrency(),
  'anthropic-turns': turns('streamed, Anthropic', true, anthropicLoops),
  'anthropic-text': text(', Anthropic', anthropicLoops),
  'google-turns': turns('streamed, Google', true, googleLoops),
  'google-text': text(', Google', googleLoops),
}
