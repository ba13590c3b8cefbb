import type { ChatMessage } from '../../core/messages.ts'
import { refusalOf } from '../journal-contract/kit.ts'
import { MemoryRuns } from '../memory-journal.ts'
import { approvals, type SessionCase, type SessionProcess, textsIn } from './kit.ts'

/** Creates a user message with an id, as a chat page sends it. */
const said = (id: string, content: string): ChatMessage => ({ role: 'user', content, id })
const inPlaceOf = (replaces: string) => ({ session: { id: 'chat', replaces } })

/** Adds two questions with ids, and their answers, to the session. */
async function talk({ runner }: SessionProcess): Promise<void> {
  await runner.run(said('u1', 'one'), { session: 'chat' })
  await runner.run(said('u2', 'two'), { session: 'chat' })
}

const talked = ['user: one', 'assistant: heard 1', 'user: two', 'assistant: heard 3']

export const replacingCases: readonly SessionCase[] = [
  {
    name: 'a run replaces the message with an id and everything after it; messages without an id are found by position',
    async run({ place, expect }) {
      const world = await place()
      const [first, second] = [world.open(), world.open()]
      await talk(first)
      await second.runner.run(said('u2', 'two again'), inPlaceOf('u2'))
      expect(world.sent.at(-1)).toEqual(['user: one', 'assistant: heard 1', 'user: two again'])
      const read = await first.sessions.read('chat')
      expect(textsIn(read)).toEqual(['user: one', 'assistant: heard 1', 'user: two again', 'assistant: heard 3'])
      expect(read.map((message) => ('id' in message ? message.id : undefined))).toEqual(['u1', undefined, 'u2', undefined])
      expect((await first.sessions.get('chat'))?.messageCount).toBe(4)
      const { messages } = await second.runner.run('call look', inPlaceOf('u1'))
      expect(await first.sessions.read('chat')).toEqual(messages)
      expect(textsIn(messages)).toEqual(['user: call look', 'assistant: ', 'tool: did look', 'assistant: done'])
      await first.runner.run('anything', inPlaceOf('message-0'))
      expect(textsIn(await first.sessions.read('chat'))).toEqual(['user: anything', 'assistant: heard 1'])
    },
  },
  {
    name: 'a session without the replaced message is continued, even a missing session; a message of the model is never replaced',
    async run({ place, expect }) {
      const process = (await place()).open()
      const { runner, sessions } = process
      await runner.run(said('u1', 'one'), inPlaceOf('u1'))
      await runner.run(said('u2', 'two'), inPlaceOf('message-1'))
      expect(textsIn(await sessions.read('chat'))).toEqual(talked)
    },
  },
  {
    name: 'a message far back is found by its id',
    async run({ place, expect }) {
      const { runner, sessions } = (await place()).open()
      const many = Array.from({ length: 301 }, (_, at) => said(`u${at}`, `${at}`))
      await sessions.append('chat', many)
      await runner.run(said('u150', 'here'), inPlaceOf('u150'))
      const read = textsIn(await sessions.read('chat'))
      expect([read.length, read[149], read[150]]).toEqual([152, 'user: 149', 'user: here'])
      expect(textsIn(await sessions.read(await sessions.fork('chat', { at: 'u3' })))).toEqual(['user: 0', 'user: 1', 'user: 2'])
      expect(await refusalOf(sessions.fork('chat', { at: 'u200' }))).toBe('invalid_option')
    },
  },
  {
    name: 'the session changes when the run is stored: not before, and not if the model has said nothing',
    async run({ place, expect }) {
      const world = await place()
      const process = world.open()
      const { runner, sessions } = process
      await talk(process)
      await runner.run(said('u1', 'fail'), inPlaceOf('u1'))
      expect(textsIn(await sessions.read('chat'))).toEqual(talked)
      const run = runner.run(said('u1', 'call wait'), inPlaceOf('u1'))
      await world.reached.promise
      expect(textsIn(await world.open().sessions.read('chat'))).toEqual(talked)
      const busy = world.open().runner.run('hi', { session: { id: 'chat', replaces: 'u1', onBusy: 'refuse' } })
      expect(await refusalOf(busy)).toBe('session_busy')
      // The new run waits for the run in progress, whose messages it then replaces too.
      const after = world.open().runner.run(said('u1', 'short'), inPlaceOf('u1'))
      world.gate.resolve()
      await Promise.all([run, after])
      expect(textsIn(await sessions.read('chat'))).toEqual(['user: short', 'assistant: heard 1'])
    },
  },
  {
    name: 'a waiting run in the replaced part is released: its call never runs; a new message does not release it',
    async run({ place, expect }) {
      for (const replaces of ['u3', 'u1']) {
        const world = await place()
        const [first, second] = [world.open(), world.open()]
        await talk(first)
        const paused = await first.runner.run(said('u3', 'call refund'), { session: 'chat' })
        expect(await refusalOf(second.runner.run(said('u4', 'hello?'), inPlaceOf('u4')))).toBe('session_waiting')
        await second.runner.run(said(replaces, 'no'), inPlaceOf(replaces))
        const kept = replaces === 'u3' ? talked : []
        expect(textsIn(await first.sessions.read('chat'))).toEqual([...kept, 'user: no', `assistant: heard ${kept.length + 1}`])
        expect(await refusalOf(first.runner.resume(paused.state, { decisions: approvals(paused.pending) }))).toBe('session_lost')
        expect(world.started).toEqual([])
      }
    },
  },
  {
    name: 'if the replacing run fails, the question of the released run is in the session',
    async run({ place, expect }) {
      const { runner, sessions } = (await place()).open()
      await runner.run(said('u1', 'call refund'), { session: 'chat' })
      await runner.run(said('u1', 'fail'), inPlaceOf('u1'))
      expect(textsIn(await sessions.read('chat')).slice(0, 2)).toEqual(['user: call refund', 'assistant: '])
      expect((await sessions.get('chat'))?.status).toBe('idle')
    },
  },
  {
    name: 'a waiting run shows what it replaces; after it is resumed, released or replaced, the message is replaced',
    async run({ place, expect }) {
      for (const end of ['resume', 'release', 'replace'] as const) {
        const world = await place()
        const [first, second] = [world.open(), world.open()]
        await talk(first)
        const paused = await first.runner.run(said('u2', 'call refund'), inPlaceOf('u2'))
        const { waiting } = (await second.sessions.get('chat')) ?? {}
        expect([waiting?.at, textsIn(waiting?.messages ?? [])]).toEqual([2, ['user: call refund', 'assistant: ']])
        expect(textsIn(await second.sessions.read('chat'))).toEqual(talked)
        if (end === 'resume') await second.runner.resume(paused.state, { decisions: approvals(paused.pending) })
        else if (end === 'release') await second.sessions.release('chat')
        else await second.runner.run(said('u2', 'no'), inPlaceOf('u2'))
        const behind = {
          resume: ['user: call refund', 'assistant: ', 'tool: did refund', 'assistant: done'],
          release: ['user: call refund', 'assistant: ', 'tool: No result was recorded for this call.'],
          replace: ['user: no', 'assistant: heard 3'],
        }
        expect(textsIn(await first.sessions.read('chat'))).toEqual([...talked.slice(0, 2), ...behind[end]])
        expect(world.started).toEqual(end === 'resume' ? ['refund'] : [])
      }
    },
  },
  {
    name: 'a compaction that covers part of the replaced messages is dropped',
    async run({ place, expect }) {
      const world = await place()
      const { runner } = world.open({ compaction: { maxTokens: 300, summarise: () => 'they said long things' } })
      for (let at = 0; at < 6; at++) await runner.run(said(`u${at}`, `${at} ${'word '.repeat(60)}`), { session: 'chat' })
      const plain = world.open()
      await plain.runner.run(said('u1', 'short'), inPlaceOf('u1'))
      expect(world.sent.at(-1)?.length).toBe(3)
      await plain.runner.run('more', { session: 'chat' })
      expect(world.sent.at(-1)?.length).toBe(5)
    },
  },
  {
    name: 'a waiting recorded run is cancelled when it is replaced, and an earlier one keeps only its own messages',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const { runner, sessions } = world.open({ runs })
      await runner.run(said('u1', 'one'), { session: 'chat', runId: 'first' })
      await runner.run(said('u2', 'two'), { session: 'chat', runId: 'second' })
      await runner.run(said('u3', 'call refund'), { session: 'chat', runId: 'waits' })
      await runner.run(said('u1', 'other'), { ...inPlaceOf('u1'), runId: 'last' })
      expect((await runner.runs.get('waits'))?.result?.stopReason).toBe('aborted')
      expect([world.started, textsIn(await sessions.read('chat'))]).toEqual([[], ['user: other', 'assistant: heard 1']])
      const messagesOf = async (id: string) => textsIn((await runner.runs.get(id))?.result?.messages ?? [])
      expect(await messagesOf('first')).toEqual(talked.slice(0, 2))
      expect(await messagesOf('last')).toEqual(['user: other', 'assistant: heard 1'])
      expect(await messagesOf('second')).toEqual(talked.slice(2))
    },
  },
  {
    name: 'a recorded run that replaces messages and is killed at any moment has replaced them once it is resumed',
    async run({ place, expect }) {
      for (let dieAt = 1; ; dieAt++) {
        const world = await place()
        const runs = new MemoryRuns()
        await talk(world.open())
        const first = world.open({ runs, dieAt })
        const run = first.runner.run(said('u2', 'call look'), { ...inPlaceOf('u2'), runId: 'run' })
        const end = await Promise.race([run.then(() => 'ended'), first.death.happened])
        await first.kill()
        const second = world.open({ runs })
        await second.runner.recover()
        const story = ['user: call look', 'assistant: ', 'tool: did look', 'assistant: done']
        const read = textsIn(await second.sessions.read('chat'))
        // If the process was killed before the run was recorded, the run doesn't exist.
        const isKnown = (await second.runner.runs.get('run')) !== undefined
        expect([dieAt, read]).toEqual([dieAt, isKnown ? [...talked.slice(0, 2), ...story] : talked])
        if (end === 'ended') return
      }
    },
  },
  {
    name: 'a run that replaces messages and has ended only in its journal has replaced them when the next one starts',
    async run({ place, expect }) {
      const world = await place()
      const runs = new MemoryRuns()
      const first = world.open({ runs })
      await talk(first)
      await first.sessions.fork('chat', { to: 'other' })
      await first.runner.run(said('u2', 'call look'), { session: { id: 'other', replaces: 'u2' }, runId: 'run' })
      // Leaves `chat` claimed by the run, as if the run's commit had been lost.
      await first.sessions.store.claim('chat', { runId: 'run', durable: true, epoch: 2 })
      await first.kill()
      const second = world.open({ runs })
      await second.runner.run('after', { session: 'chat' })
      const story = ['user: call look', 'assistant: ', 'tool: did look', 'assistant: done']
      expect(textsIn(await second.sessions.read('chat'))).toEqual([...talked.slice(0, 2), ...story, 'user: after', 'assistant: heard 7'])
    },
  },
]
