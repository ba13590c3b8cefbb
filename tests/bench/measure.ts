/** Contenders measured against the first of them, in turns, so that whatever else the machine does falls on all alike. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Figures, Scenario } from './scenarios.ts'

export interface Sample {
  cpuMs: number
  wallMs: number
  figures: Figures
}

export interface Standing extends Sample {
  /** CPU time against the first contender's of the same round: the median over the rounds. */
  ratio: number
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/**
 * Runs every contender once a round, in an order that changes from round to round; the warm-up rounds don't count. One of `mayFail` that fails
 * is out, and its error stands for what it would have cost. Rejects when another one fails.
 */
export async function measure(
  name: string,
  { rounds, warmUp }: Pick<Scenario, 'rounds' | 'warmUp'>,
  names: readonly string[],
  mayFail: readonly string[],
  url: string,
): Promise<Map<string, Standing | Error>> {
  const contending = new Map(names.map((contender) => [contender, start(name, contender, url)]))
  const samples = new Map<string, Sample[]>(names.map((contender) => [contender, []]))
  const failures = new Map<string, Error>()
  try {
    for (let round = -warmUp; round < rounds; round++) {
      const shift = Math.abs(round) % names.length
      for (const contender of [...names.slice(shift), ...names.slice(0, shift)]) {
        if (failures.has(contender)) continue
        try {
          const taken = await sampleOf(contending.get(contender), contender)
          if (round >= 0) samples.get(contender)?.push(taken)
        } catch (error) {
          if (!mayFail.includes(contender) || !(error instanceof Error)) throw error
          failures.set(contender, error)
        }
      }
    }
  } finally {
    for (const { process } of contending.values()) if (process.connected) process.disconnect()
  }
  const first = samples.get(names[0] ?? '') ?? []
  return new Map([...samples].map(([contender, taken]) => [contender, failures.get(contender) ?? standing(taken, first)]))
}

interface Contender {
  process: ChildProcess
  /** Settles when the process has ended. */
  ended: Promise<unknown>
}

function start(scenario: string, contender: string, url: string): Contender {
  const child = fork(new URL('./contender.ts', import.meta.url), [scenario, contender, url], { execArgv: [] })
  return { process: child, ended: once(child, 'exit').then(([code]) => ({ error: `its process ended with exit code ${code}` })) }
}

async function sampleOf(contender: Contender | undefined, name: string): Promise<Sample> {
  if (contender === undefined) throw new Error(`Expected a process for \`${name}\``)
  const answered = once(contender.process, 'message').then(([message]): unknown => message)
  contender.process.send('go')
  const answer = await Promise.race([answered, contender.ended])
  if (!isSample(answer)) throw new Error(`${name}: ${errorOf(answer)}`)
  return answer
}

function isSample(answer: unknown): answer is Sample {
  return typeof answer === 'object' && answer !== null && 'cpuMs' in answer
}

function errorOf(answer: unknown): string {
  return typeof answer === 'object' && answer !== null && 'error' in answer ? String(answer.error) : 'answered with something else'
}

function standing(taken: readonly Sample[], first: readonly Sample[]): Standing {
  const of = (field: (sample: Sample) => number) => median(taken.map(field))
  const names = Object.keys(taken[0]?.figures ?? {})
  return {
    cpuMs: of(({ cpuMs }) => cpuMs),
    wallMs: of(({ wallMs }) => wallMs),
    figures: Object.fromEntries(names.map((name) => [name, of(({ figures }) => figures[name] ?? Number.NaN)])),
    ratio: median(taken.map(({ cpuMs }, round) => cpuMs / (first[round]?.cpuMs ?? Number.NaN))),
  }
}
