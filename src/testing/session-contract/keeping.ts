import type { ChatMessage } from '../../core/messages.ts'
import { refusalOf } from '../journal-contract/kit.ts'
import { type SessionCase, textsIn } from './kit.ts'

const hostileIds = [
  '__proto__',
  'constructor',
  'toString',
  "'; DROP TABLE sessions; --",
  '%',
  '_',
  'a/b\\c',
  'ａ',
  '👩‍👩‍👧',
  'x'.repeat(512),
  ' ',
]

export const keepingCases: readonly SessionCase[] = [
  {
    name: 'the next run is sent the conversation so far, in this process or another',
    async run({ place, expect }) {
      const world = await place()
      const first = world.open()
      expect((await first.runner.run('one', { session: 'chat' })).output).toBe('heard 1')
      expect((await first.runner.run('call look', { session: 'chat' })).output).toBe('done')
      const second = world.open()
      const { output, messages, newMessages } = await second.runner.run('two', { session: 'chat' })
      expect([output, messages.length, newMessages.length]).toEqual(['heard 7', 8, 2])
      const kept = ['user: one', 'assistant: heard 1', 'user: call look', 'assistant: ', 'tool: did look', 'assistant: done']
      expect(world.sent.at(-1)).toEqual([...kept, 'user: two'])
      expect(textsIn(await first.sessions.read('chat'))).toEqual([...kept, 'user: two', 'assistant: heard 7'])
      expect(textsIn(await first.sessions.read('chat', { from: 1, to: 3 }))).toEqual(kept.slice(1, 3))
      expect(await second.sessions.read('chat')).toEqual(messages)
    },
  },
  {
    name: 'instructions belong to the runner and are not stored',
    async run({ place, expect }) {
      const world = await place()
      await world.open({ instructions: 'Be kind.' }).runner.run('one', { session: 'chat' })
      const { runner, sessions } = world.open({ instructions: 'Be brief.' })
      await runner.run('two', { session: 'chat' })
      expect(world.sent.at(-1)).toEqual(['system: Be brief.', 'user: one', 'assistant: heard 2', 'user: two'])
      expect((await sessions.read('chat')).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    },
  },
  {
    name: 'messages are read back unchanged: texts of every kind, parts, calls, and large ones',
    async run({ place, expect }) {
      const { sessions, runner } = (await place()).open()
      const data: ChatMessage['providerData'] = { provider: 'p', data: JSON.parse('{"__proto__": {"a": 1}, "constructor": null}') }
      const messages: ChatMessage[] = [
        { role: 'user', content: "a\0b \u2028 “q” \\ ' 👩‍👩‍👧" },
        {
          role: 'assistant',
          content: '',
          providerData: data,
          toolCalls: [{ id: '__proto__', type: 'function', function: { name: 'x', arguments: '{"__proto__":1' } }],
        },
        { role: 'tool', content: [{ type: 'text', text: 'part' }], toolCallId: '__proto__', name: 'x', isError: true },
        { role: 'assistant', content: 'long '.repeat(500_000) },
        { role: 'user', content: [{ type: 'image', data: 'aGk=', mediaType: 'image/png' }] },
      ]
      await sessions.append('chat', messages)
      const read = await sessions.read('chat')
      expect(messages.map((message, at) => JSON.stringify(read[at]) === JSON.stringify(message))).toEqual(messages.map(() => true))
      expect((await runner.run('go', { session: 'chat' })).output).toBe('heard 6')
    },
  },
  {
    name: 'any text is an id of its own; anything else is refused before anything is sent',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      for (const [at, id] of hostileIds.entries()) await runner.run(`go ${at}`, { session: id })
      for (const [at, id] of hostileIds.entries()) {
        expect(textsIn(await sessions.read(id))).toEqual([`user: go ${at}`, 'assistant: heard 1'])
      }
      expect((await sessions.list({ limit: 1000 })).sessions.map(({ id }) => id).sort()).toEqual([...hostileIds].sort())
      const requests = world.sent.length
      for (const id of ['', 'x'.repeat(513), 'a\0b', '\ud800', 7, null, {}]) {
        expect(await refusalOf(runner.run('go', { session: id as never }))).toBe('invalid_option')
        expect(await refusalOf(sessions.get(id as never))).toBe('invalid_option')
      }
      for (const runId of ['', 'a\0b', '\ud800'])
        expect(await refusalOf(runner.run('go', { session: 'chat', runId }))).toBe('invalid_option')
      expect(world.sent.length).toBe(requests)
    },
  },
  {
    name: 'sessions are listed by their last change, in pages, filtered by id prefix, status and time',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      for (const id of ['a/1', 'a/2', 'b%1', 'a/3', 'b_1']) await runner.run('go', { session: id })
      await runner.run('again', { session: 'a/1' })
      await runner.run('call refund', { session: 'a/2' })
      const idsOf = async (query: Parameters<typeof sessions.list>[0]) => (await sessions.list(query)).sessions.map(({ id }) => id).sort()
      const pages: string[][] = []
      for (let cursor: string | undefined; ; ) {
        const page = await sessions.list({ limit: 2, cursor })
        pages.push(page.sessions.map(({ id }) => id))
        cursor = page.next
        if (cursor === undefined) break
      }
      expect(pages.map(({ length }) => length)).toEqual([2, 2, 1])
      expect(pages.flat().sort()).toEqual(['a/1', 'a/2', 'a/3', 'b%1', 'b_1'])
      const times = (await sessions.list()).sessions.map(({ updatedAt }) => updatedAt)
      expect(times).toEqual(times.toSorted((a, b) => b - a))
      expect([await idsOf({ prefix: 'a/' }), await idsOf({ prefix: 'b%' }), await idsOf({ prefix: '' })]).toEqual([
        ['a/1', 'a/2', 'a/3'],
        ['b%1'],
        ['a/1', 'a/2', 'a/3', 'b%1', 'b_1'],
      ])
      expect([await idsOf({ status: 'waiting' }), await idsOf({ status: 'running' })]).toEqual([['a/2'], []])
      const newest = times[0] ?? 0
      expect([await idsOf({ updatedAfter: newest }), await idsOf({ updatedBefore: 1 })]).toEqual([[], []])
      expect((await idsOf({ updatedAfter: 1, updatedBefore: newest + 1 })).length).toBe(5)
      for (const query of [
        { limit: 0 },
        { cursor: 'x' },
        { state: 'idle' },
        { status: 'busy' },
        { prefix: 7 },
        { updatedAfter: Number.NaN },
      ]) {
        expect(await refusalOf(sessions.list(query as never))).toBe('invalid_option')
      }
    },
  },
  {
    name: 'a fork starts with a copy, or with the first messages, and then diverges',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      for (const input of ['one', 'call look', 'three']) await runner.run(input, { session: 'chat' })
      expect(await sessions.fork('chat', { to: 'whole' })).toBe('whole')
      expect(await sessions.read('whole')).toEqual(await sessions.read('chat'))
      const other = await sessions.fork('chat', { at: 2 })
      await runner.run('instead', { session: other })
      expect(textsIn(await sessions.read(other))).toEqual(['user: one', 'assistant: heard 1', 'user: instead', 'assistant: heard 3'])
      expect((await sessions.read('chat')).length).toBe(8)
      // The fork ends after a call, so a result is added for this call.
      await sessions.fork('chat', { at: 4, to: 'middle' })
      expect((await sessions.read('middle')).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool'])
      await sessions.fork('chat', { at: 0, to: 'empty' })
      expect([await sessions.read('empty'), (await sessions.get('empty'))?.messageCount]).toEqual([[], 0])
      const refused = [
        sessions.fork('none'),
        sessions.fork('chat', { to: 'whole' }),
        sessions.fork('chat', { at: 9 }),
        sessions.fork('chat', { at: -1 }),
      ]
      expect(await Promise.all(refused.map(refusalOf))).toEqual(['unknown_session', 'invalid_option', 'invalid_option', 'invalid_option'])
    },
  },
  {
    name: 'messages are appended outside runs: they are made valid, and refused while a run has the session',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      const call = { id: 'a', type: 'function' as const, function: { name: 'look', arguments: '{}' } }
      await sessions.append('chat', [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '', toolCalls: [call] },
      ])
      expect((await sessions.read('chat')).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
      const slow = runner.run('call wait', { session: 'chat' })
      await world.reached.promise
      expect(await refusalOf(world.open().sessions.append('chat', [{ role: 'user', content: 'me too' }]))).toBe('session_busy')
      world.gate.resolve()
      await slow
      await sessions.append('chat', [{ role: 'assistant', content: 'A person here.' }])
      expect((await runner.run('thanks', { session: 'chat' })).output).toBe('heard 9')
      expect(await refusalOf(sessions.append('chat', [{ role: 'nobody' } as never]))).toBe('invalid_message')
    },
  },
  {
    name: 'a deleted session is gone; a run that was in progress in it is not stored, and says so',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      await runner.run('one', { session: 'chat' })
      expect([await sessions.delete('chat'), await sessions.delete('chat')]).toEqual([true, false])
      expect([await sessions.get('chat'), await sessions.read('chat')]).toEqual([undefined, []])
      const slow = refusalOf(runner.run('call wait', { session: 'chat' }))
      await world.reached.promise
      expect(await world.open().sessions.delete('chat')).toBe(true)
      expect((await world.open().runner.run('new', { session: 'chat' })).output).toBe('heard 1')
      world.gate.resolve()
      expect(await slow).toBe('session_lost')
      expect(textsIn(await sessions.read('chat'))).toEqual(['user: new', 'assistant: heard 1'])
    },
  },
  {
    name: 'old sessions are pruned, but not those in use by a run',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      for (const session of ['a', 'b', 'c']) await runner.run('one', { session })
      await runner.run('call refund', { session: 'b' })
      const slow = runner.run('call wait', { session: 'c' })
      await world.reached.promise
      expect([await sessions.prune({ olderThanMs: 3_600_000 }), await sessions.prune({ olderThanMs: 0 })]).toEqual([0, 1])
      expect((await sessions.list()).sessions.map(({ id }) => id).sort()).toEqual(['b', 'c'])
      world.gate.resolve()
      await slow
      expect(await refusalOf(sessions.prune({} as never))).toBe('invalid_option')
    },
  },
  {
    name: 'messages that a compaction removed are not sent again but can still be read, also in a later fork',
    async run({ place, expect }) {
      const world = await place()
      const compaction = { maxTokens: 300, summarise: () => 'they said long things' }
      const { runner, sessions } = world.open({ compaction })
      for (let at = 0; at < 6; at++) await runner.run(`${at} ${'word '.repeat(60)}`, { session: 'chat' })
      const sent = world.sent.at(-1)?.length ?? 0
      expect([sent < 8, (await sessions.read('chat')).length]).toEqual([true, 12])
      // A runner without compaction doesn't send the removed messages either.
      const plain = world.open()
      await plain.runner.run('short', { session: 'chat' })
      const again = world.sent.at(-1) ?? []
      expect([again.length < 11, again.some((text) => text.includes('they said long things'))]).toEqual([true, true])
      const fork = await sessions.fork('chat')
      await plain.runner.run('short', { session: fork })
      expect(world.sent.at(-1)?.some((text) => text.includes('they said long things'))).toBe(true)
      const early = await sessions.fork('chat', { at: 2 })
      await plain.runner.run('short', { session: early })
      expect(world.sent.at(-1)?.length).toBe(3)
      const { messages } = await plain.runner.run('short', { session: 'chat' })
      expect(messages).toEqual(await sessions.read('chat'))
    },
  },
  {
    name: 'closed sessions are refused',
    async run({ place, expect }) {
      const { runner, sessions } = (await place()).open()
      await runner.run('one', { session: 'chat' })
      await sessions.close()
      expect([await refusalOf(sessions.get('chat')), await refusalOf(runner.run('two', { session: 'chat' }))]).toEqual([
        'session_failed',
        'session_failed',
      ])
    },
  },
]
