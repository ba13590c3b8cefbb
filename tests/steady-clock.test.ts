import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type NotedTime, SteadyClock } from '../src/core/time/steady-clock.ts'
import { runsSchema } from '../src/journals/sqlite/runs-schema.ts'
import { RunsTable } from '../src/journals/sqlite/runs-table.ts'
import { ShownRunsTable } from '../src/journals/sqlite/shown-runs-table.ts'
import { SessionWork } from '../src/sessions/session-work.ts'
import { sqliteDialect } from '../src/sessions/sqlite/session-dialect.ts'
import { sessionsSchema } from '../src/sessions/sqlite/sessions-schema.ts'
import { doAtOnce, type Work } from '../src/sql/statement.ts'
import { inTransaction, type Schema } from '../src/sqlite/database.ts'
import { type FileParts, openFile } from '../src/sqlite/opened-file.ts'
import { inFolder } from './journals/temp-folder.ts'

const [minute, day] = [60_000, 86_400_000]
const start = Date.UTC(2026, 0, 1)
const warnings: string[] = []
const warn = (message: string): void => void warnings.push(message)

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: start }))
afterEach(() => {
  vi.useRealTimers()
  warnings.length = 0
})

/** Lets time pass. */
const pass = (ms: number): void => void vi.advanceTimersByTime(ms)
/** Sets the system's clock. */
const set = (offset: number): void => void vi.setSystemTime(Date.now() + offset)
/** The clock of the next process. */
const next = (noted: NotedTime): SteadyClock => new SteadyClock(warn, noted)

describe('SteadyClock', () => {
  it('H60 continues as if the clock had not jumped until it is consistent for twenty minutes, and warns once', () => {
    for (const days of [40, -40]) {
      vi.setSystemTime(start)
      const clock = new SteadyClock(warn)
      pass(minute)
      set(days * day)
      expect(clock.now()).toBe(start + minute)
      pass(19 * minute)
      expect(clock.now()).toBe(start + 20 * minute)
      expect(warnings.splice(0)).toEqual([expect.stringMatching(/^The clock shows 202[56]-.*, but 2026-01-01T00:01:00.000Z was expected/)])
      pass(minute)
      expect(clock.now()).toBe(start + days * day + 21 * minute)
      expect(warnings).toEqual([])
    }
  })

  it('H60 trusts a clock that a test has stopped and restarted, however long its process has run', () => {
    const clock = new SteadyClock(warn)
    pass(day)
    expect(clock.now()).toBe(start + day)
    vi.useRealTimers()
    // `performance.now()` starts at 0 again.
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: start + day })
    pass(minute)
    expect(clock.now()).toBe(start + day + minute)
    expect(warnings).toEqual([])
  })

  it('P1.8 H60 doubts a clock independently of what an earlier process doubted', () => {
    for (const doubted of [-40, 40]) {
      const noted = { now: start, doubtedSince: start + doubted * day }
      vi.setSystemTime(start + minute)
      expect(next(noted).now()).toBe(start + minute)
      expect(warnings).toEqual([])
      vi.setSystemTime(start - doubted * day)
      expect(next(noted).now()).toBe(start)
      expect(warnings.splice(0)).toHaveLength(1)
    }
  })

  it('H60 trusts a corrected clock at once, and follows one that is set by less than five minutes', () => {
    const clock = new SteadyClock(warn)
    set(40 * day)
    expect(clock.now()).toBe(start)
    pass(minute)
    set(-40 * day)
    expect(clock.now()).toBe(start + minute)
    set(4 * minute)
    expect(clock.now()).toBe(start + 5 * minute)
    set(-4 * minute)
    expect(clock.now()).toBe(start + minute)
    expect(warnings.length).toBe(1)
  })

  it('H60 starts waiting again if the clock jumps while it is doubted', () => {
    const clock = new SteadyClock(warn)
    set(40 * day)
    clock.now()
    pass(15 * minute)
    set(40 * day)
    clock.now()
    pass(15 * minute)
    expect(clock.now()).toBe(start + 30 * minute)
    pass(5 * minute)
    expect(clock.now()).toBe(start + 80 * day + 35 * minute)
  })

  it('H60 doubts a clock at its start that is far from the last noted time, over several processes', () => {
    const first = new SteadyClock(warn)
    set(day)
    expect(next(first.noted()).now()).toBe(start + day)
    const late = { now: start, doubtedSince: null }
    set(39 * day)
    const second = next(late)
    expect(second.now()).toBe(start)
    // Processes that live for a minute each.
    let noted = second.noted()
    for (let at = 1; at < 20; at++) {
      pass(minute)
      const clock = next(noted)
      expect(clock.now() - start).toBeLessThan(20 * minute)
      noted = clock.noted()
    }
    pass(minute)
    expect(next(noted).now()).toBe(start + 40 * day + 20 * minute)
  })

  it('H60 is late by one job, not forever, if jobs are more than a day apart', () => {
    let noted: NotedTime = { now: start, doubtedSince: null }
    for (let week = 1; week < 5; week++) {
      set(7 * day)
      const clock = next(noted)
      expect(clock.now()).toBe(start + (week - 1) * 7 * day)
      noted = clock.noted()
    }
  })
})

/** The tables of a file, as its thread opens them. */
function open<Tables>(schema: Schema, file: string, tables: (parts: FileParts) => Tables) {
  const contents = { ...schema, reading: [], open: tables, release: () => {} }
  const options = { file, synchronous: 'normal', busyTimeoutMs: 1_000, maxBytes: undefined } as const
  const opened = openFile(contents, options, { own: undefined, warn })
  opened.enter()
  const change = <T>(work: (tables: Tables, done: <D>(asked: Work<D>) => D) => T): T =>
    inTransaction(opened.database, () => {
      const value = work(opened.tables, (asked) => doAtOnce(asked, (statement) => opened.statements.rowsOf(statement)))
      opened.clock.note()
      return value
    })
  return { change, close: opened.close }
}

describe('the contents of an SQLite file', () => {
  const runsIn = (folder: string) => open(runsSchema, join(folder, 'runs.sqlite'), (parts) => new RunsTable(parts, 'default'))

  it('P1.8 H60 don’t expire by a clock that jumped, in this process or before it, until the new time has lasted', () =>
    inFolder(async (folder) => {
      let runs = runsIn(folder)
      runs.change((tables, done) => {
        for (const id of ['run', 'other']) {
          done(tables.take(id, { input: '{}', loop: 1 }))
          done(tables.suspend(id, 1, { output: '{}', waits: [{ name: 'it', timeoutMs: 10 * day }], forget: [] }))
        }
      })
      set(40 * day)
      expect(runs.change((tables, done) => done(tables.pending()))).toEqual([])
      runs.close()
      runs = runsIn(folder)
      expect(runs.change((tables, done) => done(tables.pending()))).toEqual([])
      expect(runs.change((tables, done) => done(tables.take('run')))).toEqual({ kind: 'waiting' })
      runs.change((tables, done) => done(tables.deliver('run', [{ name: 'it', value: '1' }], 'me')))
      expect(runs.change((tables, done) => done(tables.pending()))).toEqual(['run'])
      expect(warnings.length).toBe(2)
      pass(20 * minute)
      expect(runs.change((tables, done) => done(tables.pending()))).toEqual(['run', 'other'])
      runs.close()
    }))

  it('P1.8 H60 are not lost to a jump: shown runs and sessions', () =>
    inFolder(async (folder) => {
      const shown = open(runsSchema, join(folder, 'runs.sqlite'), (parts) => new ShownRunsTable(parts, 'default'))
      const sessions = open(sessionsSchema, join(folder, 'sessions.sqlite'), (parts) => new SessionWork(sqliteDialect(parts), 30 * day))
      const show = (runId: string, status: 'waiting' | 'ended') =>
        shown.change((tables, done) => {
          const outcome = { status, stopReason: status, finishedAt: 1, settledForMs: 0, title: '', summary: '{}' }
          done(tables.begin({ runId, caller: 'ann', agent: 'a', createdAt: Date.now(), title: '', head: '' }, { attempt: 'one' }))
          done(tables.settle(runId, { status: 'running' }, outcome))
        })
      const tidy = () =>
        shown.change((tables, done) => [
          done(tables.giveUp({ waitingForMs: 30 * day }, { code: 'aborted', message: 'late' })),
          done(tables.forget({ runs: 9, ageMs: day, characters: 1e9, recordingCharacters: 1e9 })),
        ])
      show('waits', 'waiting')
      show('ended', 'ended')
      sessions.change((tables, done) => done(tables.append('chat', ['{}'], { isNew: true })))
      for (const days of [40, -80]) {
        set(days * day)
        expect(tidy()).toEqual([[], 0])
        show(`waits ${days}`, 'waiting')
        expect(sessions.change((tables, done) => [done(tables.prune(30 * day)), done(tables.read('chat', {}))])).toEqual([0, ['{}']])
      }
      set(40 * day)
      expect(tidy()).toEqual([[], 0])
      set(40 * day)
      pass(minute)
      expect(tidy()).toEqual([[], 0])
      pass(20 * minute)
      expect(tidy()).toEqual([['waits', 'waits 40', 'waits -80'], 1])
      shown.close()
      sessions.close()
    }))
})
