/** What is measured: each scenario's work, by contender, the one written by hand first. Every result is checked. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { handWrittenAnthropic, oursOverAnthropic } from './anthropic-loops.ts'
import { handWrittenGoogle, oursOverGoogle } from './google-loops.ts'
import { handWritten, type Loop, ours, oursListening, plainSdk, takeCalls } from './loops.ts'
import { handWrittenInMemory, oursInMemory } from './memory-loops.ts'
import { answer, type PeerName, peer, peerNames } from './peers.ts'
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
  /** Other runtimes, which are measured when asked for. */
  peers?: Record<string, Work>
}

function check(what: string, got: unknown, expected: unknown): void {
  if (got !== expected) throw new Error(`${what}: expected ${String(expected)}, got ${String(got)}`)
}

function by(loops: Record<string, Loop>, work: (loop: Loop) => Work): Record<string, Work> {
  return Object.fromEntries(Object.entries(loops).map(([name, loop]) => [name, work(loop)]))
}

function peersOf(names: readonly PeerName[]): Record<string, Loop> {
  return Object.fromEntries(names.map((name) => [name, peer(name)]))
}

const openaiLoops = { 'by hand': handWritten, toolloop: ours }
const anthropicLoops = { 'by hand': handWrittenAnthropic, toolloop: oursOverAnthropic }
const googleLoops = { 'by hand': handWrittenGoogle, toolloop: oursOverGoogle }
const withSdk = { ...openaiLoops, 'openai SDK': plainSdk }
const allPeers = peersOf(peerNames)
/** Those that can ask for a whole response. */
const wholePeers = peersOf(peerNames.filter((name) => name !== 'pi'))

const answerLength = 56

function turns(what: string, path: string, contenders: Record<string, Loop>, peers: Record<string, Loop> = {}): Scenario {
  const rounds = 10
  const repeat = 20
  const stream = path === 'turns'
  const work = (loop: Loop) => async (url: string) => {
    takeCalls()
    for (let i = 0; i < repeat; i++) check('answer', await loop({ url: `${url}/${path}/${rounds}`, stream, rounds }), answerLength)
    check('calls', takeCalls(), repeat * rounds)
    return undefined
  }
  const all = { contenders: by(contenders, work), peers: by(peers, work) }
  return { title: `a turn, ${what}`, units: repeat * (rounds + 1), rounds: 30, warmUp: 10, ...all }
}

function parallelCalls(what: string, path: string, peers: Record<string, Loop>): Scenario {
  const count = 50
  const repeat = 40
  const stream = path === 'parallel'
  const work = (loop: Loop) => async (url: string) => {
    takeCalls()
    for (let i = 0; i < repeat; i++) check('answer', await loop({ url: `${url}/${path}/${count}`, stream, rounds: 1 }), answerLength)
    check('calls', takeCalls(), repeat * count)
    return undefined
  }
  const all = { contenders: by(withSdk, work), peers: by(peers, work) }
  return { title: `a run with ${count} parallel calls, ${what}`, units: repeat, rounds: 20, warmUp: 8, ...all }
}

function firstToken(): Scenario {
  const repeat = 100
  const work = (loop: Loop) => async (url: string) => {
    const times: number[] = []
    for (let i = 0; i < repeat; i++) {
      const start = performance.now()
      let first = 0
      const onText = () => {
        if (first === 0) first = performance.now() - start
      }
      check('answer', await loop({ url: `${url}/turns/0`, stream: true, rounds: 0, onText }), answerLength)
      times.push(first)
    }
    times.sort((a, b) => a - b)
    return { 'first token, µs': (times[repeat / 2] ?? Number.NaN) * 1000 }
  }
  const all = { contenders: by(withSdk, work), peers: by(allPeers, work) }
  return { title: 'a run of one turn, its text listened to', units: repeat, rounds: 20, warmUp: 8, ...all }
}

function text(what: string, contenders: Record<string, Loop>, peers: Record<string, Loop> = {}): Scenario {
  const length = textPieces * 4
  const repeat = 2
  const work = (loop: Loop) => async (url: string) => {
    for (let i = 0; i < repeat; i++) {
      let seen = 0
      const onText = (piece: string) => {
        seen += piece.length
      }
      check('text', await loop({ url: `${url}/text/0`, stream: true, rounds: 0, onText }), length)
      check('text seen', seen, length)
    }
    return undefined
  }
  const all = { contenders: by(contenders, work), peers: by(peers, work) }
  return { title: `1 MB of text in 4-character pieces${what}`, units: repeat, rounds: 9, warmUp: 3, ...all }
}

function callArguments(): Scenario {
  const repeat = 4
  const work = (loop: Loop) => async (url: string) => {
    takeCalls()
    for (let i = 0; i < repeat; i++) await loop({ url: `${url}/arguments/1`, stream: true, rounds: 1 })
    check('calls', takeCalls(), repeat)
    return undefined
  }
  const title = `one call with ${(argumentPieces * 16) / 2 ** 20} MB of arguments in 16-character deltas`
  return { title, units: repeat, rounds: 12, warmUp: 3, contenders: by(withSdk, work) }
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
    takeCalls()
    await loop({ url: `${url}/turns/${rounds}`, stream: true, rounds, onRound })
    check('calls', takeCalls(), rounds)
    const between = (from: number) => ((marks[from + 20] ?? Number.NaN) - (marks[from] ?? Number.NaN)) / 20
    const [early, late] = [between(10), between(rounds - 20)]
    return { 'early, µs': early * 1000, 'late, µs': late * 1000, 'late : early': late / early }
  }
  return { title: 'a round of 200', units: rounds, rounds: 15, warmUp: 2, contenders: by(openaiLoops, work) }
}

function concurrency(what: string, path: string, peers: Record<string, Loop> = {}): Scenario {
  const runs = 1000
  const rounds = 2
  const work = (loop: Loop) => async (url: string) => {
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const begin = performance.now()
    const times: number[] = []
    takeCalls()
    const one = async () => {
      const start = performance.now()
      check('answer', await loop({ url: `${url}/${path}/${rounds}`, stream: true, rounds }), answerLength)
      times.push(performance.now() - start)
    }
    await Promise.all(Array.from({ length: runs }, one))
    delay.disable()
    check('calls', takeCalls(), runs * rounds)
    times.sort((a, b) => a - b)
    return {
      'runs/s': (runs / (performance.now() - begin)) * 1000,
      'p99, ms': times[Math.floor(times.length * 0.99)] ?? Number.NaN,
      'loop delay p99, ms': delay.percentile(99) / 1e6,
      'loop delay max, ms': delay.max / 1e6,
      'RSS, MB': process.memoryUsage().rss / 2 ** 20,
    }
  }
  const title = `${runs} runs at once, ${rounds + 1} turns each${what}: a run`
  const all = { contenders: by(openaiLoops, work), peers: by(peers, work) }
  return { title, units: runs, rounds: 7, warmUp: 2, ...all }
}

function inMemory(): Scenario {
  const rounds = 10
  const repeat = 200
  const work = (loop: Loop) => async () => {
    takeCalls()
    for (let i = 0; i < repeat; i++) check('answer', await loop({ url: '', stream: false, rounds }), answer.length)
    check('calls', takeCalls(), repeat * rounds)
    return undefined
  }
  const contenders = by({ 'by hand': handWrittenInMemory, toolloop: oursInMemory }, work)
  const peers = by({ 'ai-sdk': peer('ai-sdk', 'makeInMemory'), pi: peer('pi', 'makeInMemory') }, work)
  return { title: 'a turn, its model in memory', units: repeat * (rounds + 1), rounds: 30, warmUp: 10, contenders, peers }
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  turns: turns('streamed', 'turns', withSdk, allPeers),
  whole: turns('whole', 'whole', withSdk, wholePeers),
  'first-token': firstToken(),
  memory: inMemory(),
  parallel: parallelCalls('streamed', 'parallel', allPeers),
  'whole-parallel': parallelCalls('whole', 'whole-parallel', wholePeers),
  text: text(
    '',
    {
      'by hand': handWritten,
      'toolloop, listener': oursListening,
      'toolloop, stream().text': ours,
      'openai SDK': plainSdk,
    },
    allPeers,
  ),
  arguments: callArguments(),
  rounds: manyRounds(),
  concurrency: concurrency('', 'turns'),
  thinking: concurrency(', 200 ms of thinking', 'think-200', allPeers),
  'anthropic-turns': turns('streamed, Anthropic', 'turns', anthropicLoops),
  'anthropic-text': text(', Anthropic', anthropicLoops),
  'google-turns': turns('streamed, Google', 'turns', googleLoops),
  'google-text': text(', Google', googleLoops),
}
