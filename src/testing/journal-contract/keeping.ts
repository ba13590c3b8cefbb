import type { RunQuery } from '../../agent/journal/journal.ts'
import { keptId } from '../../agent/journal/kept-values.ts'
import { defineTool } from '../../tools/tool.ts'
import type { ScriptedTurn } from '../script.ts'
import { comparable, type JournalCase, refusalOf } from './kit.ts'

const answer: readonly ScriptedTurn[] = [{ text: 'done' }]
const waits: readonly ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'refund' }] }, { text: 'done' }]

/** Cases about finding, listing and deleting stored runs. */
export const keepingCases: readonly JournalCase[] = [
  {
    name: 'runs are listed newest first, in pages, by status and by time',
    async run({ place, expect }) {
      const world = await place()
      const { runner } = world.open(answer)
      for (const runId of ['1', '2', '3', '4']) await runner.run('go', { runId })
      const waiting = world.open(waits).runner
      await waiting.run('go', { runId: '5' })
      const ids = ({ runs }: { runs: { runId: string }[] }) => runs.map(({ runId }) => runId)
      expect(ids(await runner.runs.list())).toEqual(['5', '4', '3', '2', '1'])
      const first = await runner.runs.list({ limit: 2 })
      await runner.run('go', { runId: '6' })
      const second = await runner.runs.list({ limit: 2, cursor: first.next })
      const third = await runner.runs.list({ limit: 2, cursor: second.next })
      expect([ids(first), ids(second), ids(third), third.next]).toEqual([['5', '4'], ['3', '2'], ['1'], undefined])
      expect(ids(await runner.runs.list({ status: 'waiting' }))).toEqual(['5'])
      const { runs } = await runner.runs.list({ status: 'ended', limit: 1 })
      expect(runs.map(({ runId, status, stopReason }) => [runId, status, stopReason])).toEqual([['6', 'ended', 'answered']])
      expect(ids(await runner.runs.list({ createdBefore: 1 }))).toEqual([])
      expect(ids(await runner.runs.list({ createdAfter: 1, limit: 1 }))).toEqual(['6'])
    },
  },
  {
    name: 'runs are listed by fields of their metadata, which the list shows',
    async run({ place, expect }) {
      const world = await place()
      const { runner } = world.open(answer)
      const metadata = (org: string, tier: number | string) => ({ metadata: { org, tier, about: { deep: [1, 'x'] } } })
      for (const runId of ['1', '3']) await runner.run('go', { runId, ...metadata('acme', 7) })
      await runner.run('go', { runId: '2', ...metadata('zeta', '7') })
      await runner.run('go', { runId: '4' })
      await world.open(waits).runner.run('go', { runId: '5', ...metadata('acme', 8) })
      const other = world.open(answer).runner
      const list = async (query: RunQuery) => (await other.runs.list(query)).runs.map(({ runId }) => runId)
      expect(await list({ metadata: { org: 'acme' } })).toEqual(['5', '3', '1'])
      expect(await list({ metadata: { org: 'acme', tier: 7 } })).toEqual(['3', '1'])
      // Metadata values are compared as strings, so `7` and `'7'` are equal.
      expect(await list({ metadata: { tier: '7' } })).toEqual(['2', '3', '1'])
      expect(await list({ metadata: { org: 'acme' }, status: 'waiting' })).toEqual(['5'])
      expect(await list({ metadata: { org: 'ac' } })).toEqual([])
      expect(await list({ metadata: {} })).toEqual(['5', '4', '2', '3', '1'])
      const { runs, next } = await other.runs.list({ metadata: { org: 'acme' }, limit: 2 })
      expect(runs.map((run) => run.metadata)).toEqual([metadata('acme', 8).metadata, metadata('acme', 7).metadata])
      expect(await list({ metadata: { org: 'acme' }, cursor: next })).toEqual(['1'])
      expect((await other.runs.get('3'))?.metadata).toEqual(metadata('acme', 7).metadata)
      expect('metadata' in ((await other.runs.get('4')) ?? {})).toBe(false)
      for (const wrong of ['acme', ['acme'], { org: null }, { org: { deep: 1 } }])
        expect(await refusalOf(other.runs.list({ metadata: wrong as never }))).toBe('invalid_option')
      expect(await other.runs.prune({ olderThanMs: 0 })).toBe(4)
      expect(await list({ metadata: { org: 'acme' } })).toEqual(['5'])
    },
  },
  {
    name: 'ended runs are deleted by age and by count, others never',
    async run({ place, expect }) {
      const world = await place()
      const { runner } = world.open(answer)
      for (const runId of ['1', '2', '3']) await runner.run('go', { runId })
      await world.open(waits).runner.run('go', { runId: '4' })
      expect(await runner.runs.prune({ olderThanMs: 3_600_000, keep: 3 })).toBe(0)
      expect(await runner.runs.prune({ keep: 1 })).toBe(2)
      expect(await runner.runs.prune({ olderThanMs: 0 })).toBe(1)
      expect((await runner.runs.list()).runs.map(({ runId }) => runId)).toEqual(['4'])
      expect(await refusalOf(runner.resume('1'))).toBe('unknown_run')
      expect(await refusalOf(runner.runs.prune({}))).toBe('invalid_option')
    },
  },
  {
    name: 'an unknown run is refused',
    async run({ place, expect }) {
      const { runner } = (await place()).open(answer)
      expect(await runner.runs.get('nobody')).toBe(undefined)
      expect(await refusalOf(runner.resume('nobody'))).toBe('unknown_run')
      expect(await refusalOf(runner.runs.cancel('nobody'))).toBe('unknown_run')
    },
  },
  {
    name: 'values are read back unchanged: texts of every kind, and large ones',
    async run({ place, expect }) {
      const world = await place()
      const text = `\u0000 “ü” 🙂 \n ' " \\ ${'x'.repeat(300_000)}`
      const script: ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'look', args: { text } }] }, { text }]
      const ended = await world.open(script).runner.run(text, { runId: `run ' \u0001 ü` })
      const again = await world.open(script).runner.resume(`run ' \u0001 ü`)
      expect([again.messages, again.output]).toEqual([ended.messages, text])
    },
  },
  {
    name: 'a long result is stored beside the steps and read in parts, even by the process that resumes the run',
    async run({ place, expect }) {
      const text = Array.from({ length: 3_000 }, (_, n) => `line ${n + 1} \u0000 🙂 ${n === 2_345 ? 'NEEDLE' : 'hay'}`).join('\n')
      const script: ScriptedTurn[] = [
        { toolCalls: [{ id: 'long', name: 'read_log' }] },
        { toolCalls: [{ id: 'find', name: 'read_result', args: { id: keptId(text), search: 'needle' } }] },
        { toolCalls: [{ id: 'part', name: 'read_result', args: { id: keptId(text), line: 2_999 } }] },
        { text: 'done' },
      ]
      const readLog = defineTool({ name: 'read_log', description: 'x', effect: 'read', execute: () => text })
      const options = { tools: [readLog], largeResults: { overBytes: 2_000, shownBytes: 500 } }
      const world = await place()
      const whole = world.open(script, options)
      const ended = await whole.runner.run('go', { runId: 'whole' })
      const [, found = '', part = ''] = ended.toolCalls.map(({ content }) => String(content))
      expect([found.includes('line 2346 \u0000 🙂 NEEDLE'), part.includes('line 3000 \u0000 🙂 hay')]).toEqual([true, true])
      expect(whole.death.recorded.every((size) => size < 4_000)).toBe(true)
      // A process can die at three moments of each step. This loop tests every fourth moment, which covers all kinds of steps.
      for (let dieAt = 2; dieAt <= whole.death.moments; dieAt += 4) {
        const runId = `run-${dieAt}`
        const dying = world.open(script, { ...options, dieAt })
        await Promise.race([dying.runner.run('go', { runId }), dying.death.happened])
        await dying.journal.close()
        const { runner, journal } = world.open(script, options)
        const known = await runner.runs.get(runId)
        const result = known === undefined ? await runner.run('go', { runId }) : await runner.resume(runId)
        expect(comparable(result)).toEqual(comparable(ended))
        await journal.close()
      }
    },
  },
  {
    name: 'the storage of a run is limited: a result that does not fit is cut',
    async run({ place, expect }) {
      const script: ScriptedTurn[] = [{ toolCalls: ['a', 'b', 'c'].map((id) => ({ id, name: 'read_log' })) }, { text: 'done' }]
      const readLog = defineTool({
        name: 'read_log',
        description: 'x',
        parallel: false,
        execute: (_, { toolCallId }) => toolCallId + 'é'.repeat(1_000),
      })
      const largeResults = { overBytes: 1_000, shownBytes: 500, keptBytes: 5_000 }
      const { runner } = (await place()).open(script, { tools: [readLog], largeResults, maxResultBytes: 1_500 })
      const { toolCalls } = await runner.run('go')
      // The results are stored concurrently, and the last result doesn't fit into `keptBytes`.
      const told = toolCalls.map(({ content }) => /Shortened|bytes cut here/.exec(String(content))?.[0])
      expect(told.sort()).toEqual(['Shortened', 'Shortened', 'bytes cut here'])
    },
  },
]
