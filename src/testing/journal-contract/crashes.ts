import { AgentRunner } from '../../agent/agent-runner.ts'
import type { RunResult } from '../../agent/types/options.ts'
import type { ScriptedTurn } from '../script.ts'
import { comparable, type JournalCase, type JournalKit, usageOfTurn, type World } from './kit.ts'

/** Turns with several calls. Some of the calls wait for approval, one after another. */
const turns: readonly ScriptedTurn[] = [
  {
    text: 'first',
    toolCalls: [
      { id: 'a', name: 'look', args: { n: 1 } },
      { id: 'b', name: 'pay', args: { n: 2 } },
    ],
  },
  {
    toolCalls: [
      { id: 'c', name: 'refund', args: { n: 3 } },
      { id: 'd', name: 'put', args: { n: 4 } },
      { id: 'e', name: 'refund', args: { n: 5 } },
    ],
  },
  { toolCalls: [{ id: 'f', name: 'nope' }] },
  { text: 'done' },
]

/**
 * Simulates one process: starts or resumes the run, and approves pending calls one at a time. If the process dies before the run ends,
 * there is no result.
 */
async function live(world: World, runId: string, dieAt: number): Promise<{ result?: RunResult; moments: number }> {
  const { runner, journal, death } = world.open(turns, { dieAt })
  const work = async (): Promise<RunResult> => {
    await runner.recover()
    const known = await runner.runs.get(runId)
    let result = known === undefined ? await runner.run('go', { runId }) : await runner.resume(runId)
    for (let item = result.pending[0]; item !== undefined; item = result.pending[0]) {
      result = await runner.resume(runId, { decisions: [{ ...item, approved: true }] })
    }
    return result
  }
  const result = await Promise.race([work(), death.happened])
  await journal.close()
  return { moments: death.moments, ...(result === 'died' ? {} : { result }) }
}

/** Runs the script without interruption. The result is compared with those of interrupted runs. */
async function reference({ place }: JournalKit): Promise<{ result: RunResult; moments: number; world: World }> {
  const world = await place()
  const { result, moments } = await live(world, 'whole', Number.POSITIVE_INFINITY)
  if (result === undefined) throw new Error('Expected the run to end')
  return { result, moments, world }
}

function checkWorld({ expect }: JournalKit, world: World, result: RunResult, whole: RunResult): void {
  expect(world.startsOf('pay', 'refund').every((starts) => starts === 1)).toBe(true)
  const uncertain = result.toolCalls.filter(({ outcome }) => outcome === 'uncertain')
  // If a call was running when the process died, its outcome is `uncertain`, so the result differs from that of an uninterrupted run.
  if (uncertain.length === 0) expect(comparable(result)).toEqual(comparable(whole))
  expect(uncertain.every(({ tool }) => tool === 'pay' || tool === 'refund')).toBe(true)
  expect(result.stopReason).toBe('answered')
  expect(result.toolCalls.map(({ id }) => id)).toEqual(whole.toolCalls.map(({ id }) => id))
}

export const crashCases: readonly JournalCase[] = [
  {
    name: 'a run ends as it would without a journal',
    async run({ place, expect }) {
      const script: ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'look' }] }, { text: 'done' }]
      const world = await place()
      const recorded = await world.open(script).runner.run('go', { runId: 'run' })
      const plain = await new AgentRunner({ model: world.model(script), tools: world.tools() }).run('go', { runId: 'run' })
      expect(comparable(recorded)).toEqual(comparable(plain))
    },
  },
  {
    name: 'killed at any moment, a run is resumed by another process and ends the same: no recorded call runs again, no unsafe one runs twice',
    async run(kit) {
      const whole = await reference(kit)
      kit.expect(whole.moments > 40).toBe(true)
      for (let dieAt = 1; dieAt <= whole.moments; dieAt++) {
        const runId = `killed-${dieAt}`
        await live(whole.world, runId, dieAt)
        const { result } = await live(whole.world, runId, Number.POSITIVE_INFINITY)
        if (result === undefined) throw new Error(`Expected the run killed at moment ${dieAt} to end`)
        checkWorld(kit, whole.world, result, whole.result)
      }
    },
  },
  {
    name: 'killed repeatedly, even within one turn, a run advances with each process and ends the same',
    async run(kit) {
      const whole = await reference(kit)
      for (const dieAt of [5, 7, 11, 12]) {
        let result: RunResult | undefined
        // Replaying the record also takes moments, so each process lives longer than the last.
        for (let lives = 0; result === undefined; lives++) {
          if (lives > whole.moments) throw new Error('Expected every process to advance the run')
          result = (await live(whole.world, `every-${dieAt}`, dieAt + lives * 4)).result
        }
        checkWorld(kit, whole.world, result, whole.result)
      }
    },
  },
  {
    name: 'usage is carried over',
    async run(kit) {
      const { result, world } = await reference(kit)
      kit.expect(world.requests).toBe(turns.length)
      kit.expect(result.usage).toEqual({
        inputTokens: usageOfTurn.inputTokens * turns.length,
        outputTokens: usageOfTurn.outputTokens * turns.length,
        totalTokens: usageOfTurn.totalTokens * turns.length,
      })
    },
  },
  {
    name: 'a finished run returns its result by its id, and nothing runs again',
    async run({ place, expect }) {
      const world = await place()
      const script: ScriptedTurn[] = [{ toolCalls: [{ name: 'pay' }] }, { text: 'done' }]
      const first = await world.open(script).runner.run('go', { runId: 'run' })
      const { runner } = world.open(script)
      expect(await runner.recover()).toEqual([])
      expect(comparable(await runner.resume('run'))).toEqual(comparable(first))
      expect(comparable(await runner.run('go', { runId: 'run' }))).toEqual(comparable(first))
      expect([world.requests, world.startsOf('pay')]).toEqual([2, [1]])
    },
  },
  {
    name: 'the size of the record is linear in the number of turns',
    async run({ place, expect }) {
      const world = await place()
      const script: ScriptedTurn[] = Array.from({ length: 40 }, (_, n) => ({ toolCalls: [{ id: `c${n}`, name: 'look', args: { n } }] }))
      const { runner, death } = world.open([...script, { text: 'done' }], { maxIterations: 50 })
      await runner.run('go')
      const sizes = death.recorded
      const half = Math.floor(sizes.length / 2)
      const sum = (part: readonly number[]) => part.reduce((total, size) => total + size, 0)
      expect(sum(sizes.slice(half)) < sum(sizes.slice(0, half)) * 1.5).toBe(true)
    },
  },
]
