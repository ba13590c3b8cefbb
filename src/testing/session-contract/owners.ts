import type { Claimed, ClaimRequest, NotClaimed } from '../../agent/sessions/session-store.ts'
import { MemoryRuns } from '../memory-journal.ts'
import { approvals, type SessionCase, textsIn } from './kit.ts'

const added = { messages: ['{"role":"user","content":"hi"}'] }

/** Cases about a run that two processes execute: one was suspended, and the other took the run over. */
export const ownerCases: readonly SessionCase[] = [
  {
    name: 'an earlier execution of a recorded run can’t claim its session from a later one, whether that is running or waiting',
    async run({ place, expect }) {
      const world = await place()
      const [first, second] = [world.open().sessions.store, world.open().sessions.store]
      const request = (epoch: number): ClaimRequest => ({ runId: 'run', durable: true, epoch })
      const early = claimed(await first.claim('chat', request(1)))
      claimed(await second.claim('chat', request(2)))
      const again = claimed(await second.claim('chat', request(2)))
      const refused = { kind: 'taken_over', runId: 'run' }
      expect(await first.claim('chat', request(1))).toEqual(refused)
      expect(await first.commit({ id: 'chat', runId: 'run', token: early.token }, added)).toBe('lost')
      expect(await second.pause({ id: 'chat', runId: 'run', token: again.token }, { waitsFor: 'it', value: '{}' })).toBe('kept')
      expect(await first.claim('chat', { ...request(1), session: early.session })).toEqual(refused)
      expect((await second.get('chat'))?.status).toBe('waiting')
      const third = claimed(await second.claim('chat', request(3)))
      expect(await second.commit({ id: 'chat', runId: 'run', token: third.token }, added)).toBe('kept')
      expect(await first.claim('chat', request(1))).toEqual({ kind: 'stored', runId: 'run' })
      // Each run counts its own executions, so the epochs of the next run start at 1.
      claimed(await first.claim('chat', { runId: 'next', durable: true, epoch: 1 }))
    },
  },
  {
    name: 'a recorded run keeps its messages although its session was claimed in its name without an epoch',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const stranger = world.open().sessions.store
      const { runner, sessions } = world.open({ runs })
      const waiting = runner.run('call wait', { session: 'chat', runId: 'run' })
      await world.reached.promise
      claimed(await stranger.claim('chat', { runId: 'run', durable: true }))
      world.gate.resolve()
      expect((await waiting).output).toBe('done')
      expect(textsIn(await sessions.read('chat'))).toEqual(['user: call wait', 'assistant: ', 'tool: did wait', 'assistant: done'])
      expect((await sessions.get('chat'))?.status).toBe('idle')
    },
  },
  {
    name: 'a run that has ended only in its journal is in its session when the next one starts',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const first = world.open({ runs })
      const { pending } = await first.runner.run('call refund', { session: 'other', runId: 'run' })
      await first.runner.resume('run', { decisions: approvals(pending) })
      // Leaves `chat` claimed by the run, as if the run's commit had been lost.
      const { store } = first.sessions
      claimed(await store.claim('chat', { runId: 'run', durable: true, epoch: 2 }))
      await first.kill()
      const second = world.open({ runs })
      expect((await second.runner.run('after', { session: 'chat' })).output).toBe('heard 5')
      expect(textsIn(await second.sessions.read('chat')).slice(0, 4)).toEqual([
        'user: call refund',
        'assistant: ',
        'tool: did refund',
        'assistant: done',
      ])
      // The run's messages are already stored, so the run adds none if it is resumed.
      expect(await second.sessions.store.claim('chat', { runId: 'run', durable: true, epoch: 2 })).toEqual({ kind: 'stored', runId: 'run' })
    },
  },
]

function claimed(answer: Claimed | NotClaimed): Claimed {
  if (answer.kind === 'claimed') return answer
  throw new Error(`Expected the session to be claimed, got \`${answer.kind}\``)
}
