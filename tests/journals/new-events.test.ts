import { expect, it } from 'vitest'
import { NewEvents } from '../../src/journals/dbos/new-events.ts'
import type { RunNews } from '../../src/journals/dbos/shown-runs-table.ts'

const newsOf = (runId: string): RunNews => ({
  runId,
  attempt: 'a',
  packed: '[]',
  last: 1,
  firstEventId: 1,
  title: '',
  secrets: [],
  hidesAll: false,
})

it('events that arrive during a write are stored together, one entry for each run', async () => {
  const first = Promise.withResolvers<void>()
  const written: string[][] = []
  const events = new NewEvents(async (news) => {
    written.push(news.map(({ runId }) => runId))
    if (written.length === 1) await first.promise
    return new Set(['a', 'b'])
  })
  const stored = ['a', 'b', 'c', 'b'].map((runId) => events.store(newsOf(runId)))
  first.resolve()
  expect(await Promise.all(stored)).toEqual([true, true, false, true])
  expect(written).toEqual([['a'], ['b', 'c'], ['b']])
})

it('a failed write rejects for a run alone; several runs have to be stored by themselves', async () => {
  const failure = new Error('refused')
  const first = Promise.withResolvers<never>()
  let writes = 0
  const events = new NewEvents(() => (++writes === 1 ? first.promise : Promise.reject(failure)))
  const stored = Promise.allSettled(['a', 'b', 'c'].map((runId) => events.store(newsOf(runId))))
  first.reject(failure)
  expect(await stored).toEqual([
    { status: 'rejected', reason: failure },
    { status: 'fulfilled', value: false },
    { status: 'fulfilled', value: false },
  ])
})
