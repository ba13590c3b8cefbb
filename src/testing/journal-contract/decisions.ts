import { AgentRunner } from '../../agent/agent-runner.ts'
import { asTool } from '../../agent/sub-agents/sub-agent.ts'
import type { PendingItem } from '../../agent/types/options.ts'
import { Event } from '../../core/events.ts'
import type { ScriptedTurn } from '../script.ts'
import { type JournalCase, refusalOf } from './kit.ts'

const refunds: readonly ScriptedTurn[] = [
  {
    toolCalls: [
      { id: 'a', name: 'refund', args: { n: 1 } },
      { id: 'b', name: 'refund', args: { n: 2 } },
    ],
  },
  { text: 'done' },
]
const approved = { approved: true } as const

export const decisionCases: readonly JournalCase[] = [
  {
    name: 'a pending call is found, decided and executed once by other processes',
    async run({ place, expect }) {
      const world = await place()
      const paused = await world.open(refunds).runner.run('go', { runId: 'run' })
      expect([paused.stopReason, paused.pending.map(({ toolCallId }) => toolCallId)]).toEqual(['paused', ['a', 'b']])
      const second = world.open(refunds).runner
      const { status, pending = [] } = (await second.runs.get('run')) ?? {}
      expect([status, pending]).toEqual(['waiting', paused.pending])
      const half = await second.resume('run', { decisions: pending.slice(1).map((item) => ({ ...item, ...approved })) })
      expect([half.stopReason, half.pending.map(({ toolCallId }) => toolCallId)]).toEqual(['paused', ['a']])
      const third = world.open(refunds).runner
      const ended = await third.resume('run', { decisions: half.pending.map((item) => ({ ...item, ...approved })) })
      expect([ended.stopReason, ended.toolCalls.map(({ outcome }) => outcome)]).toEqual(['answered', ['ok', 'ok']])
      expect(world.startsOf('refund')).toEqual([1, 1])
      expect((await third.runs.get('run'))?.pending).toEqual([])
    },
  },
  {
    name: 'a decision that is forged, repeated, or for another run or call is refused, and nothing runs',
    async run({ place, expect }) {
      const world = await place()
      const { runner } = world.open(refunds)
      const { pending } = await runner.run('go', { runId: 'run' })
      const other = await runner.run('go', { runId: 'other' })
      const [first, second] = pending
      if (first === undefined || second === undefined) throw new Error('Expected two calls to wait')
      const decide = (...decisions: object[]) => refusalOf(runner.resume('run', { decisions: decisions as never }))
      expect(await decide({ ...first, ...approved, fingerprint: 'forged' })).toBe('decision_refused')
      expect(await decide({ ...first, ...approved, toolCallId: 'c' })).toBe('decision_refused')
      expect(await decide({ ...first, ...approved, fingerprint: second.fingerprint })).toBe('decision_refused')
      expect(await decide({ ...other.pending[0], ...approved })).toBe('decision_refused')
      expect(await decide({ ...first, ...approved }, { ...first, approved: false })).toBe('decision_refused')
      expect(await decide({ ...first, approved: 'yes' })).toBe('invalid_option')
      expect(await decide({ toolCallId: first.toolCallId, ...approved })).toBe('invalid_option')
      // If one decision is refused, none of the others is stored.
      expect(await decide({ ...first, ...approved }, { ...second, ...approved, fingerprint: 'forged' })).toBe('decision_refused')
      expect((await runner.runs.get('run'))?.pending.length).toBe(2)
      expect(world.started).toEqual([])
    },
  },
  {
    name: 'a second decision on a call is refused: made at the same time, by another process, or after a refusal',
    async run({ place, expect }) {
      const world = await place()
      const { pending } = await world.open(refunds).runner.run('go', { runId: 'run' })
      const decide = (isApproved: boolean) => {
        const { runner } = world.open(refunds)
        return runner
          .resume('run', { decisions: pending.map((item) => ({ ...item, approved: isApproved })) as never })
          .then(({ stopReason }) => stopReason)
          .catch((error: { code: string }) => error.code)
      }
      const ends = await Promise.all([decide(true), decide(true), decide(true)])
      expect(ends.filter((end) => end === 'answered').length).toBe(1)
      expect(ends.filter((end) => end === 'decision_refused').length).toBe(2)
      expect(await decide(false)).toBe('decision_refused')
      expect(world.startsOf('refund')).toEqual([1, 1])
    },
  },
  {
    name: 'a refusal is final: no later decision or resume lets the call run',
    async run({ place, expect }) {
      const world = await place()
      const { pending } = await world.open(refunds).runner.run('go', { runId: 'run' })
      const { runner } = world.open(refunds)
      const refused = await runner.resume('run', { decisions: pending.map((item) => ({ ...item, approved: false, reason: 'no' })) })
      expect(refused.toolCalls.map(({ outcome }) => outcome)).toEqual(['denied', 'denied'])
      expect(await refusalOf(runner.resume('run', { decisions: pending.map((item) => ({ ...item, ...approved })) }))).toBe(
        'decision_refused',
      )
      expect((await world.open(refunds).runner.resume('run')).toolCalls.map(({ outcome }) => outcome)).toEqual(['denied', 'denied'])
      expect(await world.open(refunds).runner.recover()).toEqual([])
      expect(world.started).toEqual([])
    },
  },
  {
    name: 'a decision outlives the process that received it: the next one executes it',
    async run({ place, expect }) {
      const world = await place()
      const { pending } = await world.open(refunds).runner.run('go', { runId: 'run' })
      const { runner, journal, death } = world.open(refunds, { dieAt: 1 })
      const decisions = pending.map((item) => ({ ...item, ...approved }))
      await Promise.race([runner.resume('run', { decisions }), death.happened])
      await journal.close()
      expect(world.started).toEqual([])
      const next = world.open(refunds).runner
      expect(await next.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
      expect(world.startsOf('refund')).toEqual([1, 1])
    },
  },
  {
    name: 'a call that is not decided in time is refused, and so is a later decision',
    async run({ place, expect }) {
      const world = await place()
      const { runner } = world.open(refunds)
      const asked: PendingItem[] = []
      runner.on(Event.DECISION_NEEDED, (item) => void asked.push(item))
      // On a slow machine, the decision time may be over before the run pauses. The run then continues at once.
      await runner.run('go', { runId: 'run', decisionTimeoutMs: 1 })
      const deadline = Date.now() + 2
      while (Date.now() < deadline) await new Promise(setImmediate)
      const decisions = asked.map((item) => ({ ...item, ...approved }))
      expect(decisions.length).toBe(2)
      expect(await refusalOf(runner.resume('run', { decisions }))).toBe('decision_refused')
      const ended = await world.open(refunds).runner.resume('run')
      expect([ended.stopReason, ended.toolCalls.map(({ outcome }) => outcome)]).toEqual(['answered', ['denied', 'denied']])
      expect(world.started).toEqual([])
    },
  },
  {
    name: 'pending calls of a run inside a tool call are decided through the outer run, one by one',
    async run({ place, expect }) {
      const calls = [1, 2].map((n) => ({ id: `in-${n}`, name: 'refund', args: { n } }))
      const inner: ScriptedTurn[] = [{ toolCalls: calls }, { text: 'found' }]
      const outer: ScriptedTurn[] = [{ toolCalls: [{ id: 'out', name: 'ask_inner', args: { task: 'find' } }] }, { text: 'done' }]
      const world = await place()
      const open = () => {
        const agent = new AgentRunner({ model: world.model(inner), tools: world.tools() })
        return world.open(outer, { tools: [asTool(agent, { name: 'ask_inner', description: 'x' })] }).runner
      }
      const { pending } = await open().run('go', { runId: 'run' })
      expect(pending.map(({ kind, tool, toolCallId, path }) => [kind, tool, toolCallId, path?.[0]?.toolCallId])).toEqual([
        ['approval', 'refund', 'in-1', 'out'],
        ['approval', 'refund', 'in-2', 'out'],
      ])
      const approve = (items: readonly PendingItem[]) => items.map((item) => ({ ...item, approved: true as const }))
      const half = await open().resume('run', { decisions: approve(pending.slice(1)) })
      expect([half.stopReason, half.pending.map(({ toolCallId }) => toolCallId)]).toEqual(['paused', ['in-1']])
      expect(world.startsOf('refund')).toEqual([1])
      const ended = await open().resume('run', { decisions: approve(half.pending) })
      expect([ended.stopReason, ended.output]).toEqual(['answered', 'done'])
      expect(world.startsOf('refund')).toEqual([1, 1])
    },
  },
]
