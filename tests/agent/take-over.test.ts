import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { TakeOver } from '../../src/agent/journal/recovery.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Runs that are open until they have been executed; each settles when it is told to. */
function openRuns(count: number) {
  const runs = new Map(Array.from({ length: count }, (_, at) => [`run-${at}`, Promise.withResolvers<void>()]))
  const executed: string[] = []
  const open = new Set(runs.keys())
  const pending = async () => [...open]
  const execute = async (runId: string) => {
    executed.push(runId)
    open.delete(runId)
    await runs.get(runId)?.promise
  }
  const end = (runId: string) => runs.get(runId)?.resolve()
  return { pending, execute, executed, end }
}

it('resumes a limited number of runs at once, and others when these have ended', async () => {
  const { pending, execute, executed, end } = openRuns(3)
  const takeOver = new TakeOver({ everyMs: 100, concurrency: 2 }, { pending, execute })
  takeOver.begin()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(executed).toEqual(['run-0', 'run-1'])
  end('run-1')
  await vi.advanceTimersByTimeAsync(100)
  expect(executed).toEqual(['run-0', 'run-1', 'run-2'])
  takeOver.end()
  expect(vi.getTimerCount()).toBe(0)
})

it('retries a run that breaks off ever less often, and starts over if another process had it meanwhile', async () => {
  const at: number[] = []
  const open = new Set(['broken'])
  const begun = performance.now()
  const execute = async () => {
    at.push(Math.round((performance.now() - begun) / 100))
    throw new Error('misconfigured')
  }
  const takeOver = new TakeOver({ everyMs: 100, concurrency: 2 }, { pending: async () => [...open], execute })
  takeOver.begin()
  await vi.advanceTimersByTimeAsync(6_350)
  expect(at).toEqual([1, 3, 7, 15, 31, 63])
  open.clear()
  await vi.advanceTimersByTimeAsync(100)
  open.add('broken')
  await vi.advanceTimersByTimeAsync(100)
  expect(at.at(-1)).toBe(65)
  takeOver.end()
})

it('continues looking if the store fails, and stops for good once it was closed', async () => {
  let looks = 0
  const pending = async (): Promise<string[]> => {
    looks++
    throw new Error('the server is gone')
  }
  const takeOver = new TakeOver({ everyMs: 100, concurrency: 2 }, { pending, execute: async () => {} })
  takeOver.begin()
  takeOver.begin()
  await vi.advanceTimersByTimeAsync(300)
  expect(looks).toBe(3)
  takeOver.end()
  takeOver.begin()
  await vi.advanceTimersByTimeAsync(300)
  expect(looks).toBe(3)
})
