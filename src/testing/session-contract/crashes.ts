import { refusalOf } from '../journal-contract/kit.ts'
import { MemoryRuns } from '../memory-journal.ts'
import { approvals, type SessionCase, textsIn } from './kit.ts'

const story = ['user: before', 'assistant: heard 1', 'user: call look', 'assistant: ', 'tool: did look', 'assistant: done']

export const crashCases: readonly SessionCase[] = [
  {
    name: 'a recorded run that is killed at any moment is stored in the session once it is resumed, and other runs wait for that',
    async run({ place, expect }) {
      for (let dieAt = 1; ; dieAt++) {
        const world = await place()
        const runs = new MemoryRuns()
        await world.open().runner.run('before', { session: 'chat' })
        const first = world.open({ runs, dieAt })
        const run = first.runner.run('call look', { session: 'chat', runId: 'run' })
        const end = await Promise.race([run.then(() => 'ended'), first.death.happened])
        await first.kill()
        const second = world.open({ runs })
        // The next run resumes the dead process's run, or waits if `recover` already resumes it.
        const next = second.runner.run('after', { session: 'chat' })
        const [{ output }] = await Promise.all([next, second.runner.recover()])
        const texts = textsIn(await second.sessions.read('chat'))
        const [isFirst, isLast] = [texts.slice(0, 6), texts.slice(2)].map((part) => JSON.stringify(part))
        const whole = JSON.stringify(story)
        const behind = JSON.stringify(['user: after', 'assistant: heard 3', ...story.slice(2)])
        // If the process died before its run had claimed the session, the messages of the next run may come first.
        expect([dieAt, isFirst === whole || isLast === behind, texts.length]).toEqual([dieAt, true, 8])
        expect(['heard 7', 'heard 3'].includes(output)).toBe(true)
        const { result } = (await second.runner.runs.get('run')) ?? {}
        expect(textsIn(result?.newMessages ?? [])).toEqual(story.slice(2))
        if (end === 'ended') return
      }
    },
  },
  {
    name: 'killed at any moment around a decision, a recorded run is in the session once',
    async run({ place, expect }) {
      for (let dieAt = 1; ; dieAt++) {
        const world = await place()
        const runs = new MemoryRuns()
        const { pending } = await world.open({ runs }).runner.run('call refund', { session: 'chat', runId: 'run' })
        const first = world.open({ runs, dieAt })
        const resumed = first.runner.resume('run', { decisions: approvals(pending) })
        const end = await Promise.race([resumed.then(() => 'ended'), first.death.happened])
        await first.kill()
        const second = world.open({ runs })
        await second.runner.recover()
        expect((await second.runner.run('after', { session: 'chat' })).output).toBe('heard 5')
        expect(textsIn(await second.sessions.read('chat')).slice(0, 4)).toEqual([
          'user: call refund',
          'assistant: ',
          'tool: did refund',
          'assistant: done',
        ])
        if (end === 'ended') return
      }
    },
  },
  {
    name: 'a dead recorded run that is unknown here is not waited for: the next run is refused',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const first = world.open({ runs })
      void first.runner.run('call wait', { session: 'chat', runId: 'run' }).catch(() => undefined)
      await world.reached.promise
      await first.kill()
      const stranger = world.open()
      expect(await refusalOf(stranger.runner.run('hi', { session: 'chat' }))).toBe('session_busy')
      expect((await stranger.sessions.list({ status: 'running' })).sessions.map(({ runId }) => runId)).toEqual(['run'])
      world.gate.resolve()
      await world.open({ runs }).runner.recover()
      expect((await stranger.runner.run('hi', { session: 'chat' })).output).toBe('heard 5')
    },
  },
  {
    name: 'a recorded run whose session is taken from it or deleted still ends, and is not stored',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      for (const [at, gone] of (['release', 'delete'] as const).entries()) {
        const session = `chat ${at}`
        const first = world.open({ runs })
        const { pending } = await first.runner.run('call refund', { session, runId: session })
        await first.sessions[gone](session)
        const ended = await world.open({ runs }).runner.resume(session, { decisions: approvals(pending) })
        expect([ended.stopReason, ended.error?.message.includes(session)]).toEqual(['aborted', true])
        expect((await first.runner.runs.get(session))?.status).toBe('ended')
      }
      expect(world.started).toEqual([])
    },
  },
  {
    name: 'a recorded run that can’t continue is not waited for forever, keeps its session, and is stored once the cause is fixed',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const priced = { ...world.model(), capabilities: { nativeTools: true, price: { input: 1, output: 1 } } }
      const first = world.open({ runs, model: priced, dieAt: 6 })
      void first.runner.run('call look', { session: 'chat', runId: 'run', limits: { costUsd: 1 } })
      await first.death.happened
      await first.kill()
      // The run can't continue here, because it has a cost limit, and the model of this process has no price.
      const broken = world.open({ runs })
      expect(await refusalOf(broken.runner.run('after', { session: 'chat' }))).toBe('session_busy')
      expect((await broken.sessions.get('chat'))?.runId).toBe('run')
      const right = world.open({ runs, model: priced })
      expect((await right.runner.run('after', { session: 'chat' })).output).toBe('heard 5')
      expect(textsIn(await right.sessions.read('chat')).slice(0, 4)).toEqual(story.slice(2))
    },
  },
  {
    name: 'the data of a run in a journal does not grow with the conversation',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const { runner } = world.open({ runs })
      for (let at = 0; at < 20; at++) await runner.run(`run ${at}`, { session: 'chat', runId: `run-${at}` })
      const sizes = [1, 19].map((at) => JSON.stringify([...(runs.runs.get(`run-${at}`)?.steps ?? [])]).length)
      const kept = [1, 19].map((at) => {
        const { input = '', output = '' } = runs.runs.get(`run-${at}`) ?? {}
        return input.length + output.length
      })
      const [first = 0, last = 0] = sizes.map((size, at) => size + (kept[at] ?? 0))
      expect(last < first + 50).toBe(true)
    },
  },
]
