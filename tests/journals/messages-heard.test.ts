import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { StoredSteps } from '../../src/agent/journal/stored-steps.ts'
import type { Steering } from '../../src/agent/types/recorded.ts'
import { SqliteStore } from '../../src/journals/sqlite/sqlite-store.ts'

const silent: Steering = { messages: [], stops: false }
const said: Steering = { messages: [{ role: 'user', content: 'And the moon?' }], stops: false }

/** Each call resumes the run `r` in another process, as if the one before had died. */
async function executions(): Promise<() => Promise<{ steps: StoredSteps; recorded: string[] }>> {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-heard-'))
  const open = () =>
    new SqliteStore({ file: join(folder, 'runs.sqlite'), synchronous: 'normal', busyTimeoutMs: 5_000, maxBytes: undefined }, 'a')
  let store = open()
  onTestFinished(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })
  return async () => {
    await store.close()
    store = open()
    const taken = await store.take('r', { input: '{}', loop: 1 })
    if (taken.kind !== 'taken') throw new Error(`Expected to get the run, got ${taken.kind}`)
    const steps = new StoredSteps(store, 'r', { ...taken, trial: undefined }, new AbortController().signal)
    return { steps, recorded: taken.steps.map(({ name }) => name) }
  }
}

describe('messages to a recorded run', () => {
  it('are not looked for again before a step that was recorded without them', async () => {
    const execute = await executions()
    const first = await execute()
    expect(await first.steps.step('1.steer', async () => silent)).toEqual(silent)
    await first.steps.step('2.model', async () => 'a turn')

    const second = await execute()
    expect(second.recorded).toEqual(['2.model'])
    expect(await second.steps.step('1.steer', async () => said)).toEqual(silent)
    expect(await second.steps.step('2.model', async () => 'another turn')).toBe('a turn')
    expect(await second.steps.step('2.steer', async () => said)).toEqual(said)

    const third = await execute()
    expect(third.recorded).toEqual(['2.model', '2.steer'])
    expect(await third.steps.step('1.steer', async () => said)).toEqual(silent)
    await third.steps.step('2.model', async () => 'another turn')
    expect(await third.steps.step('2.steer', async () => silent)).toEqual(said)
  })

  it('are looked for again if nothing was recorded since, and not once the run has looked for the last time', async () => {
    const execute = await executions()
    const first = await execute()
    await first.steps.step('1.model', async () => 'a turn')
    await first.steps.step('1.steer', async () => silent)

    const second = await execute()
    await second.steps.step('1.model', async () => 'another turn')
    expect(await second.steps.step('1.steer', async () => ({ ...silent, unread: [] }))).toEqual({ ...silent, unread: [] })

    const third = await execute()
    expect(third.recorded).toEqual(['1.model', '1.steer'])
    await third.steps.step('1.model', async () => 'another turn')
    expect(await third.steps.step('1.steer', async () => said)).toEqual({ ...silent, unread: [] })
  })

  it('are recorded if they stop the run', async () => {
    const execute = await executions()
    const { steps } = await execute()
    await steps.step('1.steer', async () => ({ ...silent, stops: true }))
    expect((await execute()).recorded).toEqual(['1.steer'])
  })
})

it('the end of a run is announced in each execution that reaches it', async () => {
  const execute = await executions()
  const ends: string[] = []
  for (const execution of ['first', 'second']) {
    const { steps, recorded } = await execute()
    expect(recorded).toEqual([])
    await steps.step('end', async () => void ends.push(execution))
  }
  expect(ends).toEqual(['first', 'second'])
})
