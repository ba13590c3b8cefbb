import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import type { Durable } from '../../src/agent/journal/journal.ts'
import type { ShownRuns } from '../../src/agent/journal/shown-runs.ts'
import { AgentRunner } from '../../src/index.ts'
import { SqliteStore } from '../../src/journals/sqlite/sqlite-store.ts'
import { watchedSteps } from '../../src/service/runs/recorded/run-journal.ts'
import { headOfOrder } from '../../src/service/runs/run-order.ts'
import { ServiceRun } from '../../src/service/runs/service-run.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { allFrames, configFile, json, startService } from './start-service.ts'

/** A run with an answer, the store that shows it, and the steps of its execution. */
async function answeredRun(): Promise<{ run: ServiceRun; shown: ShownRuns; steps: Durable }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-said-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'runs.sqlite')
  const store = new SqliteStore({ file, synchronous: 'normal', busyTimeoutMs: 5_000, maxBytes: undefined }, 'a')
  onTestFinished(() => store.close())
  const { shown } = store
  const caller = { name: 'ann', roles: [] }
  const order = { id: 'r', caller, agent: 'a', kind: 'run' as const, clientTools: [], input: 'hi', options: {} }
  const run = new ServiceRun({ head: headOfOrder(order) }, [], { events: 10, characters: 1_000 })
  await shown.begin({ runId: 'r', caller: 'ann', agent: 'a', createdAt: 1, title: '', head: '{}' }, { attempt: 'first' })
  const durable: Durable = {
    runId: 'r',
    attempt: 'first',
    survivesCrashes: true,
    step: (_key, fn) => fn({ signal: AbortSignal.timeout(60_000) }),
    all: (steps) => Promise.all(steps),
    wait: async () => undefined,
  }
  return { run, shown, steps: watchedSteps(durable, run, shown) }
}

const message = JSON.stringify({ role: 'user', content: 'one more thing' })

describe('a message to a run that has its answer', () => {
  it('is read if it is accepted during the run’s last read, in whichever process it is sent; later it is refused', async () => {
    const { run, shown, steps } = await answeredRun()
    const accepted: boolean[] = []
    const steering = await steps.step('1.steer', async () => {
      const taken = run.control.take({ continues: true, hasAnswer: true })
      if (accepted.length === 0) accepted.push(await shown.sendMessages('r', [message]))
      return taken
    })
    expect([accepted, steering]).toMatchObject([[true], { messages: [{ content: 'one more thing' }] }])
    expect(await steps.step('2.steer', async () => run.control.take({ continues: true, hasAnswer: true }))).toMatchObject({ messages: [] })
    expect([run.control.listens, await shown.sendMessages('r', [message])]).toEqual([false, false])
  })

  it('is in the result if it is accepted before the run ends in another way, in whichever process; later it is refused', async () => {
    const { run, shown, steps } = await answeredRun()
    const accepted: boolean[] = [await shown.sendMessages('r', [message])]
    const unread = await steps.step('unread', async () => {
      const left = run.control.end()
      if (accepted.length === 1) accepted.push(await shown.sendMessages('r', [message]))
      return left
    })
    expect(accepted).toEqual([true, true])
    expect(unread).toMatchObject([{ content: 'one more thing' }, { content: 'one more thing' }])
    expect(await shown.sendMessages('r', [message])).toBe(false)
  })

  it.each([
    ['in memory', ''],
    ['in a journal', 'service: { keepRuns: { folder: runs } }'],
  ])('is shown with the run if the model then fails, without its secrets; %s', async (_, yaml) => {
    const { folder, file } = await configFile(`${yaml}\n`)
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ chunks: ['well', held.promise], error: new Error('the provider is away') }])
    const { ask, post } = await startService({ model, configFile: file, cwd: folder })
    const { id } = await json(post('/v1/runs', { input: 'go', background: true }))
    expect((await post(`/v1/runs/${id}/messages`, { input: 'use sk-proj-abcdefghijklmnopqrstuvwx' })).status).toBe(202)
    held.resolve()
    await allFrames(await ask(`/v1/runs/${id}/events`))
    const { result } = await json(ask(`/v1/runs/${id}`))
    expect(result).toMatchObject({ stopReason: 'model_error', unread: [{ role: 'user', content: 'use [redacted]' }] })
    expect((await post(`/v1/runs/${id}/messages`, { input: 'still there?' })).status).toBe(409)
  })

  it('in memory: its control reports when it no longer listens, and listens again for the resumed run', async () => {
    const control = new RunControl()
    const listened: boolean[] = []
    const runner = new AgentRunner({ model: scriptedModel(['one', 'two', 'three']) })
    runner.on('MODEL_END', () => listened.push(control.listens))
    runner.on('RUN_END', () => listened.push(control.listens))
    await runner.run('hi', { control })
    control.send('and now?')
    const { messages } = await runner.run('hello', { control })
    expect(listened).toEqual([true, false, true, true, false])
    expect(messages.map(({ content }) => content)).toContain('and now?')
  })
})
