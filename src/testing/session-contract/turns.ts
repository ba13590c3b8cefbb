import type { ChatMessage } from '../../core/messages.ts'
import { defineTool } from '../../tools/tool.ts'
import { refusalOf } from '../journal-contract/kit.ts'
import { MemoryRuns } from '../memory-journal.ts'
import { type SessionCase, type SessionProcess, type SessionWorld, textsIn } from './kit.ts'

/** Returns the user's texts if each run's messages follow each other, otherwise all texts. */
function wholeRuns(messages: readonly ChatMessage[]): string[] {
  const texts = textsIn(messages)
  const users = texts.filter((_text, at) => at % 2 === 0)
  const answers = texts.filter((_text, at) => at % 2 === 1)
  const isWhole = answers.every((text, at) => text === `assistant: heard ${2 * at + 1}`)
  return isWhole ? users.map((text) => text.replace('user: ', '')) : texts
}

const slowRun = async (world: SessionWorld, { runner }: SessionProcess): Promise<{ ended: Promise<string> }> => {
  const ended = runner.run('call wait', { session: 'chat', runId: 'slow' }).then(({ output }) => output)
  await world.reached.promise
  return { ended }
}

const slowTexts = ['user: call wait', 'assistant: ', 'tool: did wait', 'assistant: done']

export const turnCases: readonly SessionCase[] = [
  {
    name: 'concurrent runs wait for each other, in order of arrival',
    async run({ place, expect }) {
      const world = await place()
      const process = world.open()
      const { ended } = await slowRun(world, process)
      const { status, runId, messageCount } = (await process.sessions.get('chat')) ?? {}
      expect([status, runId, messageCount]).toEqual(['running', 'slow', 0])
      const inputs = Array.from({ length: 10 }, (_, at) => `run ${at}`)
      const others = inputs.map((input) => process.runner.run(input, { session: 'chat' }))
      world.gate.resolve()
      await Promise.all([ended, ...others])
      const texts = textsIn(await process.sessions.read('chat'))
      expect(texts.slice(0, 4)).toEqual(slowTexts)
      expect(texts.filter((text) => text.startsWith('user: run')).map((text) => text.replace('user: ', ''))).toEqual(inputs)
    },
  },
  {
    name: 'concurrent runs of several processes are each stored once and completely, and have seen all runs before them',
    async run({ place, expect }) {
      const world = await place()
      const processes = [world.open(), world.open(), world.open()]
      const inputs = Array.from({ length: 15 }, (_, at) => `run ${at}`)
      await Promise.all(inputs.map((input, at) => processes[at % 3]?.runner.run(input, { session: 'chat' })))
      const seen = wholeRuns((await processes[0]?.sessions.read('chat')) ?? [])
      expect([...seen].sort()).toEqual([...inputs].sort())
    },
  },
  {
    name: 'with `refuse`, a second run is refused, in this process or another, and nothing of it is sent or stored',
    async run({ place, expect }) {
      const world = await place()
      const [first, second] = [world.open(), world.open()]
      const { ended } = await slowRun(world, first)
      const requests = world.sent.length
      for (const { runner } of [first, second]) {
        expect(await refusalOf(runner.run('me too', { session: { id: 'chat', onBusy: 'refuse' } }))).toBe('session_busy')
      }
      expect(world.sent.length).toBe(requests)
      // Another session is not blocked by the run.
      expect((await second.runner.run('hi', { session: { id: 'other', onBusy: 'refuse' } })).output).toBe('heard 1')
      world.gate.resolve()
      await ended
      expect(textsIn(await second.sessions.read('chat'))).toEqual(slowTexts)
      expect((await second.runner.run('now', { session: { id: 'chat', onBusy: 'refuse' } })).output).toBe('heard 5')
    },
  },
  {
    name: 'a run can stop waiting: it ends aborted or by its deadline, and the next runs get their turn',
    async run({ place, expect }) {
      const world = await place()
      const [first, second] = [world.open(), world.open()]
      const { ended } = await slowRun(world, first)
      const controller = new AbortController()
      const waiting = [first, second].map(({ runner }) => runner.run('never', { session: 'chat', signal: controller.signal }))
      const late = second.runner.run('never', { session: 'chat', limits: { deadlineMs: 20 } })
      const last = first.runner.run('last', { session: 'chat' })
      controller.abort()
      expect((await Promise.all([...waiting, late])).map(({ stopReason }) => stopReason)).toEqual(['aborted', 'aborted', 'deadline'])
      world.gate.resolve()
      await ended
      expect((await last).output).toBe('heard 5')
    },
  },
  {
    name: 'a process that dies releases its sessions, which are unchanged',
    async run({ place, expect }) {
      const world = await place()
      const [first, second] = [world.open(), world.open()]
      await first.runner.run('before', { session: 'chat' })
      const lost = slowRun(world, first).then(({ ended }) => refusalOf(ended))
      await world.reached.promise
      await first.kill()
      expect((await second.runner.run('after', { session: 'chat' })).output).toBe('heard 3')
      world.gate.resolve()
      expect(await lost).toBe('session_failed')
      expect(wholeRuns(await second.sessions.read('chat'))).toEqual(['before', 'after'])
    },
  },
  {
    name: 'a run that is started inside a call of a run of the same session is refused instead of waiting for it',
    async run({ place, expect }) {
      const world = await place()
      const { sessions, runner } = world.open()
      const codes: unknown[] = []
      const nest = defineTool({
        name: 'nest',
        description: 'nests',
        execute: async (_args, parent) => {
          codes.push(await refusalOf(runner.run('inner', { session: 'chat', parent })))
          return (await runner.run('inner', { session: 'inner', parent })).output
        },
      })
      await runner.run('call nest', { session: 'chat', tools: [nest] })
      expect([codes, wholeRuns(await sessions.read('inner'))]).toEqual([['invalid_option'], ['inner']])
    },
  },
  {
    name: 'the messages of a run are stored however it ends; a run without a response leaves the session unchanged',
    async run({ place, expect }) {
      const world = await place()
      const process = world.open()
      const { runner, sessions } = process
      expect((await runner.run('fail', { session: 'new' })).stopReason).toBe('model_error')
      expect([await sessions.get('new'), (await sessions.list()).sessions]).toEqual([undefined, []])
      await runner.run('one', { session: 'chat' })
      const { updatedAt } = (await sessions.get('chat')) ?? {}
      const { stopReason, messages } = await runner.run('fail', { session: 'chat' })
      expect([stopReason, messages.length, (await sessions.get('chat'))?.updatedAt]).toEqual(['model_error', 3, updatedAt])
      const controller = new AbortController()
      const slow = runner.run('call wait', { session: 'chat', signal: controller.signal })
      await world.reached.promise
      controller.abort()
      expect((await slow).stopReason).toBe('aborted')
      expect((await sessions.read('chat')).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool'])
      expect((await runner.run('call look', { session: 'chat', maxIterations: 1 })).stopReason).toBe('max_iterations')
      expect((await runner.run('go on', { session: 'chat' })).output).toBe('heard 9')
    },
  },
  {
    name: 'a run’s id is in a session once: another run with the same id is refused, or returns the recorded result under a journal',
    async run({ place, expect }) {
      const world = await place()
      const { runner, sessions } = world.open()
      await runner.run('one', { session: 'chat', runId: 'run' })
      expect(await refusalOf(runner.run('one', { session: 'chat', runId: 'run' }))).toBe('invalid_option')
      const runs = new MemoryRuns()
      const recording = [world.open({ runs }), world.open({ runs })]
      const results = await Promise.all(
        [...recording, ...recording].map((process) => process.runner.run('two', { session: 'chat', runId: 'recorded' })),
      )
      expect(results.map(({ output, messages }) => [output, messages.length])).toEqual(results.map(() => ['heard 3', 4]))
      expect(wholeRuns(await sessions.read('chat'))).toEqual(['one', 'two'])
    },
  },
]
