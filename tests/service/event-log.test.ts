import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ShownEvent } from '../../src/agent/journal/shown-runs.ts'
import { SqliteStore } from '../../src/journals/sqlite/sqlite-store.ts'
import { allEvents } from '../../src/service/runs/recorded/stored-rows.ts'
import { EventLog } from '../../src/ui/web/event-log.ts'
import { LogReader } from '../../src/ui/web/log-reader.ts'

const bounds = { events: 100, characters: 100_000_000 }
const event = (id: number, data = '{}'): ShownEvent => ({ id, type: 'STEERING', data })

/** The numbers of the events that a reader is given. */
function idsIn(log: EventLog, after = 0): number[] {
  const text = new LogReader(log, { after, end: () => '' }).take(Number.POSITIVE_INFINITY)
  return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
}

describe('the log of a run that continues elsewhere', () => {
  it('has every event, even if they are more than one response of the journal has', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolloop-events-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const store = new SqliteStore(
      { file: join(folder, 'runs.sqlite'), synchronous: 'normal', busyTimeoutMs: 5_000, maxBytes: undefined },
      'a',
    )
    onTestFinished(() => store.close())
    const { shown } = store
    await shown.begin({ runId: 'r', caller: 'a', agent: 'a', createdAt: 1, title: '', head: '{}' }, { attempt: 'first' })
    const events = Array.from({ length: 12 }, (_, at) => event(at + 1, JSON.stringify('x'.repeat(500_000))))
    await shown.append('r', 'first', { events, firstEventId: 1, title: '', secrets: [], hidesAll: false })
    const log = new EventLog(bounds)
    log.fill(await allEvents(shown, 'r'), 12)
    log.read(event(13))
    expect(idsIn(log)).toEqual([...events.map(({ id }) => id), 13])
    expect(idsIn(log, 7)).toEqual([8, 9, 10, 11, 12, 13])
  })

  it('reports missing events, and returns no event in place of another', () => {
    const gap = new EventLog(bounds)
    // The oldest gave way between two answers.
    gap.fill([event(1), event(2), event(5), event(6)], 6)
    gap.read(event(7))
    expect([gap.firstId, idsIn(gap)]).toEqual([5, [5, 6, 7]])
    const short = new EventLog(bounds)
    short.fill([event(1), event(2)], 4)
    short.read(event(5))
    expect([short.firstId, idsIn(short)]).toEqual([5, [5]])
  })
})
