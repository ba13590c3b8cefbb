import { describe, expect, it } from 'vitest'
import { type Evidence, invariants, violationsIn } from './invariants.ts'
import type { Entry, Told } from './ledger.ts'

const model = (turn: number, pid = 1): Told => ({ kind: 'model', run: 'run-1', turn, pid })
const call = (tool: string, turn: number, more: object = {}): Told => ({
  ...{ kind: 'call', run: 'run-1', turn, place: `${turn}.0`, tool, key: `key-${turn}`, shop: 'shop-1', shopStored: 'shop-1', pid: 1 },
  ...more,
})

/** A scenario without violations. */
const told = [model(0), call('refund', 0), model(1), call('ship', 1), model(2)]
const messages = ['user run-1 | refund ship', 'assistant ', 'tool refund done', 'assistant ', 'tool ship done', 'assistant done run-1']
const last = {
  status: 'ended',
  stopReason: 'answered',
  digest: 'd',
  outcomes: [
    { tool: 'refund', place: '0.0', outcome: 'ok' },
    { tool: 'ship', place: '1.0', outcome: 'ok' },
  ],
}

function evidence(changes: Partial<Omit<Evidence, 'entries'>> & { told?: Told[] } = {}): Evidence {
  const { told: entries = told, ...rest } = changes
  return {
    specs: [{ runId: 'run-1', session: 's', shop: 'shop-1', plan: 'refund ship' }],
    entries: entries.map((one, n): Entry => ({ ...one, n })),
    asked: new Map([['run-1 call-2', { runId: 'run-1', tool: 'ship', approved: true }]]),
    verdictOf: () => true,
    ends: new Map([['run-1', ['answered d']]]),
    last: new Map([['run-1', last]]),
    sessions: new Map([['s', messages]]),
    seen: [],
    ...rest,
  }
}

describe('an invariant is violated by', () => {
  it('nothing if all went well', () => {
    expect(violationsIn(evidence())).toEqual([])
  })

  it.each<[number, string, Parameters<typeof evidence>[0]]>([
    [1, 'an unsafe call that is made again', { told: [...told.slice(0, 4), call('ship', 1), model(2)] }],
    [2, 'a call with another key', { told: [model(0), call('refund', 0, { key: 'other' }), ...told.slice(1)] }],
    [3, 'a call without context', { told: [model(0), call('refund', 0, { shop: 'none' }), ...told.slice(2)] }],
    [3, 'a call without metadata', { told: [model(0), call('refund', 0, { shopStored: 'none' }), ...told.slice(2)] }],
    [3, 'a call that the policy refuses', { told: [...told, call('erase', 2)] }],
    [4, 'a finished call that another process makes again', { told: [...told, call('refund', 0, { pid: 2 })] }],
    [5, 'a run whose messages are gone', { sessions: new Map([['s', []]]) }],
    [5, 'a run whose messages are there in part', { sessions: new Map([['s', messages.slice(0, -1)]]) }],
    [5, 'a run whose messages are there twice', { sessions: new Map([['s', [...messages, ...messages]]]) }],
    [6, 'a call that was approved and not made', { told: told.filter((one) => one.kind !== 'call' || one.tool !== 'ship') }],
    [6, 'a call that was declined and made', { verdictOf: () => false }],
    [7, 'a question that is asked again', { seen: ['run-1 call-2 is asked again'] }],
    [8, 'a run that does not end', { last: new Map([['run-1', { status: 'running' }]]) }],
    [9, 'an end that is told in two ways', { ends: new Map([['run-1', ['answered d', 'answered e']]]) }],
    [10, 'a process that ends by an error', { seen: ['worker 1 ended with 1'] }],
  ])('%i: %s', (number, _what, changes) => {
    const violated = violationsIn(evidence(changes)).map((text) => text.split('.')[0])
    expect(new Set(violated)).toContain(String(number))
  })

  it('nothing if a paused process makes its call late', () => {
    const late = [model(0), model(1, 2), call('refund', 0), model(2, 2)]
    expect(violationsIn(evidence({ told: late })).filter((text) => text.startsWith('4.'))).toEqual([])
  })

  it('all ten are tested', () => {
    expect(Object.keys(invariants)).toHaveLength(10)
  })
})
