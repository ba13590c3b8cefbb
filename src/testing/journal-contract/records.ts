import { AgentRunner } from '../../agent/agent-runner.ts'
import type { Durable, DurableBody, RecordEntry } from '../../agent/journal/journal.ts'
import { asTool } from '../../agent/sub-agents/sub-agent.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { codeMode } from '../../code-mode/index.ts'
import type { Json } from '../../core/messages.ts'
import type { ScriptedTurn } from '../script.ts'
import { comparable, type JournalCase, type LocalProcess, type ProcessOptions, refusalOf, usageOfTurn, type World } from './kit.ts'

/** The turns of an agent that writes, pays and calls the next agent. */
const level = (name: string): readonly ScriptedTurn[] => [
  {
    toolCalls: [
      { id: 'a', name: 'put', args: { by: name } },
      { id: 'b', name: 'pay', args: { by: name } },
      { id: 'c', name: 'ask_next', args: { task: name } },
    ],
  },
  { toolCalls: [{ id: 'd', name: 'put', args: { by: name, n: 2 } }] },
  { text: `${name} is done` },
]
const last: readonly ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'pay', args: { by: 'last' } }] }, { text: 'last is done' }]

/** Opens a process with three nested agents. */
function openNested(world: World, options: ProcessOptions = {}): LocalProcess {
  const next = (agent: AgentRunner) => asTool(agent, { name: 'ask_next', description: 'x', effect: 'idempotent' })
  const inner = new AgentRunner({ model: world.model(last), tools: world.tools() })
  const middle = new AgentRunner({ model: world.model(level('middle')), tools: [...world.tools(), next(inner)] })
  return world.open(level('outer'), { tools: [...world.tools(), next(middle)], ...options })
}

async function continued({ runner }: LocalProcess, runId: string): Promise<RunResult> {
  const known = await runner.runs.get(runId)
  return known === undefined ? runner.run('go', { runId }) : runner.resume(runId)
}

/** Returns the calls of a run, without the run's id. */
const callsOf = (world: World, runId: string) =>
  world.started.filter(({ key }) => key.startsWith(`${runId}/`)).map(({ tool, key }) => `${tool} ${key.slice(runId.length)}`)

/** A script that reads and writes concurrently, pays, and waits for an approval. */
const script = `const [seen, put] = await Promise.all([tools.look({ n: 1 }), tools.put({ n: 1 })])
const paid = await tools.pay({ n: 2 }).catch((error) => error.message)
return [seen, put, paid, await tools.refund({ n: Math.floor(Math.random() * 1000) })]`

function openScript(world: World, options: ProcessOptions = {}): LocalProcess {
  const turns: readonly ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'run_script', args: { code: script } }] }, { text: 'done' }]
  return world.open(turns, { tools: codeMode(world.tools()), ...options })
}

/** Runs the script until it waits, approves the pending calls, and lets the script end. Each of the two processes may die. */
async function runScript(world: World, runId: string, { first = Number.POSITIVE_INFINITY, second = Number.POSITIVE_INFINITY } = {}) {
  const starting = openScript(world, { dieAt: first })
  await Promise.race([continued(starting, runId), starting.death.happened])
  await starting.journal.close()
  const asked = await continued(openScript(world), runId)
  const approve = ({ pending }: RunResult) => pending.map((item) => ({ ...item, approved: true as const }))
  const deciding = openScript(world, { dieAt: second })
  await Promise.race([deciding.runner.resume(runId, { decisions: approve(asked) }), deciding.death.happened])
  await deciding.journal.close()
  const found = await continued(openScript(world), runId)
  // If the run is still paused, the process died before a decision was stored.
  const result = found.stopReason === 'paused' ? await openScript(world).runner.resume(runId, { decisions: approve(found) }) : found
  return { asked, result, moments: { first: starting.death.moments, second: deciding.death.moments } }
}

function entry(position: number, value: Json): RecordEntry {
  return { position, fingerprint: `call ${position}`, value }
}

/** Starts a run with one step, which calls `work`. */
async function inCall(world: World, runId: string, work: (durable: Required<Durable>) => Promise<Json>): Promise<Json> {
  const journal = world.place.open()
  const body: DurableBody = (durable) => durable.step('1.tool.0', () => work(durable as Required<Durable>))
  try {
    const engine = journal.connect(body)
    await engine.start(runId, null)
    return await engine.result(runId)
  } finally {
    await journal.close()
  }
}

/** Cases about records of calls: a call that runs again finds the work that it has already done. */
export const recordCases: readonly JournalCase[] = [
  {
    name: 'runs inside a killed call continue with it: no finished call runs again, and every key stays the same',
    async run({ place, expect }) {
      const world = await place()
      const whole = openNested(world)
      const ended = await continued(whole, 'whole')
      expect([ended.stopReason, ended.usage.inputTokens]).toEqual(['answered', 8 * usageOfTurn.inputTokens])
      const calls = callsOf(world, 'whole')
      expect(calls.length).toBe(7)
      // Every fifth moment is enough to test every kind of moment.
      for (let dieAt = 1; dieAt <= whole.death.moments; dieAt += 5) {
        const runId = `killed-${dieAt}`
        const dying = openNested(world, { dieAt })
        await Promise.race([continued(dying, runId), dying.death.happened])
        await dying.journal.close()
        const result = await continued(openNested(world), runId)
        const made = callsOf(world, runId)
        const doubled = made.filter((call, at) => made.indexOf(call) !== at)
        expect(made.filter((call) => !calls.includes(call))).toEqual([])
        // One call may have been running when the process died. Only an idempotent call runs again, so a `pay` call may be missing.
        expect(doubled.length <= 1 && doubled.every((call) => call.startsWith('put '))).toBe(true)
        const missing = calls.filter((call) => !made.includes(call))
        expect(missing.length <= 1 && missing.every((call) => call.startsWith('pay '))).toBe(true)
        expect(result.toolCalls.length).toBe(ended.toolCalls.length)
        if (missing.length === 0 && result.toolCalls.every(({ outcome }) => outcome === 'ok'))
          expect(comparable(result)).toEqual(comparable(ended))
      }
    },
  },
  {
    name: 'a killed script is started again: no finished call runs again, every approval is asked once, and every key stays the same',
    async run({ place, expect }) {
      const world = await place()
      const whole = await runScript(world, 'whole')
      expect([whole.asked.stopReason, whole.asked.pending.length, whole.result.stopReason]).toEqual(['paused', 1, 'answered'])
      const calls = callsOf(world, 'whole')
      expect(calls.length).toBe(4)
      for (const phase of ['first', 'second'] as const) {
        for (let dieAt = 1; dieAt <= whole.moments[phase]; dieAt += 5) {
          const runId = `${phase}-${dieAt}`
          const { asked, result } = await runScript(world, runId, { [phase]: dieAt })
          expect([asked.stopReason, asked.pending.length, result.stopReason, result.toolCalls.length]).toEqual(['paused', 1, 'answered', 1])
          const made = callsOf(world, runId)
          const doubled = made.filter((call, at) => made.indexOf(call) !== at)
          // Up to two calls may have been running when the process died.
          expect(doubled.length <= 2 && doubled.every((call) => /^(look|put) /.test(call))).toBe(true)
          // `refund` is left out, because its arguments, and so its key, are random.
          expect(made.filter((call) => !call.startsWith('refund ') && !calls.includes(call))).toEqual([])
          expect(made.filter((call) => /^(pay|refund) /.test(call)).length <= 2).toBe(true)
        }
      }
    },
  },
  {
    name: 'the record of a call grows linearly with the output of its runs, at any depth',
    async run({ place, expect }) {
      const world = await place()
      const long: ScriptedTurn = { toolCalls: [{ id: 'a', name: 'look', args: { text: 'x'.repeat(20_000) } }] }
      const open = (depth: number) => {
        let agent = new AgentRunner({ model: world.model([long, { text: 'done' }]), tools: world.tools() })
        for (let n = 1; n < depth; n++) {
          const turns: readonly ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'ask_next', args: { task: 'x' } }] }, { text: 'done' }]
          agent = new AgentRunner({ model: world.model(turns), tools: [asTool(agent, { name: 'ask_next', description: 'x' })] })
        }
        const outer: readonly ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'ask_next', args: { task: 'x' } }] }, { text: 'done' }]
        return world.open(outer, { tools: [asTool(agent, { name: 'ask_next', description: 'x' })] })
      }
      const sizes: number[] = []
      for (const depth of [1, 4]) {
        const { runner, death } = open(depth)
        expect((await runner.run('go')).stopReason).toBe('answered')
        sizes.push(death.appended.reduce((sum, size) => sum + size, 0))
      }
      const [one = 0, four = 0] = sizes
      expect(one > 20_000 && four < one * 2).toBe(true)
    },
  },
  {
    name: 'the entries of a record are read in order, by another execution too, and are deleted when the run has ended',
    async run({ place, expect }) {
      const world = await place()
      const value = { text: `\u0000 “ü” 🙂 \n ' " \\ ${'x'.repeat(100_000)}` }
      let kept: RecordEntry[] = []
      const died = Promise.withResolvers<void>()
      const journal = world.place.open()
      const dying: DurableBody = async (durable) => {
        await durable.step('1.tool.0', async () => {
          await durable.append?.('call', entry(0, value))
          await Promise.all([2, 1, 3].map((position) => durable.append?.('call', entry(position, position))))
          await durable.append?.('other', entry(0, null))
          died.resolve()
          return new Promise(() => {})
        })
        return null
      }
      const engine = journal.connect(dying)
      await engine.start('run', null)
      engine.result('run').catch(() => {})
      await died.promise
      await journal.close()
      await inCall(world, 'run', async (durable) => {
        kept = await durable.entries('call')
        await durable.append('call', entry(4, 4))
        return (await durable.entries('none')).length
      })
      expect(kept).toEqual([entry(0, value), entry(1, 1), entry(2, 2), entry(3, 3)])
    },
  },
  {
    name: 'an entry of a record is stored once: another entry at its position is refused',
    async run({ place, expect }) {
      const world = await place()
      const refused = await refusalOf(
        inCall(world, 'run', async (durable) => {
          await durable.append('call', entry(0, 'first'))
          await durable.append('call', { ...entry(0, 'second'), fingerprint: 'another' })
          return null
        }),
      )
      expect(refused).toBe('journal_failed')
      expect(await inCall(world, 'run', async (durable) => (await durable.entries('call')) as never)).toEqual([entry(0, 'first')])
    },
  },
]
