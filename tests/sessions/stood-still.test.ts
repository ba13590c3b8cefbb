import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ClaimRequest } from '../../src/agent/sessions/session-store.ts'
import { Sessions } from '../../src/agent/sessions/sessions.ts'
import { MemorySessionStore, SessionMemory } from '../../src/sessions/memory.ts'
import { MemoryRuns, memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A claim that is requested immediately but reaches the store only when the process continues. */
class StoodStill extends MemorySessionStore {
  readonly asked = Promise.withResolvers<void>()
  readonly continues = Promise.withResolvers<void>()
  readonly answer = Promise.withResolvers<string>()

  override async claim(id: string, request: ClaimRequest) {
    if (!request.durable) return super.claim(id, request)
    this.asked.resolve()
    await this.continues.promise
    const claimed = await super.claim(id, request)
    this.answer.resolve(claimed.kind)
    return claimed
  }
}

/** Two processes with the same journal and sessions. The run of the first is about to claim the session, and has lost the run. */
async function standStill(answer: () => Promise<string>) {
  const memory = new SessionMemory()
  const runs = new MemoryRuns()
  const still = new StoodStill(memory)
  const journal = memoryJournal(runs)
  const first = new AgentRunner({ model: scriptedModel(['early']), logger, sessions: new Sessions(still), journal })
  const early = first.run('hi', { session: 'chat', runId: 'run' }).catch(({ code }) => code)
  await still.asked.promise
  await journal.close()
  const sessions = new Sessions(new MemorySessionStore(memory))
  const model = scriptedModel([answer, ({ messages }) => `heard ${messages.length}`])
  const second = new AgentRunner({ model, logger, sessions, journal: memoryJournal(runs) })
  return { still, early, second, sessions }
}

const texts = async (sessions: Sessions) => (await sessions.read('chat')).map(({ content }) => content)

describe('a process that hung while its run claimed a session', () => {
  failOnUnhandledRejections()

  it('P1.7 H59 changes nothing if it wakes up while another process continues the run: the answer is in the session', async () => {
    const begun = Promise.withResolvers<void>()
    const { promise, resolve } = Promise.withResolvers<string>()
    const { still, early, second, sessions } = await standStill(() => {
      begun.resolve()
      return promise
    })
    const recovered = second.recover()
    await begun.promise
    still.continues.resolve()
    expect(await still.answer.promise).toBe('taken_over')
    resolve('answer')
    expect(await recovered).toEqual([{ runId: 'run', stopReason: 'answered' }])
    expect(await texts(sessions)).toEqual(['hi', 'answer'])
    expect((await second.run('next', { session: 'chat' })).output).toBe('heard 3')
    expect(await early).toBe('run_taken_over')
  })

  it('P1.7 H59 does not block the session for the next run if it wakes up before or after the run was continued', async () => {
    for (const when of ['before', 'after']) {
      const { still, second, sessions } = await standStill(async () => 'answer')
      if (when === 'after') await second.recover()
      still.continues.resolve()
      await still.answer.promise
      expect((await second.run('next', { session: 'chat' })).output).toBe('heard 3')
      expect(await texts(sessions)).toEqual(['hi', 'answer', 'next', 'heard 3'])
    }
  })
})
