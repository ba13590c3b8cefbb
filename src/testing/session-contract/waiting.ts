import type { Expect } from '../contract/kit.ts'
import { refusalOf } from '../journal-contract/kit.ts'
import { MemoryRuns } from '../memory-journal.ts'
import { approvals, type SessionCase, type SessionWorld, textsIn } from './kit.ts'

const before = ['user: one', 'assistant: heard 1']
const refunded = ['user: call refund', 'assistant: ', 'tool: did refund', 'assistant: done']

/** Prepares a run that waited and was resumed. Its process died after the call, before the messages of the run were stored. */
async function brokenOff(world: SessionWorld, tool: string, expect: Expect) {
  const [first, second] = [world.open(), world.open()]
  const paused = await first.runner.run(`call ${tool}`, { session: 'chat' })
  const decisions = approvals(paused.pending)
  const asked = Promise.withResolvers<void>()
  const stuck = { ...world.model(), generate: () => new Promise<never>(() => asked.resolve()) }
  const dying = world.open({ model: stuck })
  const controller = new AbortController()
  const lost = refusalOf(dying.runner.resume(paused.state, { decisions, signal: controller.signal }))
  await asked.promise
  expect(await refusalOf(second.runner.run('me too', { session: { id: 'chat', onBusy: 'refuse' } }))).toBe('session_busy')
  await dying.kill()
  controller.abort()
  expect(await lost).toBe('session_failed')
  return { world, paused, decisions }
}

export const waitingCases: readonly SessionCase[] = [
  {
    name: 'a waiting run is shown and blocks other runs; resumed in any process, it is stored once',
    async run({ place, expect }) {
      const world = await place()
      const [first, second] = [world.open(), world.open()]
      await first.runner.run('one', { session: 'chat' })
      const paused = await first.runner.run('call refund', { session: 'chat', runId: 'paused' })
      const { status, messageCount, waiting } = (await second.sessions.get('chat')) ?? {}
      expect([status, messageCount, waiting?.runId, waiting?.pending]).toEqual(['waiting', 2, 'paused', paused.pending])
      expect(textsIn(waiting?.messages ?? [])).toEqual(refunded.slice(0, 2))
      const others = [
        first.runner.run('me too', { session: 'chat' }),
        second.runner.run('me too', { session: { id: 'chat', onBusy: 'refuse' } }),
        second.sessions.append('chat', [{ role: 'user', content: 'hi' }]),
      ]
      expect(await Promise.all(others.map(refusalOf))).toEqual(['session_waiting', 'session_waiting', 'session_waiting'])
      const state = JSON.parse(JSON.stringify(paused.state))
      const still = await second.runner.resume(state)
      expect([still.stopReason, (await second.sessions.get('chat'))?.status]).toEqual(['paused', 'waiting'])
      const { output, messages } = await second.runner.resume(state, { decisions: approvals(paused.pending) })
      expect([output, textsIn(messages)]).toEqual(['done', [...before, ...refunded]])
      expect(textsIn(await first.sessions.read('chat'))).toEqual([...before, ...refunded])
      expect((await first.sessions.get('chat'))?.status).toBe('idle')
      expect(world.started).toEqual(['refund'])
    },
  },
  {
    name: 'a state is resumed once, whichever process tries again, and however often the run waits',
    async run({ place, expect }) {
      const world = await place()
      const [first, second] = [world.open(), world.open()]
      const model = world.model()
      let asked = 0
      const twice = {
        ...model,
        generate: async (...args: Parameters<typeof model.generate>) => {
          const [request] = args
          if (request.messages.at(-1)?.role !== 'tool' || asked++ > 0) return model.generate(...args)
          return model.generate({ ...request, messages: [{ role: 'user', content: 'call refund' }] }, args[1])
        },
      }
      const paused = await first.runner.run('call refund', { session: 'chat' })
      const decisions = approvals(paused.pending)
      const runner = world.open({ model: twice }).runner
      const again = await runner.resume(paused.state, { decisions })
      expect([again.stopReason, world.started]).toEqual(['paused', ['refund']])
      expect(await refusalOf(second.runner.resume(paused.state, { decisions }))).toBe('already_resumed')
      const ended = await second.runner.resume(again.state, { decisions: approvals(again.pending) })
      expect(ended.output).toBe('done')
      expect(await refusalOf(second.runner.resume(again.state, { decisions: approvals(again.pending) }))).toBe('already_resumed')
      expect(world.started).toEqual(['refund', 'refund'])
      expect((await first.sessions.read('chat')).length).toBe(6)
    },
  },
  {
    name: 'a resumed run that is aborted before it has its session again leaves it unchanged, streamed or not',
    async run({ place, expect }) {
      for (const how of ['resume', 'resumeStream'] as const) {
        for (const abortFirst of [true, false]) {
          const world = await place()
          const { runner, sessions } = world.open()
          const paused = await runner.run('call refund', { session: 'chat' })
          const decisions = approvals(paused.pending)
          const { store } = sessions
          const claim = store.claim.bind(store)
          const controller = new AbortController()
          if (abortFirst) controller.abort()
          store.claim = (...args) => {
            const claiming = claim(...args)
            controller.abort()
            return claiming
          }
          const resumed = runner[how](paused.state, { decisions, signal: controller.signal })
          expect((await ('result' in resumed ? resumed.result : resumed)).stopReason).toBe('aborted')
          expect(world.started).toEqual([])
          store.claim = claim
          expect((await runner.resume(paused.state, { decisions })).output).toBe('done')
          expect([world.started, (await sessions.get('chat'))?.status]).toEqual([['refund'], 'idle'])
        }
      }
    },
  },
  {
    name: 'a resumed run that was interrupted waits, and is only resumed explicitly: a call that may have run is repeated if that is safe',
    async run({ place, expect }) {
      const unknown = 'The run was interrupted while `pay` was running. Whether it took effect is not known.'
      for (const [tool, starts, told] of [['refund', 2, 'did refund'] as const, ['pay', 1, unknown] as const]) {
        const { world, paused, decisions } = await brokenOff(await place(), tool, expect)
        const { runner, sessions } = world.open()
        const { status, waiting } = (await sessions.get('chat')) ?? {}
        expect([status, waiting?.runId, typeof waiting?.resumedAt]).toEqual(['waiting', paused.runId, 'number'])
        expect(await refusalOf(runner.resume(paused.state, { decisions }))).toBe('already_resumed')
        expect(await refusalOf(runner.run('me too', { session: 'chat' }))).toBe('session_waiting')
        expect(world.started).toEqual([tool])
        expect((await runner.resume(paused.state, { decisions, again: true })).output).toBe('done')
        expect(world.started.length).toBe(starts)
        expect(textsIn(await sessions.read('chat'))).toEqual([`user: call ${tool}`, 'assistant: ', `tool: ${told}`, 'assistant: done'])
        expect(await refusalOf(runner.resume(paused.state, { decisions, again: true }))).toBe('already_resumed')
      }
    },
  },
  {
    name: 'a session is taken from a resumed run that was interrupted: its messages say that its calls may have run',
    async run({ place, expect }) {
      const { world } = await brokenOff(await place(), 'pay', expect)
      const { runner, sessions } = world.open()
      expect(await sessions.release('chat')).toBe(true)
      const [, , result] = textsIn(await sessions.read('chat'))
      expect(result).toBe('tool: The run was interrupted while `pay` was running. Whether it took effect is not known.')
      expect((await runner.run('next', { session: 'chat' })).output).toBe('heard 4')
    },
  },
  {
    name: 'a session is taken from a waiting run: its messages stay, and it can’t be resumed',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      const paused = await runner.run('call refund', { session: 'chat' })
      expect([await sessions.release('chat'), await sessions.release('chat'), await sessions.release('none')]).toEqual([true, false, false])
      expect((await sessions.read('chat')).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
      expect((await runner.run('never mind', { session: 'chat' })).output).toBe('heard 4')
      expect(await refusalOf(runner.resume(paused.state, { decisions: approvals(paused.pending) }))).toBe('session_lost')
      expect(world.started).toEqual([])
      const second = await runner.run('call refund', { session: 'chat' })
      await sessions.delete('chat')
      expect(await refusalOf(runner.resume(second.state, { decisions: approvals(second.pending) }))).toBe('session_lost')
    },
  },
  {
    name: 'a session is taken from a run in progress: the run is told, and its messages are not stored',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      const slow = runner.run('call wait', { session: 'chat' }).catch((error: unknown) => error)
      await world.reached.promise
      expect(await world.open().sessions.release('chat')).toBe(true)
      expect((await world.open().runner.run('next', { session: 'chat' })).output).toBe('heard 1')
      world.gate.resolve()
      const { code, result } = (await slow) as { code?: string; result?: { output: string; newMessages: unknown[] } }
      expect([code, result?.output, result?.newMessages.length]).toEqual(['session_lost', 'done', 4])
      expect(textsIn(await sessions.read('chat'))).toEqual(['user: next', 'assistant: heard 1'])
    },
  },
  {
    name: 'under a journal: a waiting run is decided by another process, or cancelled, and the session continues',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const [first, second] = [world.open({ runs }), world.open({ runs })]
      await first.runner.run('one', { session: 'chat' })
      const paused = await first.runner.run('call refund', { session: 'chat', runId: 'paused' })
      expect((await second.sessions.get('chat'))?.waiting?.runId).toBe('paused')
      expect(await refusalOf(second.runner.run('me too', { session: 'chat' }))).toBe('session_waiting')
      const { messages } = await second.runner.resume('paused', { decisions: approvals(paused.pending) })
      expect(textsIn(messages)).toEqual([...before, ...refunded])
      expect(textsIn((await first.runner.runs.get('paused'))?.result?.messages ?? [])).toEqual([...before, ...refunded])
      await first.runner.run('call refund', { session: 'chat', runId: 'second' })
      await second.runner.runs.cancel('second')
      expect((await second.runner.resume('second')).stopReason).toBe('aborted')
      const { status: after, messageCount: count } = (await first.sessions.get('chat')) ?? {}
      expect([after, count]).toEqual(['idle', 9])
      expect((await second.runner.run('next', { session: 'chat' })).output).toBe('heard 10')
      expect(world.started).toEqual(['refund'])
    },
  },
]
