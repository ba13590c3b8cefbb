import type { Entry } from './ledger.ts'
import type { Done, RunSpec } from './worker.ts'

/** The facts about a scenario at its end. */
export interface Evidence {
  specs: RunSpec[]
  /** The ledger: what models were asked and what tools did. */
  entries: readonly Entry[]
  /** Calls that waited for a decision, by run and call. */
  asked: Map<string, { runId: string; tool: string; approved: boolean }>
  verdictOf(runId: string): boolean
  /** The end of each run, as customers were told. */
  ends: Map<string, string[]>
  /** Each run as it is recorded at the end. */
  last: Map<string, Done>
  sessions: Map<string, string[]>
  /** Problems that were seen during the scenario. */
  seen: string[]
}

type Call = Extract<Entry, { kind: 'call' }>

/** The invariants. Each returns its violations. */
export const invariants: Readonly<Record<string, (evidence: Evidence) => string[]>> = {
  '1. no unsafe call is made twice': ({ entries }) => {
    const unsafe = callsIn(entries).filter(({ tool }) => ['notify', 'ship', 'charge'].includes(tool))
    return repeated(unsafe.map(({ tool, key }) => `${tool} ${key}`))
  },
  '2. a call keeps its idempotency key': ({ entries }) =>
    [...groupBy(callsIn(entries), ({ run, place, tool }) => `${run} ${place} ${tool}`)].flatMap(([name, calls]) => {
      const keys = new Set(calls.map(({ key }) => key))
      return keys.size === 1 ? [] : [`${name}: ${[...keys].join(', ')}`]
    }),
  '3. nothing is executed without the context, hooks and metadata of its run': ({ entries, specs }) =>
    callsIn(entries).flatMap((call) => {
      const shop = specs.find(({ runId }) => runId === call.run.split('/')[0])?.shop
      const isRight = call.shop === shop && call.shopStored === shop && call.tool !== 'erase'
      return isRight ? [] : [JSON.stringify(call)]
    }),
  '4. a call whose result the model was given is not made again': ({ entries }) => {
    const given = new Map<string, Call>()
    return entries.flatMap((entry) => {
      if (entry.kind === 'model') {
        for (const call of callsIn(entries.slice(0, entry.n)))
          if (call.run === entry.run && call.turn < entry.turn) given.set(call.key, call)
        return []
      }
      // A process that was paused in a call may make it late.
      const isLate = entries.some(
        (e) => e.kind === 'model' && e.run === entry.run && e.pid === entry.pid && e.n < (given.get(entry.key)?.n ?? 0),
      )
      return given.has(entry.key) && !isLate ? [JSON.stringify(entry)] : []
    })
  },
  '5. a session has every answered run, whole and once': ({ specs, sessions }) =>
    [...sessions].flatMap(([session, messages]) => {
      const wanted = specs.filter((spec) => spec.session === session)
      const runs = runsIn(messages)
      const names = runs.map(([first = '']) => first.split(' | ')[0]?.replace('user ', '') ?? '')
      const missing = wanted.filter(({ runId }) => !names.includes(runId)).map(({ runId }) => `${session} lacks ${runId}`)
      const broken = wanted.flatMap(({ runId, plan }) => {
        const texts = runs[names.indexOf(runId)]
        const whole = plan.split(' ').flatMap((turn) => ['assistant', ...turn.split('+').map(() => 'tool')])
        const isWhole = texts === undefined || texts.map((text) => text.split(' ')[0]).join() === ['user', ...whole, 'assistant'].join()
        return isWhole && (texts === undefined || texts.at(-1) === `assistant done ${runId}`)
          ? []
          : [`${session} ${runId}: ${texts?.join('; ')}`]
      })
      return [...missing, ...broken, ...repeated(names).map((name) => `${session} has ${name} twice`)]
    }),
  '6. what was decided is carried out as it was decided': ({ asked, last, entries, verdictOf }) =>
    [...last].flatMap(([runId, { outcomes = [] }]) =>
      outcomes.flatMap(({ tool, place, outcome }) => {
        if (tool !== 'ship' || ![...asked.values()].some((item) => item.runId === runId)) return []
        const made = callsIn(entries).filter((call) => call.run === runId && call.place === place).length
        const isRight = verdictOf(runId) ? (outcome === 'ok' && made === 1) || outcome === 'uncertain' : outcome === 'denied' && made === 0
        return isRight ? [] : [`${runId} ${place}: ${outcome}, made ${made} times, approved: ${verdictOf(runId)}`]
      }),
    ),
  '7. what was decided is not asked again': ({ seen }) => seen.filter((text) => text.endsWith('is asked again')),
  '8. no run is lost: each is answered': ({ specs, last }) =>
    specs.flatMap(({ runId }) => {
      const { status, stopReason, problem } = last.get(runId) ?? {}
      return status === 'ended' && stopReason === 'answered' ? [] : [`${runId} ${status} ${stopReason} ${problem ?? ''}`]
    }),
  '9. a run ends once: all are told the same': ({ ends, last }) =>
    [...last].flatMap(([runId, { stopReason, digest }]) => {
      const told = new Set([...(ends.get(runId) ?? []), `${stopReason} ${digest}`])
      return told.size === 1 ? [] : [`${runId}: ${[...told].join(', ')}`]
    }),
  '10. processes end by themselves when they are told to, and only then; customers get no other error': ({ seen }) =>
    seen.filter((text) => !text.endsWith('is asked again')),
}

export function violationsIn(evidence: Evidence): string[] {
  return Object.entries(invariants).flatMap(([name, against]) => against(evidence).map((text) => `${name}: ${text}`))
}

function callsIn(entries: readonly Entry[]): Call[] {
  return entries.filter((entry) => entry.kind === 'call')
}

/** The messages of a session, split by run. */
function runsIn(messages: readonly string[]): string[][] {
  const runs: string[][] = []
  for (const message of messages) {
    if (message.startsWith('user ')) runs.push([])
    runs.at(-1)?.push(message)
  }
  return runs
}

function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, at) => values.indexOf(value) !== at))]
}

function groupBy<T>(values: readonly T[], nameOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) groups.set(nameOf(value), [...(groups.get(nameOf(value)) ?? []), value])
  return groups
}
