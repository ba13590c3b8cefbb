import { describe, expect, it } from 'vitest'
import type { Engine, Journal } from '../../src/agent/journal/journal.ts'
import {
  type NewShownRun,
  type ShownNews,
  type ShownOrder,
  type ShownOutcome,
  type ShownQuery,
  type ShownRuns,
  shownOrders,
} from '../../src/agent/journal/shown-runs.ts'
import { tagsOf } from '../../src/agent/journal/store.ts'
import type { Json } from '../../src/core/messages.ts'

/** A place where runs are shown, of nobody else, and the journal beside it. */
export interface ShownPlace {
  shown: ShownRuns
  journal: Journal
}

const run = (runId: string, more: Partial<NewShownRun> = {}): NewShownRun => ({
  runId,
  caller: 'ann',
  agent: 'toolloop',
  createdAt: 1_000,
  title: `title of ${runId}`,
  head: '{"said":"my pin is 4711"}',
  ...more,
})
const news = (ids: readonly number[], more: Partial<ShownNews> = {}): ShownNews => ({
  events: ids.map((id) => ({ id, type: 'TEXT_DELTA', data: `{"text":"${id}"}` })),
  firstEventId: 1,
  title: 'title',
  secrets: [],
  hidesAll: false,
  ...more,
})
const outcome = (status: ShownOutcome['status'], more: Partial<ShownOutcome> = {}): ShownOutcome => ({
  status,
  stopReason: status === 'waiting' ? 'paused' : 'answered',
  finishedAt: 2_000,
  title: 'title',
  summary: '{"stopReason":"x","pending":[1]}',
  result: '{"text":"good day"}',
  ...more,
})
const running = (attempt: string) => ({ status: 'running' as const, attempt })
const error = { code: 'aborted', message: 'nobody has decided' }

/** What `ShownRuns` promises, wherever they are kept. `open` gives a place for each case. */
export function describeShownRuns(name: string, open: () => Promise<ShownPlace>): void {
  describe(`what is shown of runs, ${name}`, () => {
    it('only the execution that began last adds to a run, whose events are read in order, in as many answers as it takes', async () => {
      const { shown } = await open()
      expect(await shown.begin(run('a'), { attempt: 'first' })).toEqual({ lastEventId: 0 })
      expect(await shown.append('a', 'first', news([1, 2, 3], { secrets: ['4711', '4711', '\0\uD800'] }))).toBe(true)
      expect(await shown.begin(run('a', { title: 'another' }), { attempt: 'second' })).toEqual({ lastEventId: 3 })
      expect(await shown.append('a', 'first', news([4]))).toBe(false)
      const large = (id: number) => ({ id, type: 'TEXT_DELTA', data: JSON.stringify('x'.repeat(600_000)) })
      expect(await shown.append('a', 'second', news([], { events: [4, 5, 6].map(large), firstEventId: 2 }))).toBe(true)
      expect((await shown.events('a', 0)).map(({ id }) => id)).toEqual([2, 3, 4, 5])
      expect((await shown.events('a', 5)).map(({ id, data }) => [id, data.length])).toEqual([[6, 600_002]])
      expect([await shown.events('a', 6), await shown.events('none', 0)]).toEqual([[], []])
      const many = Array.from({ length: 1_500 }, (_, at) => at + 7)
      await shown.append('a', 'second', news(many, { firstEventId: 7, hidesAll: true }))
      expect((await shown.events('a', 0)).map(({ id }) => id)).toEqual(many.slice(0, 1_000))
      expect(await shown.progress(['a', 'none'])).toEqual([{ runId: 'a', status: 'running', lastEventId: 1_506 }])
      const { secrets = [], ...found } = (await shown.get('a')) ?? {}
      expect(found).toMatchObject({
        attempt: 'second',
        title: 'title',
        hidesAll: true,
        firstEventId: 7,
        lastEventId: 1_506,
        createdAt: 1_000,
      })
      expect(secrets.toSorted()).toEqual(['\0\uD800', '4711'].toSorted())
      expect(await shown.get('none')).toBeUndefined()
    })

    it('append: events of many runs, written at the same time, stay apart, also if one of them has another execution', async () => {
      const { shown } = await open()
      const ids = Array.from({ length: 20 }, (_, at) => `run ${at}`)
      for (const id of ids) await shown.begin(run(id), { attempt: 'first' })
      await shown.begin(run('run 7'), { attempt: 'second' })
      const written = ids.map(async (id, at) => {
        const more = { 3: { title: 'another title' }, 4: { secrets: ['4711'] }, 5: { firstEventId: 2 } }[at] ?? {}
        const first = await shown.append(id, 'first', news([1, 2], more))
        return [first, await shown.append(id, 'first', news([3], more))]
      })
      expect(await Promise.all(written)).toEqual(ids.map((id) => (id === 'run 7' ? [false, false] : [true, true])))
      const idsOf = async (id: string) => (await shown.events(id, 0)).map((event) => event.id)
      expect(await Promise.all(ids.map(idsOf))).toEqual(ids.map((_, at) => (at === 7 ? [] : at === 5 ? [2, 3] : [1, 2, 3])))
      const [third, fourth] = await Promise.all([shown.get('run 3'), shown.get('run 4')])
      expect([third?.title, fourth?.secrets, third?.lastEventId]).toEqual(['another title', ['4711'], 3])
    })

    it('append: events that are written again, together with later ones, are there once', async () => {
      const { shown } = await open()
      await shown.begin(run('a'), { attempt: 'first' })
      for (const ids of [[1, 2], [1, 2], [1, 2, 3], [4]]) await shown.append('a', 'first', news(ids))
      expect((await shown.events('a', 0)).map(({ id }) => id)).toEqual([1, 2, 3, 4])
      expect((await shown.events('a', 1)).map(({ id }) => id)).toEqual([2, 3, 4])
    })

    it('an execution without steps is written at once, with what it continues from', async () => {
      const { shown } = await open()
      const state = '{"steps":["my pin"]}'
      const paused = outcome('waiting', { state })
      const room = { ofState: 100, ofCaller: 1_000, ofAll: 1_000 }
      expect(
        await shown.put(run('a', { kind: 'chat', request: 'digest' }), 'a', news([1, 2, 3], { secrets: ['4711'] }), paused, room),
      ).toBe('settled')
      expect(await shown.state('a')).toBe(state)
      expect(await shown.get('a')).toMatchObject({ kind: 'chat', status: 'waiting', lastEventId: 3, secrets: ['4711'] })
      expect((await shown.list({ limit: 1 })).runs).toMatchObject([{ runId: 'a', kind: 'chat', status: 'waiting' }])
      // What is said while it waits is there until the next execution has been written.
      expect(await shown.sendMessages('a', ['"hurry"'])).toBe(true)
      expect(await shown.begin(run('a'), { attempt: 'a' })).toEqual({ lastEventId: 3 })
      expect([await shown.messages('a', 0), await shown.events('a', 1)]).toMatchObject([
        ['"hurry"'],
        [{ id: 2 }, { id: 3, type: 'TEXT_DELTA', data: '{"text":"3"}' }],
      ])
      expect(await shown.put(run('a'), 'a', news([4]), outcome('ended'))).toBe('settled')
      expect([await shown.state('a'), await shown.messages('a', 0)]).toEqual(['', []])
      expect((await shown.events('a', 2)).map(({ id }) => id)).toEqual([3, 4])
      expect(await shown.put(run('a'), 'a', news([5]), outcome('ended'))).toBe('changed')
      expect(await shown.get('a')).toMatchObject({ head: '', request: 'digest' })
      // One that may not wait is shown as running.
      const large = outcome('waiting', { state: 'x'.repeat(101) })
      expect(await shown.put(run('b'), 'b', news([]), large, room)).toBe('no_room')
      expect(await shown.progress(['b'])).toEqual([{ runId: 'b', status: 'running', lastEventId: 0 }])
      expect([await shown.state('b'), await shown.state('none')]).toEqual(['', ''])
    })

    it('H59 an execution that has lost its run to a later one does not begin, and keeps it from nothing', async () => {
      const { shown, journal } = await open()
      let executions = 0
      const engine = journal.connect(async () => {
        if (++executions === 1) throw new Error('It breaks off')
        return { stopReason: 'answered' }
      })
      await engine.start('a', {})
      await expect(engine.result('a')).rejects.toThrow('It breaks off')
      expect(await shown.begin(run('a'), { attempt: 'early', epoch: 1 })).toEqual({ lastEventId: 0 })
      await engine.start('a')
      await engine.result('a')
      expect(await shown.begin(run('a'), { attempt: 'late', epoch: 2 })).toEqual({ lastEventId: 0 })
      await expect(shown.begin(run('a'), { attempt: 'early', epoch: 1 })).rejects.toMatchObject({ code: 'run_taken_over' })
      expect(await shown.append('a', 'late', news([1]))).toBe(true)
    })

    it('a waiting run resumes; an ended one is only shown, and never starts again', async () => {
      const { shown } = await open()
      await shown.begin(run('a'), { attempt: 'first' })
      await shown.append('a', 'first', news([1], { secrets: ['4711'] }))
      expect(await shown.settle('a', running('other'), outcome('waiting'))).toBe('changed')
      expect(await shown.settle('none', running('first'), outcome('waiting'))).toBe('changed')
      const room = { ofState: 100, ofCaller: 1_000, ofAll: 1_000 }
      expect(await shown.settle('a', running('first'), outcome('waiting'), { ...room, ofAll: 10 })).toBe('no_room')
      expect(await shown.settle('a', running('first'), outcome('waiting'), room)).toBe('settled')
      expect(await shown.get('a')).toMatchObject({ status: 'waiting', finishedAt: 2_000, secrets: ['4711'], head: run('a').head })
      const { runs, characters } = await shown.waiting({ caller: 'ann' })
      expect([runs, characters > 30, await shown.waiting({ caller: 'bob' })]).toEqual([1, true, { runs: 0, characters: 0 }])
      expect(await shown.begin(run('a'), { attempt: 'second' })).toEqual({ lastEventId: 1 })
      expect(await shown.get('a')).toMatchObject({ status: 'running', attempt: 'second' })
      expect(await shown.settle('a', running('second'), outcome('ended', { finishedAt: 3_000 }))).toBe('settled')
      expect(await shown.get('a')).toMatchObject({ status: 'ended', finishedAt: 3_000, secrets: [], head: '', title: 'title' })
      expect([await shown.result('a'), await shown.result('none')]).toEqual(['{"text":"good day"}', ''])
      expect(await shown.begin(run('a'), { attempt: 'third' })).toBeUndefined()
      expect((await shown.events('a', 0)).length).toBe(1)
    })

    it('P3.7 runs are listed and counted by their tags, which they keep when they are done', async () => {
      const { shown } = await open()
      const acme = tagsOf({ tenant: 'acme', tier: 7 })
      const other = tagsOf({ tenant: 'other', tier: 7 })
      for (const at of [1, 2, 3, 4, 5, 6]) {
        await shown.begin(run(`run${at}`, { tags: at % 2 === 1 ? acme : other, caller: at < 5 ? 'ann' : 'bob' }), { attempt: 'a' })
        await shown.settle(`run${at}`, running('a'), outcome(at < 4 ? 'waiting' : 'ended', { words: `word${at % 3}`, costUsd: at }))
      }
      await shown.begin(run('none'), { attempt: 'a' })
      // A resumed run keeps its tags, once each.
      await shown.begin(run('run1', { tags: acme }), { attempt: 'b' })
      expect((await shown.get('run1'))?.tags.toSorted()).toEqual(acme.toSorted())
      expect((await shown.get('run5'))?.tags.toSorted()).toEqual(acme.toSorted())
      expect((await shown.get('none'))?.tags).toEqual([])
      const list = async (query: Partial<ShownQuery>) => {
        const { runs, hasMore } = await shown.list({ limit: 10, ...query })
        return [...runs.map(({ runId }) => runId), ...(hasMore ? ['…'] : [])]
      }
      expect(await list({ tags: tagsOf({ tenant: 'acme' }) })).toEqual(['run5', 'run3', 'run1'])
      expect(await list({ tags: tagsOf({ tier: '7' }) })).toEqual(['run6', 'run5', 'run4', 'run3', 'run2', 'run1'])
      expect(await list({ tags: acme, limit: 2 })).toEqual(['run5', 'run3', '…'])
      const [first] = (await shown.list({ tags: acme, limit: 1 })).runs
      expect(await list({ tags: acme, cursor: first?.cursor ?? '' })).toEqual(['run3', 'run1'])
      expect(await list({ tags: acme, caller: 'ann', status: 'waiting' })).toEqual(['run3'])
      expect(await list({ tags: acme, words: ['word2'], minCostUsd: 1 })).toEqual(['run5'])
      expect(await list({ tags: acme, runIds: ['run2', 'run3'] })).toEqual(['run3'])
      expect(await list({ tags: [...acme, ...other] })).toEqual([])
      const count = async (of: Parameters<ShownRuns['waiting']>[0]) => (await shown.waiting(of)).runs
      expect([
        await count({}),
        await count({ tags: acme }),
        await count({ tags: other, caller: 'ann' }),
        await count({ tags: ['x'] }),
      ]).toEqual([2, 1, 1, 0])
      await shown.forget({ runs: 0, ageMs: 0, characters: 0, recordingCharacters: 0 })
      expect(await list({ tags: tagsOf({ tier: 7 }) })).toEqual(['run3', 'run2', 'run1'])
    })

    it('what is said to a run is there in its order, until nothing more can be said', async () => {
      const { shown } = await open()
      await shown.begin(run('a'), { attempt: 'first' })
      expect(await shown.sendMessages('none', ['1'])).toBe(false)
      expect([await shown.sendMessages('a', ['1', '2']), await shown.sendMessages('a', ['3'])]).toEqual([true, true])
      expect([await shown.messages('a', 0), await shown.messages('a', 2)]).toEqual([['1', '2', '3'], ['3']])
      expect(await shown.closeMessages('a', 2)).toBe(false)
      expect(await shown.sendMessages('a', ['4'])).toBe(true)
      expect(await shown.closeMessages('a', 4)).toBe(true)
      expect(await shown.sendMessages('a', ['5'])).toBe(false)
      expect(await shown.closeMessages('a', Number.MAX_SAFE_INTEGER)).toBe(true)
      await shown.settle('a', running('first'), outcome('ended'))
      expect(await shown.messages('a', 0)).toEqual([])
      const said = Promise.all(
        ['b', 'c'].map(async (id) => [await shown.begin(run(id), { attempt: 'x' }), await shown.sendMessages(id, ['1'])]),
      )
      expect((await said).map(([, accepted]) => accepted)).toEqual([true, true])
    })

    it('of two that speak and one that hushes at once, nobody is told that he was heard who was not', async () => {
      const { shown } = await open()
      for (let round = 0; round < 20; round++) {
        const id = `run${round}`
        await shown.begin(run(id), { attempt: 'first' })
        const [one, two, hushed] = await Promise.all([
          shown.sendMessages(id, ['1']),
          shown.sendMessages(id, ['2']),
          shown.closeMessages(id, 0),
        ])
        const { length } = await shown.messages(id, 0)
        expect(length).toBe(Number(one) + Number(two))
        if (hushed) expect(length).toBe(0)
      }
    })

    it('those that wait are given up by their id, or by how long they have waited', async () => {
      const { shown } = await open()
      for (const id of ['a', 'b', 'c']) {
        await shown.begin(run(id), { attempt: 'first' })
        const summary = id === 'a' ? '{"output":"x\\u0000","pending":[1]}' : '{}'
        await shown.settle(id, running('first'), outcome('waiting', { finishedAt: Date.now() - (id === 'c' ? 0 : 60_000), summary }))
      }
      expect(await shown.giveUp({ runId: 'a' }, error)).toEqual(['a'])
      expect(await shown.giveUp({ runId: 'a' }, error)).toEqual([])
      expect(await shown.giveUp({ waitingForMs: 30_000 }, error)).toEqual(['b'])
      const { summary = '', head, status } = (await shown.get('a')) ?? {}
      expect([status, head, JSON.parse(summary)]).toEqual(['ended', '', { output: 'x\0', stopReason: 'aborted', pending: [], error }])
      expect((await shown.get('c'))?.status).toBe('waiting')
    })

    it('are listed, the newest first, by what is asked for, a page at a time', async () => {
      const { shown } = await open()
      const summary = JSON.stringify('x'.repeat(1_500_000))
      for (let n = 1; n <= 6; n++) {
        await shown.begin(run(`${n}`, { caller: n % 2 === 0 ? 'bob\0' : 'ann', agent: n > 4 ? 'other' : 'toolloop', createdAt: n }), {
          attempt: 'first',
        })
        if (n <= 4) await shown.settle(`${n}`, running('first'), outcome('ended', { summary }))
      }
      const ids = async (query: Parameters<ShownRuns['list']>[0]) => {
        const { runs, hasMore } = await shown.list(query)
        return [runs.map(({ runId }) => runId).join(' '), hasMore]
      }
      expect(await ids({ limit: 2 })).toEqual(['6 5', true])
      // As many as there is room for.
      expect(await ids({ limit: 6 })).toEqual(['6 5 4 3 2', true])
      const { runs } = await shown.list({ limit: 5 })
      expect(runs[0]).toMatchObject({ runId: '6', status: 'running', createdAt: 6, title: 'title of 6' })
      expect(await ids({ limit: 6, cursor: runs.at(-1)?.cursor })).toEqual(['1', false])
      expect(await ids({ limit: 6, caller: 'ann', status: 'running' })).toEqual(['5', false])
      expect(await ids({ limit: 6, models: ['other'], createdBefore: 6 })).toEqual(['5', false])
      expect(await ids({ limit: 6, caller: 'bob\0', status: 'running' })).toEqual(['6', false])
      expect(await ids({ limit: 6, caller: 'eve' })).toEqual(['', false])
    })

    it('are found by the words they are kept with, how they ended, when they began, what they cost and who they are', async () => {
      const { shown } = await open()
      const costs = [0.5, undefined, 2, 0.01]
      for (const [at, costUsd] of costs.entries()) {
        const id = `run${at}`
        await shown.begin(run(id, { title: `Refund ÄRGER ${at}`, words: `user:ann\nfirst ${at}`, createdAt: at }), { attempt: 'first' })
        const stopReason = at === 1 ? 'model_error' : 'answered'
        const words = `tool:pay${at}\nmüller 100%_\\ ${at}`
        const model = at < 2 ? 'openai/small' : undefined
        await shown.settle(id, running('first'), outcome('ended', { title: `Refund ÄRGER ${at}`, words, costUsd, stopReason, model }))
      }
      await shown.begin(run('goes on', { title: 'Refund', words: 'tool:none user:bob' }), { attempt: 'first' })
      const ids = async (query: Omit<Parameters<ShownRuns['list']>[0], 'limit'>) =>
        (await shown.list({ ...query, limit: 10 })).runs.map(({ runId }) => runId).join(' ')
      expect(await ids({ words: ['refund'] })).toBe('goes on run3 run2 run1 run0')
      expect(await ids({ words: ['refund', 'tool:pay2'] })).toBe('run2')
      expect(await ids({ words: ['ärger 3'] })).toBe('run3')
      await shown.begin(run('greek', { title: 'ΛΌΓΟΙ' }), { attempt: 'first' })
      expect(await ids({ words: ['λόγοι'] })).toBe('greek')
      await shown.append('greek', 'first', { events: [], firstEventId: 1, title: 'ÉTÉ', secrets: [], hidesAll: false })
      expect([await ids({ words: ['été'] }), await ids({ words: ['λόγοι'] })]).toEqual(['greek', ''])
      expect(await ids({ words: ['100%_\\ 1'] })).toBe('run1')
      expect(await ids({ words: ['%'] })).toBe('run3 run2 run1 run0')
      expect(await ids({ words: ['user:bob'] })).toBe('goes on')
      // Those it began with hold until it ends.
      expect(await ids({ words: ['first'] })).toBe('')
      expect(await ids({ words: ["'; --"] })).toBe('')
      expect(await ids({ stopReasons: ['model_error'] })).toBe('run1')
      expect(await ids({ createdAfter: 1, createdBefore: 3 })).toBe('run2 run1')
      expect(await ids({ minCostUsd: 0.5 })).toBe('run2 run0')
      expect(await ids({ minCostUsd: 0 })).toBe('run3 run2 run0')
      expect(await ids({ runIds: ['run3', 'none', 'run0'] })).toBe('run3 run0')
      expect(await ids({ runIds: [] })).toBe('')
      expect(await ids({ notRunIds: ['run3', 'none', 'run0'], status: 'ended' })).toBe('run2 run1')
      expect([await ids({ models: ['openai/small'] }), await ids({ models: ['openai/\0'] })]).toEqual(['run1 run0', ''])
      expect(await ids({ models: ['toolloop'], createdBefore: 2 })).toBe('run1 run0')
      expect(await ids({ words: ['müller'], minCostUsd: 1, runIds: ['run2'], status: 'ended' })).toBe('run2')
      await shown.settle('goes on', running('first'), outcome('waiting', { words: 'waits' }))
      expect(await ids({ status: 'waiting', words: ['waits'] })).toBe('goes on')
      await shown.begin(run('goes on', { words: 'again' }), { attempt: 'second' })
      expect([await ids({ words: ['waits'] }), await ids({ words: ['again'] })]).toEqual(['', 'goes on'])
    })

    it('are sorted by each column, those without a value last, found by tool, error, duration and end, and added up', async () => {
      const { shown } = await open()
      const settled: Partial<ShownOutcome>[] = [
        { turns: 3, calls: 2, tokens: 10, costUsd: 0.5, tools: ['pay', 'look up'], finishedAt: 5_000, model: 'openai/large' },
        { turns: 1, calls: 9, tokens: 30, tools: ['payment'], finishedAt: 9_000, waitedMs: 7_000, model: 'google/small' },
        { turns: 2, calls: 0, tokens: 20, costUsd: 2, errorCode: 'rate_limited', stopReason: 'model_error', finishedAt: 2_000 },
      ]
      for (const [at, more] of settled.entries()) {
        const owner = ['cid', 'ann', 'bob'][at] ?? ''
        await shown.begin(run(`${at}`, { createdAt: 1_000, title: `c b a`.slice(at * 2), caller: owner }), { attempt: 'first' })
        await shown.settle(`${at}`, running('first'), outcome('ended', { title: `c b a`.slice(at * 2), ...more }))
      }
      await shown.begin(run('goes on', { caller: 'dan', createdAt: 1_000, title: 'd' }), { attempt: 'first' })
      const ids = async (query: Partial<ShownQuery>) => (await shown.list({ limit: 10, ...query })).runs.map(({ runId }) => runId).join(' ')
      const sorted = (by: ShownOrder) =>
        Promise.all([true, false].map(async (isDescending) => (await ids({ order: { by, isDescending } })).replace('goes on', '*')))
      expect(Object.fromEntries(await Promise.all(shownOrders.map(async (by) => [by, await sorted(by)])))).toEqual({
        started: ['* 2 1 0', '0 1 2 *'],
        finished: ['1 0 2 *', '2 0 1 *'],
        input: ['* 0 1 2', '2 1 0 *'],
        state: ['* 2 1 0', '1 0 2 *'],
        model: ['* 2 0 1', '1 0 * 2'],
        owner: ['* 0 2 1', '1 2 0 *'],
        worked: ['0 2 1 *', '2 1 0 *'],
        waited: ['1 * 2 0', '* 2 0 1'],
        turns: ['0 2 1 *', '1 2 0 *'],
        calls: ['1 0 2 *', '2 0 1 *'],
        tokens: ['1 2 0 *', '0 2 1 *'],
        cost: ['2 0 * 1', '0 2 * 1'],
      })
      const byCost = { by: 'cost', isDescending: true } as const
      expect(await shown.list({ limit: 1, offset: 1, order: byCost })).toMatchObject({ runs: [{ runId: '0' }], hasMore: true })
      expect(await shown.list({ limit: 9, offset: 4, order: byCost })).toEqual({ runs: [], hasMore: false })
      expect([await ids({ tool: 'pay' }), await ids({ tool: 'look up' }), await ids({ tool: 'look' })]).toEqual(['0', '0', ''])
      expect([await ids({ errorCode: 'rate_limited' }), await ids({ errorCode: 'rate' })]).toEqual(['2', ''])
      expect([await ids({ models: ['large'] }), await ids({ models: ['arge', 'google/small'] })]).toEqual(['0', '1'])
      expect(await ids({ stopReasons: ['model_error', 'answered'] })).toBe('2 1 0')
      expect([await ids({ minWorkedMs: 1_000 }), await ids({ minWorkedMs: 1_001 })]).toEqual(['2 1 0', '0'])
      expect([await ids({ endedAfter: 5_000 }), await ids({ endedBefore: 5_000 })]).toEqual(['1 0', '2'])
      const totals = { runs: 4, running: 1, waiting: 0, tokens: 60, costUsd: 2.5, workedMs: 6_000, waitedMs: 7_000 }
      expect(await shown.sum({ limit: 1 })).toEqual(totals)
      expect(await shown.sum({ limit: 1, tool: 'pay' })).toMatchObject({ runs: 1, tokens: 10, workedMs: 4_000 })
      expect(await shown.sum({ limit: 1, caller: 'nobody' })).toMatchObject({ runs: 0, tokens: 0, costUsd: 0 })
    })

    it('the time that a run has waited is kept apart, also of a wait that ends without a decision', async () => {
      const { shown } = await open()
      await shown.begin(run('a'), { attempt: 'first' })
      const finishedAt = Date.now() - 60_000
      await shown.settle('a', running('first'), outcome('waiting', { finishedAt, waitedMs: 500 }))
      expect((await shown.get('a'))?.waitedMs).toBe(500)
      const { waitedMs } = await shown.sum({ limit: 1 })
      expect(Math.abs(waitedMs - 60_500)).toBeLessThan(5_000)
      await shown.begin(run('a'), { attempt: 'second' })
      expect(Math.abs(((await shown.get('a'))?.waitedMs ?? 0) - 60_500)).toBeLessThan(5_000)
      // Another execution of a run that is running adds nothing.
      await shown.begin(run('a'), { attempt: 'third' })
      expect(Math.abs(((await shown.get('a'))?.waitedMs ?? 0) - 60_500)).toBeLessThan(5_000)
      await shown.settle('a', running('third'), outcome('waiting', { finishedAt, waitedMs: 500 }))
      await shown.giveUp({ runId: 'a' }, error)
      expect(Math.abs(((await shown.get('a'))?.waitedMs ?? 0) - 60_500)).toBeLessThan(5_000)
    })

    it('are grouped by session, the one with the newest run first', async () => {
      const { shown } = await open()
      const begun: [id: string, thread: string | undefined, caller: string][] = [
        ['1', 'ui/x', 'ann'],
        ['2', 'ui/y', 'ann'],
        ['3', undefined, 'ann'],
        ['4', 'ui/x', 'bob'],
        ['5', 'ui/x', 'ann'],
      ]
      for (const [id, thread, caller] of begun) {
        await shown.begin(run(id, { thread, caller, createdAt: Number(id), tags: tagsOf({ of: caller }) }), { attempt: 'first' })
        if (id !== '5') await shown.settle(id, running('first'), outcome('ended', { title: `title of ${id}`, costUsd: 1 }))
      }
      const sessions = async (query: Partial<ShownQuery> = {}) =>
        (await shown.sessions({ limit: 10, ...query })).map((one) => `${one.thread} ${one.caller} ${one.runs}`)
      expect(await sessions()).toEqual(['ui/x ann 2', 'ui/x bob 1', 'ui/y ann 1'])
      expect(await sessions({ limit: 1, offset: 1 })).toEqual(['ui/x bob 1'])
      expect(await sessions({ caller: 'bob' })).toEqual(['ui/x bob 1'])
      expect(await sessions({ tags: tagsOf({ of: 'ann' }), words: ['title of 2'] })).toEqual(['ui/y ann 1'])
      const [first] = await shown.sessions({ limit: 1 })
      expect(first).toMatchObject({ title: 'title of 1', createdAt: 1, latestRunId: '5', latestAt: 5, running: 1, costUsd: 1 })
    })

    it('who has decided what stays for as long as the run, unless it could not be carried out', async () => {
      const { shown } = await open()
      await shown.begin(run('a'), { attempt: 'first' })
      expect((await shown.get('a'))?.decisions).toEqual([])
      expect(await shown.noteDecisions('none', 'one', ['1'])).toBe(false)
      expect(await shown.noteDecisions('a', 'one', ['"1"', '"2\\u0000"'])).toBe(true)
      expect(await shown.noteDecisions('a', 'one', ['"1"', '"2\\u0000"'])).toBe(true)
      await Promise.all(['two', 'three'].map((note) => shown.noteDecisions('a', note, [`"${note}"`])))
      await shown.withdrawDecisions('a', 'three')
      await shown.withdrawDecisions('none', 'two')
      await shown.settle('a', running('first'), outcome('ended'))
      await shown.clear('a')
      expect((await shown.get('a'))?.decisions).toEqual(['"1"', '"2\\u0000"', '"two"'])
      expect(await shown.forget({ runs: 0, ageMs: 1, characters: 0, recordingCharacters: 0 })).toBe(1)
      await shown.begin(run('a'), { attempt: 'second' })
      expect((await shown.get('a'))?.decisions).toEqual([])
    })

    it('the recording of a run is there in its parts, until the run goes, or there is no room: first those of runs that are done go', async () => {
      const { shown } = await open()
      for (const id of ['a', 'b', 'c', 'd']) await shown.begin(run(id), { attempt: 'first' })
      const part = (name: string, value = 'x'.repeat(100)) => ({ name, value })
      expect(await shown.keepRecording('none', 'first', [part('1')])).toBe(false)
      expect(await shown.keepRecording('a', 'other', [part('1')])).toBe(false)
      expect(await shown.keepRecording('a', 'first', [part('2.b'), part('10'), part('2.B'), part('2', '"\\u0000"')])).toBe(true)
      expect(await shown.keepRecording('a', 'first', [part('2.b', ''), part('3', 'new')])).toBe(true)
      expect((await shown.recording('a', '')).map(({ name, value }) => [name, value.length])).toEqual([
        ['10', 100],
        ['2', 8],
        ['2.B', 100],
        ['2.b', 0],
        ['3', 3],
      ])
      expect((await shown.recording('a', '2.b')).map(({ value }) => value)).toEqual(['new'])
      await shown.keepRecording(
        'b',
        'first',
        [1, 2, 3].map((n) => part(`${n}`, 'x'.repeat(600_000))),
      )
      expect((await shown.recording('b', '')).map(({ name }) => name)).toEqual(['1', '2'])
      expect((await shown.recording('b', '2')).map(({ name }) => name)).toEqual(['3'])
      for (const id of ['c', 'd']) {
        await shown.keepRecording(id, 'first', [part('1'), part('2')])
        await shown.settle(id, running('first'), outcome('ended', { finishedAt: Date.now() }))
      }
      await shown.settle('b', running('first'), outcome('waiting'))
      const bounds = { runs: 10, ageMs: 1_000_000, characters: 10_000, recordingCharacters: 2_000_411 }
      const kept = async () => {
        const all = await Promise.all(['a', 'b', 'c', 'd'].map(async (id) => ((await shown.recording(id, '')).length > 0 ? id : '')))
        return all.join('')
      }
      expect([await shown.forget(bounds), await kept()]).toEqual([0, 'abcd'])
      expect([await shown.forget({ ...bounds, recordingCharacters: 1_800_500 }), await kept()]).toEqual([0, 'abd'])
      expect([await shown.forget({ ...bounds, recordingCharacters: 1_800_211 }), await kept()]).toEqual([0, 'ab'])
      expect([await shown.forget({ ...bounds, recordingCharacters: 1_800_000 }), await kept()]).toEqual([0, 'b'])
      await shown.keepRecording('a', 'first', [part('1')])
      await shown.settle('a', running('first'), outcome('ended', { finishedAt: Date.now() }))
      expect([await shown.forget({ ...bounds, runs: 0 }), await kept()]).toEqual([3, 'b'])
      expect([await shown.forget({ ...bounds, recordingCharacters: 0 }), await kept()]).toEqual([0, ''])
    })

    it('done ones give way by number, age and size, the oldest first', async () => {
      const { shown } = await open()
      const now = Date.now()
      for (let n = 1; n <= 6; n++) {
        await shown.begin(run(`${n}`), { attempt: 'first' })
        if (n < 6)
          await shown.settle(`${n}`, running('first'), outcome('ended', { finishedAt: now - 100_000 * (7 - n), result: 'x'.repeat(100) }))
      }
      const kept = async () => (await shown.list({ limit: 10 })).runs.map(({ runId }) => runId).join(' ')
      const bounds = { runs: 10, ageMs: 1_000_000, characters: 10_000, recordingCharacters: 0 }
      expect([await shown.forget(bounds), await kept()]).toEqual([0, '6 5 4 3 2 1'])
      expect([await shown.forget({ ...bounds, runs: 4 }), await kept()]).toEqual([1, '6 5 4 3 2'])
      expect([await shown.forget({ ...bounds, characters: 350 }), await kept()]).toEqual([1, '6 5 4 3'])
      expect([await shown.forget({ ...bounds, ageMs: 250_000 }), await kept()]).toEqual([2, '6 5'])
      expect(await shown.events('1', 0)).toEqual([])
    })

    it('done ones of a caller with many do not displace those of another, nor do recordings', async () => {
      const { shown } = await open()
      const now = Date.now()
      const end = async (id: string, caller: string, at: number, size: number) => {
        await shown.begin({ ...run(id), caller }, { attempt: 'first' })
        await shown.keepRecording(id, 'first', [{ name: '1', value: 'x'.repeat(size) }])
        await shown.settle(id, running('first'), outcome('ended', { finishedAt: now - 1_000_000 + at * 1_000, result: 'x'.repeat(size) }))
      }
      for (const at of [1, 2]) await end(`b${at}`, 'quiet', at, 100)
      for (const at of [3, 4, 5, 6, 7, 8]) await end(`a${at}`, 'busy', at, 200)
      const kept = async () => (await shown.list({ limit: 10 })).runs.map(({ runId }) => runId).join(' ')
      const recorded = async () => {
        const ids = ['b1', 'b2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8']
        const all = await Promise.all(ids.map(async (id) => ((await shown.recording(id, '')).length > 0 ? id : '')))
        return all.filter(Boolean).join(' ')
      }
      const bounds = { runs: 10, ageMs: 10_000_000, characters: 100_000, recordingCharacters: 100_000 }
      await shown.forget({ ...bounds, recordingCharacters: 810 })
      expect([await kept(), await recorded()]).toEqual(['a8 a7 a6 a5 a4 a3 b2 b1', 'b1 b2 a6 a7 a8'])
      await shown.forget({ ...bounds, runs: 6 })
      expect(await kept()).toBe('a8 a7 a6 a5 b2 b1')
      await shown.forget({ ...bounds, characters: 630 })
      expect(await kept()).toBe('a8 a7 b2 b1')
      await shown.forget({ ...bounds, runs: 3 })
      expect(await kept()).toBe('a8 a7 b2')
      await shown.forget({ ...bounds, runs: 1 })
      expect(await kept()).toBe('a8')
    })

    it('what the journal has of a run goes once the run is done here, and is needed no more', async () => {
      const { shown, journal } = await open()
      const engine: Engine = journal.connect(async (durable) => {
        await durable.step('secret', async () => '4711')
        const waits = durable.runId === 'ends' ? {} : { stopReason: 'paused', pending: [{ place: 'secret' }] }
        return { runId: durable.runId, ...waits } as Json
      })
      for (const id of ['ends', 'waits', 'given up']) {
        await shown.begin(run(id), { attempt: 'first' })
        await engine.start(id, { pin: '4711' })
        await engine.result(id)
      }
      await shown.begin(run('lost'), { attempt: 'first' })
      const kept = async () => (await engine.list?.({}))?.runs.map(({ runId, status }) => `${runId}: ${status}`)
      expect((await shown.unsettled(0)).toSorted()).toEqual(['ends', 'given up', 'lost', 'waits'])
      expect(await shown.unsettled(60_000)).toEqual(['lost'])
      const room = { ofState: 15, ofCaller: 1_000, ofAll: 1_000 }
      expect(await shown.settle('waits', running('first'), outcome('waiting'), { ...room, ofState: 5 })).toBe('no_room')
      expect(await shown.settle('waits', running('first'), outcome('waiting'), { ...room, ofState: 1_000 })).toBe('settled')
      await shown.settle('given up', running('first'), outcome('waiting'))
      await shown.settle('ends', running('first'), outcome('ended'))
      expect((await kept())?.toSorted()).toEqual(['ends: ended', 'given up: waiting', 'waits: waiting'])
      await shown.clear('waits')
      await shown.clear('ends')
      await expect.poll(async () => (await kept())?.toSorted(), { timeout: 5_000 }).toEqual(['given up: waiting', 'waits: waiting'])
      await shown.giveUp({ runId: 'given up' }, error)
      await shown.clear()
      expect(await kept()).toEqual(['waits: waiting'])
      await expect(engine.start('ends')).rejects.toMatchObject({ code: 'unknown_run' })
      expect((await shown.unsettled(0)).toSorted()).toEqual(['lost'])
    })
  })
}
