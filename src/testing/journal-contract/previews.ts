import type { RunResult } from '../../agent/types/options.ts'
import { defineTool } from '../../tools/tool.ts'
import type { ScriptedTurn } from '../script.ts'
import { comparable, type JournalCase, type JournalKit, type World } from './kit.ts'

/** Two turns with effects, and the answer. */
const turns: readonly ScriptedTurn[] = [
  {
    toolCalls: [
      { id: 'a', name: 'look', args: { n: 1 } },
      { id: 'b', name: 'pay', args: { n: 2 } },
      { id: 'c', name: 'refund', args: { n: 3 } },
    ],
  },
  {
    toolCalls: [
      { id: 'd', name: 'put', args: { n: 4 } },
      { id: 'e', name: 'pay', args: { n: 5 } },
    ],
  },
  { text: 'plan or done' },
]

/** The id of the call that the user does not approve. */
const unwanted = 'c'

/**
 * Simulates one process: starts or resumes the preview, and decides on its plan. If the process dies before the run ends, there is no
 * result.
 */
async function live(world: World, runId: string, dieAt: number): Promise<{ result?: RunResult; moments: number }> {
  const { runner, journal, death } = world.open(turns, { dieAt, effects: 'preview' })
  const work = async (): Promise<RunResult> => {
    await runner.recover()
    const known = await runner.runs.get(runId)
    const result = known === undefined ? await runner.run('go', { runId }) : await runner.resume(runId)
    if (result.pending.length === 0) return result
    const decisions = result.pending.map((item) => ({ ...item, approved: item.toolCallId !== unwanted }))
    return runner.resume(runId, { decisions })
  }
  const result = await Promise.race([work(), death.happened])
  await journal.close()
  return { moments: death.moments, ...(result === 'died' ? {} : { result }) }
}

function checkWorld({ expect }: JournalKit, world: World, runId: string, result: RunResult, whole: RunResult): void {
  const own = world.started.filter(({ key }) => key.startsWith(`${runId}/`))
  const keys = own.filter(({ tool }) => tool !== 'look').map(({ key }) => key.slice(runId.length + 1))
  const uncertain = result.toolCalls.filter(({ outcome }) => outcome === 'uncertain')
  expect(result.stopReason).toBe('answered')
  // Only an unsafe call that was running when the process died may be missing.
  const carriedOut = ['1.tool.1', '2.tool.0', '2.tool.1']
  expect(carriedOut.filter((key) => !keys.includes(key)).length <= uncertain.length).toBe(true)
  // The calls run in order, and only an idempotent call may be repeated.
  expect([...new Set(keys)]).toEqual(carriedOut.filter((key) => keys.includes(key)))
  expect(keys.filter((key) => key !== '2.tool.0').every((key) => keys.indexOf(key) === keys.lastIndexOf(key))).toBe(true)
  expect(uncertain.length <= 1 && uncertain.every(({ tool }) => tool === 'pay')).toBe(true)
  if (uncertain.length === 0) expect(comparable(result)).toEqual(comparable(whole))
}

export const previewCases: readonly JournalCase[] = [
  {
    name: 'a preview carries out nothing before its whole plan is decided, then what was approved, in order',
    async run({ place, expect }) {
      const world = await place()
      const { runner } = world.open(turns, { effects: 'preview' })
      const plan = await runner.run('go', { runId: 'r' })
      expect(plan.pending.map(({ toolCallId, plan }) => [toolCallId, plan])).toEqual([
        ['b', { at: 1, of: 4 }],
        ['c', { at: 2, of: 4 }],
        ['d', { at: 3, of: 4 }],
        ['e', { at: 4, of: 4 }],
      ])
      const [first, ...others] = plan.pending.map((item) => ({ ...item, approved: item.toolCallId !== unwanted }))
      if (first === undefined) throw new Error('Expected a plan')
      const part = await world.open(turns, { effects: 'preview' }).runner.resume('r', { decisions: [first] })
      expect([part.stopReason, part.pending.map(({ plan }) => plan?.at)]).toEqual(['paused', [2, 3, 4]])
      expect(world.started.filter(({ tool }) => tool !== 'look')).toEqual([])
      const result = await world.open(turns, { effects: 'preview' }).runner.resume('r', { decisions: others })
      expect([result.stopReason, result.pending]).toEqual(['answered', []])
      expect(world.started.map(({ key }) => key)).toEqual(['r/1.tool.0', 'r/1.tool.1', 'r/2.tool.0', 'r/2.tool.1'])
    },
  },
  {
    name: 'a preview killed at any moment carries out each approved call once and in order, and nothing that was not approved',
    async run(kit) {
      const world = await kit.place()
      const { result: whole, moments } = await live(world, 'whole', Number.POSITIVE_INFINITY)
      if (whole === undefined) throw new Error('Expected the run to end')
      checkWorld(kit, world, 'whole', whole, whole)
      kit.expect(moments > 60).toBe(true)
      for (let dieAt = 1; dieAt <= moments; dieAt++) {
        const runId = `killed-${dieAt}`
        await live(world, runId, dieAt)
        const { result } = await live(world, runId, Number.POSITIVE_INFINITY)
        if (result === undefined) throw new Error(`Expected the run killed at moment ${dieAt} to end`)
        checkWorld(kit, world, runId, result, whole)
      }
    },
  },
  {
    name: 'the text of a tool’s `preview` is recorded: it is not asked again',
    async run({ place, expect }) {
      const world = await place()
      let asked = 0
      const send = defineTool({
        name: 'send',
        description: 'send',
        preview: () => {
          asked++
          return 'would send'
        },
        execute: () => 'sent',
      })
      const script: ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'send' }] }, { text: 'done' }]
      const options = { effects: 'preview' as const, tools: [send] }
      const plan = await world.open(script, options).runner.run('go', { runId: 'r' })
      const decisions = plan.pending.map((item) => ({ ...item, approved: true }))
      const result = await world.open(script, options).runner.resume('r', { decisions })
      expect([asked, result.toolCalls.map(({ content }) => content)]).toEqual([1, ['sent']])
    },
  },
]
