import type { RunQuery } from '../../agent/journal/journal.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { defineTool } from '../../tools/tool.ts'
import type { ScriptedTurn } from '../script.ts'
import { type JournalCase, type LocalProcess, refusalOf, type World } from './kit.ts'

const turns: readonly ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'work' }] }, { text: 'done' }]

/** Creates a tool that returns only after the test has opened its gate. */
function gate(world: World) {
  const begun = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const tool = defineTool({
    name: 'work',
    description: 'work',
    effect: 'idempotent',
    execute: async (_args, { idempotencyKey }) => {
      world.started.push({ tool: 'work', key: idempotencyKey })
      begun.resolve()
      await opened.promise
      return 'worked'
    },
  })
  return { tool, begun: begun.promise, open: opened.resolve }
}

export const ownerCases: readonly JournalCase[] = [
  {
    name: 'a run is executed by one process: others that start it wait for its result',
    async run({ place, expect }) {
      const world = await place()
      const { tool, begun, open } = gate(world)
      const first = world.open(turns, { tools: [tool] }).runner.run('go', { runId: 'run' })
      await begun
      const second = world.open(turns, { tools: [tool] }).runner
      expect(await second.recover()).toEqual([])
      const others = [second.run('go', { runId: 'run' }), second.resume('run')]
      expect((await second.runs.get('run'))?.status).toBe('running')
      open()
      expect((await Promise.all([first, ...others])).map(({ output }) => output)).toEqual(['done', 'done', 'done'])
      expect([world.startsOf('work'), world.requests]).toEqual([[1], 2])
    },
  },
  {
    name: 'runs are listed by session, by how they ended, by the model that was asked last, and by whether their process is alive',
    async run({ place, expect }) {
      const world = await place()
      const paused: ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'refund' }] }]
      await world.open([{ text: 'done' }]).runner.run('go', { runId: 'answered' })
      await world.open(paused, { model: world.model(paused, { model: 'large' }) }).runner.run('go', { runId: 'paused' })
      const gates = [gate(world), gate(world)] as const
      const [dying, living] = gates.map(({ tool }) => world.open(turns, { tools: [tool] })) as [LocalProcess, LocalProcess]
      const lost = refusalOf(dying.runner.run('go', { runId: 'gone' }))
      const result = living.runner.run('go', { runId: 'alive' })
      await Promise.all(gates.map(({ begun }) => begun))
      const inSession = world.place.open()
      await inSession.connect(async () => ({ stopReason: 'stopped' })).start('said', null, undefined, 'chat-1')
      await dying.journal.close()
      expect(await lost).toBe('journal_failed')
      const { runs } = world.open(turns).runner
      const list = async (query: RunQuery) => (await runs.list(query)).runs.map(({ runId }) => runId)
      expect(await list({ process: 'gone' })).toEqual(['gone'])
      expect(await list({ process: 'alive', status: 'running' })).toEqual(['alive'])
      expect([(await runs.get('gone'))?.process, (await runs.get('alive'))?.process]).toEqual(['gone', 'alive'])
      expect(await list({ session: 'chat-1' })).toEqual(['said'])
      expect(await list({ session: 'chat' })).toEqual([])
      expect(await list({ stopReason: 'answered' })).toEqual(['answered'])
      expect(await list({ stopReason: 'paused', model: 'scripted/large' })).toEqual(['paused'])
      expect(await list({ model: 'scripted/scripted-model' })).toEqual(['answered'])
      const shown = (await runs.list()).runs.map(({ runId, process, session, model }) => [runId, process ?? session ?? model])
      expect(Object.fromEntries(shown)).toEqual({
        said: 'chat-1',
        alive: 'alive',
        gone: 'gone',
        paused: 'scripted/large',
        answered: 'scripted/scripted-model',
      })
      for (const wrong of [{ process: 'dead' }, { session: 1 }, { model: null }])
        expect(await refusalOf(runs.list(wrong as never))).toBe('invalid_option')
      for (const { open } of gates) open()
      expect((await result).output).toBe('done')
      await inSession.close()
    },
  },
  {
    name: 'a run is streamed from its record in another process, during the run and after its end',
    async run({ place, expect }) {
      const world = await place()
      const { tool, begun, open } = gate(world)
      const first = world.open([{ text: 'Well. ', toolCalls: [{ id: 'a', name: 'work' }] }, { text: 'done' }], { tools: [tool] }).runner
      const result = first.run('go', { runId: 'run' })
      await begun
      const { runs } = world.open(turns).runner
      const told: string[] = []
      for await (const event of runs.stream('run')) {
        told.push(event.type === 'TEXT_DELTA' ? event.text : event.type)
        if (event.type === 'MODEL_END') open()
      }
      await result
      const inputs = ['TOOL_INPUT_START', 'TOOL_INPUT_DELTA']
      const ending = ['TOOL_CALL_START', 'TOOL_CALL_END', 'MODEL_START', 'done', 'MODEL_END', 'RUN_END']
      const whole = ['RUN_START', 'MODEL_START', 'Well. ', ...inputs, 'MODEL_END', ...ending]
      expect(told).toEqual(whole)
      const later: string[] = []
      for await (const event of runs.stream('run')) later.push(event.type === 'TEXT_DELTA' ? event.text : event.type)
      expect(later).toEqual(whole)
      expect(await refusalOf(runs.stream('unknown').result)).toBe('unknown_run')
    },
  },
  {
    name: 'a caller that waits for a run of another process can stop waiting: the run continues',
    async run({ place, expect }) {
      const world = await place()
      const { tool, begun, open } = gate(world)
      const first = world.open(turns, { tools: [tool] }).runner.run('go', { runId: 'run' })
      await begun
      const controller = new AbortController()
      const waiting = refusalOf(world.open(turns).runner.resume('run', { signal: controller.signal }))
      const started = refusalOf(world.open(turns).runner.run('go', { runId: 'run', signal: controller.signal }))
      controller.abort()
      expect([await waiting, await started]).toEqual(['aborted', 'aborted'])
      open()
      expect((await first).output).toBe('done')
    },
  },
  {
    name: 'started twice at the same time, in one process or two, a run is executed once',
    async run({ place, expect }) {
      const world = await place()
      const runners = [world.open(turns).runner, world.open(turns).runner]
      const results = await Promise.all([...runners, ...runners].map((runner) => runner.run('go', { runId: 'run' })))
      expect(results.map(({ output }) => output)).toEqual(['done', 'done', 'done', 'done'])
      expect(world.requests).toBe(2)
    },
  },
  {
    name: 'nothing is recorded for a process that has lost its run',
    async run({ place, expect }) {
      const world = await place()
      const { tool, begun, open } = gate(world)
      const first = world.open(turns, { tools: [tool] })
      const lost = refusalOf(first.runner.run('go', { runId: 'run' }))
      await begun
      await first.journal.close()
      const second = world.open(turns, { tools: [{ ...tool, execute: () => 'by the second' }] }).runner
      expect(await second.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
      open()
      expect(await lost).toBe('journal_failed')
      expect((await world.open(turns).runner.resume('run')).toolCalls.map(({ content }) => content)).toEqual(['by the second'])
    },
  },
  {
    name: 'a closed runner releases its run: the call in flight is not recorded, and another process continues the run',
    async run({ place, expect }) {
      const world = await place()
      const { tool, begun, open } = gate(world)
      const first = world.open(turns, { tools: [tool] })
      const lost = refusalOf(first.runner.run('go', { runId: 'run' }))
      await begun
      await first.runner.close({ drainMs: 0 })
      expect(['runner_closed', 'journal_failed'].includes(String(await lost))).toBe(true)
      open()
      const second = world.open(turns, { tools: [{ ...tool, execute: () => 'by the second' }] }).runner
      expect((await second.runs.get('run'))?.status).toBe('running')
      expect(await second.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
      const { toolCalls } = await second.resume('run')
      expect(toolCalls.map(({ outcome, content }) => [outcome, content])).toEqual([['ok', 'by the second']])
    },
  },
  {
    name: 'a run is cancelled from another process, and ends aborted',
    async run({ place, expect }) {
      const world = await place()
      const { tool, begun } = gate(world)
      const first = world.open(turns, { tools: [tool] }).runner.run('go', { runId: 'run' })
      await begun
      const { runner } = world.open(turns, { tools: [tool] })
      await runner.runs.cancel('run', 'not needed')
      const { stopReason, error } = await first
      expect([stopReason, error?.message]).toEqual(['aborted', 'The run was aborted: not needed'])
      expect((await runner.resume('run')).stopReason).toBe('aborted')
      await runner.runs.cancel('run')
      expect((await runner.runs.get('run'))?.status).toBe('ended')
    },
  },
  {
    name: 'a waiting run is cancelled: its calls never run',
    async run({ place, expect }) {
      const world = await place()
      const script: ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'refund' }] }, { text: 'done' }]
      const { pending } = await world.open(script).runner.run('go', { runId: 'run' })
      const { runner } = world.open(script)
      await runner.runs.cancel('run')
      const { stopReason, toolCalls } = await runner.resume('run')
      expect([stopReason, toolCalls.map(({ outcome }) => outcome)]).toEqual(['aborted', ['cancelled']])
      const decisions = pending.map((item) => ({ ...item, approved: true as const }))
      expect(await refusalOf(runner.resume('run', { decisions }))).toBe('decision_refused')
      expect(world.started).toEqual([])
    },
  },
  {
    name: 'a run that can’t continue says why, and continues once the cause is fixed',
    async run({ place, expect }) {
      const world = await place()
      const script: ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'look' }] }, { text: 'done' }]
      const priced = world.model(script, { capabilities: { nativeTools: true, price: { input: 1, output: 1 } } })
      const { runner, journal, death } = world.open(script, { model: priced, dieAt: 4 })
      await Promise.race([runner.run('go', { runId: 'run', limits: { costUsd: 1 } }), death.happened])
      await journal.close()
      // The run can't continue here, because it has a cost limit, and the model of this process has no price.
      const broken = world.open(script).runner
      const recovered = await broken.recover()
      expect(recovered.map(({ runId, error }) => [runId, error instanceof InvalidOptionError])).toEqual([['run', true]])
      const { status, problem = '' } = (await broken.runs.get('run')) ?? {}
      expect([status, problem.includes('costUsd')]).toEqual(['running', true])
      const right = world.open(script, { model: priced }).runner
      expect(await right.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
      expect((await right.runs.get('run'))?.problem).toBe(undefined)
    },
  },
  {
    name: 'a run that was started with a context is not executed without one, says why, and continues once it is restored',
    async run({ place, expect }) {
      const world = await place()
      const script: ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'look' }] }, { text: 'done' }]
      const { runner, journal, death } = world.open(script, { dieAt: 4 })
      await Promise.race([runner.run('go', { runId: 'run', context: 'given', metadata: { user: 'ann' } }), death.happened])
      await journal.close()
      const { requests } = world
      const broken = world.open(script).runner
      expect(await refusalOf(broken.resume('run'))).toBe('not_restored')
      expect((await broken.recover()).map(({ error }) => (error as { code?: string }).code)).toEqual(['not_restored'])
      const { status, problem = '' } = (await broken.runs.get('run')) ?? {}
      expect([status, problem.includes('`context`'), world.requests, world.started]).toEqual(['running', true, requests, []])
      const seen: unknown[] = []
      const tools = [defineTool({ ...gate(world).tool, name: 'look', execute: (_args, { context }) => seen.push(context) })]
      const right = world.open(script, { tools, restore: async ({ runId, metadata }) => ({ context: [runId, metadata?.user] }) })
      expect(await right.runner.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
      expect(seen).toEqual([['run', 'ann']])
    },
  },
  {
    name: 'the id of a known run is refused with another input, session or metadata, and returns its result with the same',
    async run({ place, expect }) {
      const world = await place()
      const script: ScriptedTurn[] = [{ text: 'done' }]
      const metadata = { tenant: 'a' }
      await world.open(script).runner.run('go', { runId: 'run', metadata })
      const { runner } = world.open(script)
      for (const [input, options] of [
        ['show me', { metadata }],
        ['go', { metadata: { tenant: 'b' } }],
        ['go', {}],
        ['go', { metadata, messages: [{ role: 'user' as const, content: 'Hi' }] }],
      ] as const)
        expect(await refusalOf(runner.run(input, { runId: 'run', ...options }))).toBe('run_id_taken')
      expect((await runner.run('go', { runId: 'run', metadata })).output).toBe('done')
      expect(world.requests).toBe(1)
      // If two processes start a run with the same id at the same time, only one of them may succeed.
      const two = [world.open(script).runner.run('a', { runId: 'two' }), world.open(script).runner.run('b', { runId: 'two' })]
      const ends = await Promise.allSettled(two)
      const refused = ends.filter((end) => end.status === 'rejected').map(({ reason }) => (reason as { code?: string }).code)
      expect([ends.filter(({ status }) => status === 'fulfilled').length, refused]).toEqual([1, ['run_id_taken']])
    },
  },
]
