import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunOptions, RunResult } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import type { Json } from '../../src/core/messages.ts'
import type { ScriptedTurn } from '../../src/testing/script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool, type ToolEffect } from '../../src/tools/tool.ts'
import { StrictJournal } from './strict-journal.ts'

/** What the outside world has seen: survives crashes, as databases and mailboxes do. */
interface World {
  started: { tool: string; key: string }[]
  requests: number
  events: string[]
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

function tool(name: string, effect: ToolEffect, world: World, extra: object = {}) {
  return defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    effect,
    ...extra,
    execute: (args, { idempotencyKey }) => {
      world.started.push({ tool: name, key: idempotencyKey })
      if (args.fail === true) throw new Error('no luck')
      return { did: name, args }
    },
  })
}

/** Answers by how far the conversation has come, as a real model does; so a replayed request gets the same reply. */
function modelOf(turns: ScriptedTurn[], world: World) {
  return scriptedModel(({ messages }) => {
    world.requests++
    return turns[messages.filter(({ role }) => role === 'assistant').length] ?? 'unexpected'
  })
}

function comparable({ steps, toolCalls, runId: _, ...rest }: RunResult) {
  return {
    ...rest,
    error: rest.error?.code,
    steps: steps.map(({ durationMs: _d, timeToFirstTokenMs: _t, ...step }) => step),
    toolCalls: toolCalls.map(({ durationMs: _d, value: _v, ...call }) => call),
  }
}

async function runWith(journal: StrictJournal, turns: ScriptedTurn[], options: RunOptions = {}, toolOptions: object = {}) {
  const world: World = { started: [], requests: 0, events: [] }
  const runner = new AgentRunner({
    model: modelOf(turns, world),
    tools: [tool('look', 'read', world), tool('put', 'idempotent', world), tool('pay', 'unsafe', world, toolOptions)],
    journal,
    logger: quiet,
  })
  runner.bus.onAny((name, payload, meta) => {
    if (meta.step !== undefined && !name.endsWith('_DELTA'))
      world.events.push(`${meta.attempt} ${meta.step} ${name} ${meta.toolCallId ?? ''} ${JSON.stringify(payload)}`)
  })
  const result = await runner.run('go', { runId: 'run', ...options })
  return { result, world }
}

const turns: ScriptedTurn[] = [
  {
    text: 'first',
    toolCalls: [
      { id: 'a', name: 'look', args: { n: 1 } },
      { id: 'b', name: 'pay', args: { n: 2 } },
      { id: 'c', name: 'put', args: { n: 3 } },
    ],
  },
  {
    toolCalls: [
      { id: 'd', name: 'nope' },
      { id: 'e', name: 'pay', args: { fail: true } },
      { id: 'f', name: 'look', args: '{"cut' },
    ],
  },
  { toolCalls: [{ id: 'g', name: 'pay', args: { n: 4 } }] },
  { text: 'done', usage: { inputTokens: 5, outputTokens: 2 } },
]

describe('a run under a journal', () => {
  it('keeps the rules of the port and ends as in memory', async () => {
    const journal = new StrictJournal(Number.POSITIVE_INFINITY)
    const { result, world } = await runWith(journal, turns)
    const plainWorld: World = { started: [], requests: 0, events: [] }
    const plain = await new AgentRunner({
      model: modelOf(turns, plainWorld),
      tools: [tool('look', 'read', plainWorld), tool('put', 'idempotent', plainWorld), tool('pay', 'unsafe', plainWorld)],
      logger: quiet,
    }).run('go')
    expect(journal.violations).toEqual([])
    expect(comparable(result)).toEqual(comparable(plain))
    expect(result.stopReason).toBe('answered')
    expect(world.started.map(({ tool }) => tool)).toEqual(plainWorld.started.map(({ tool }) => tool))
    expect(journal.executions[0]).toEqual([
      ...['start', '1.model', '1.round', '1.tool.0', '1.tool.1', '1.tool.2'],
      ...['2.model', '2.round', '2.tool.0', '2.tool.1', '2.tool.2', '3.model', '3.round', '3.tool.0', '4.model', 'end'],
    ])
  })

  it('H46 records what was left out of a conversation: crashed at any moment, the model is sent the same again', async () => {
    const long = Array.from(
      { length: 6 },
      (_, n): ScriptedTurn => ({ toolCalls: [{ id: `c${n}`, name: 'look', args: { n, pad: 'x'.repeat(400) } }] }),
    )
    const sentBy = async (crashAt: number) => {
      const sent = new Map<string, string>()
      const model = scriptedModel(({ messages }) => {
        const last = messages.at(-1)
        sent.set(last?.role === 'tool' ? last.toolCallId : '', JSON.stringify(messages))
        return last?.role === 'tool' ? (long[Number(last.toolCallId.slice(1)) + 1] ?? 'done') : (long[0] ?? '')
      })
      const world: World = { started: [], requests: 0, events: [] }
      const journal = new StrictJournal(crashAt)
      const runner = new AgentRunner({
        model,
        tools: [tool('look', 'read', world)],
        journal,
        logger: quiet,
        maxIterations: 10,
        compaction: { maxTokens: 500, summarise: () => 'They were looked at.' },
      })
      const result = await runner.run('go', { runId: 'run' })
      expect(journal.violations).toEqual([])
      expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 7 })
      return { sent, moments: journal.moments, keys: journal.executions }
    }
    const whole = await sentBy(Number.POSITIVE_INFINITY)
    expect(whole.keys[0]).toContain('4.compact')
    expect([...whole.sent.values()].at(-1)).toContain('earlier messages were left out')
    for (let crashAt = 1; crashAt <= whole.moments; crashAt++) {
      const { sent } = await sentBy(crashAt)
      expect(sent).toEqual(whole.sent)
    }
  })

  it('F7 joins a continued answer from what is recorded: crashed at any moment, the result and the requests are the same', async () => {
    const parts = ['One, ', 'two, ', 'three.']
    const runTo = async (crashAt: number) => {
      const sent = new Map<string, string>()
      const model = scriptedModel(({ messages }): ScriptedTurn => {
        const said = messages.filter(({ role }) => role === 'assistant').map(({ content }) => String(content))
        sent.set(said.join(), JSON.stringify(messages))
        const at = parts.findIndex((_, end) => parts.slice(0, end).join('') === said.join())
        return {
          text: parts[at] ?? 'unexpected',
          finishReason: at < 2 ? 'length' : 'stop',
          providerData: { provider: 'scripted', data: { at } },
        }
      })
      const journal = new StrictJournal(crashAt)
      const result = await new AgentRunner({ model, journal, logger: quiet, onTruncated: 'continue' }).run('go', { runId: 'run' })
      expect(journal.violations).toEqual([])
      return { sent, journal, result }
    }
    const whole = await runTo(Number.POSITIVE_INFINITY)
    expect(whole.result).toMatchObject({ stopReason: 'answered', output: 'One, two, three.', iterations: 3 })
    expect(whole.result.messages).toMatchObject([{ role: 'user' }, { content: 'One, two, three.', providerData: { data: { at: 2 } } }])
    expect(whole.journal.executions).toEqual([['start', '1.model', '2.model', '3.model', 'end']])
    for (let crashAt = 1; crashAt <= whole.journal.moments; crashAt++) {
      const { result, sent } = await runTo(crashAt)
      expect(comparable(result)).toEqual(comparable(whole.result))
      expect(sent).toEqual(whole.sent)
    }
  })

  it('asks `stopWhen` once about each iteration, and ends by its recorded answer: crashed at any moment, and with other answers later', async () => {
    const look = defineTool({ name: 'look', description: '', effect: 'read', execute: () => 'seen' })
    for (let crashAt = 1; ; crashAt++) {
      const asked: number[] = []
      const journal = new StrictJournal(crashAt)
      const model = scriptedModel(({ messages }) => ({ toolCalls: [{ name: 'look', arguments: { at: messages.length } }] }))
      // Its answers depend on how often it was asked: a second time, it would end the run at its first iteration.
      const stopWhen = ({ iteration }: { iteration: number }) => asked.push(iteration) >= 3
      const result = await new AgentRunner({ model, journal, tools: [look], logger: quiet, stopWhen }).run('go', { runId: 'run' })
      expect(journal.violations).toEqual([])
      const answers = journal.executions.flat().filter((key) => key.endsWith('.stop'))
      // A crash before an answer is recorded asks again about the same iteration, but never about an earlier one.
      expect(asked).toEqual(asked.toSorted())
      expect(asked.length).toBeLessThanOrEqual(new Set(asked).size + 1)
      expect(result).toMatchObject({ stopReason: 'stopped', iterations: asked.at(-1) })
      expect(new Set(answers)).toEqual(new Set(asked.map((iteration) => `${iteration}.stop`)))
      if (crashAt > journal.moments) break
    }
  })

  it('crashed at every possible moment and resumed, asks for the same steps, ends the same, and never starts an unsafe call twice', async () => {
    const whole = new StrictJournal(Number.POSITIVE_INFINITY)
    const reference = await runWith(whole, turns)
    expect(whole.moments).toBeGreaterThan(40)
    for (let crashAt = 1; crashAt <= whole.moments; crashAt++) {
      const journal = new StrictJournal(crashAt)
      const { result, world } = await runWith(journal, turns)
      const where = `crash at moment ${crashAt}`
      expect(journal.violations, where).toEqual([])
      expect(journal.executions, where).toHaveLength(2)
      const [before = [], after = []] = journal.executions
      const uncertain = result.toolCalls.filter(({ outcome }) => outcome === 'uncertain')
      // Up to where the first execution died the second asks for the same keys in the same order.
      expect(after.slice(0, before.length), where).toEqual(before)
      const pays = world.started.filter(({ tool }) => tool === 'pay').map(({ key }) => key)
      expect(new Set(pays).size, where).toBe(pays.length)
      for (const { tool, key } of world.started.filter(({ tool }) => tool !== 'pay')) {
        // The same call has the same idempotency key however often it ran.
        expect(reference.world.started, where).toContainEqual({ tool, key })
      }
      if (uncertain.length === 0) expect(comparable(result), where).toEqual(comparable(reference.result))
      else {
        expect(
          uncertain.map(({ tool, errorCode }) => [tool, errorCode]),
          where,
        ).toEqual([['pay', 'tool_uncertain']])
        expect(result.stopReason, where).toBe('answered')
      }
      const ids = result.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))
      expect(new Set(ids).size, where).toBe(7)
      expect(ids, where).toHaveLength(7)
    }
  })

  it('a call that may have run is run again if somebody decides so, or if its tool finds that it did not run', async () => {
    const whole = new StrictJournal(Number.POSITIVE_INFINITY)
    const reference = await runWith(whole, turns)
    let decided = 0
    let found = 0
    for (let crashAt = 1; crashAt <= whole.moments; crashAt++) {
      const asked: string[] = []
      const journal = new StrictJournal(crashAt, (name): Json => {
        asked.push(name)
        return { run: true }
      })
      const { result } = await runWith(journal, turns)
      decided += asked.length
      expect(journal.violations).toEqual([])
      expect(comparable(result)).toEqual(comparable(reference.result))

      const reconciled = new StrictJournal(crashAt, () => {
        throw new Error('nobody should be asked')
      })
      const again = await runWith(
        reconciled,
        turns,
        {},
        {
          reconcile: (args: { n?: number; fail?: boolean }) => {
            found++
            return args.fail === true ? { ran: false } : { ran: true, value: { did: 'pay', args } }
          },
        },
      )
      expect(comparable(again.result)).toEqual(comparable(reference.result))
    }
    expect(decided).toBeGreaterThan(3)
    expect(found).toBe(decided)
  })

  it('does not emit the events of a recorded step again', async () => {
    const whole = new StrictJournal(Number.POSITIVE_INFINITY)
    await runWith(whole, turns)
    for (let crashAt = 1; crashAt <= whole.moments; crashAt++) {
      const journal = new StrictJournal(crashAt)
      const { world } = await runWith(journal, turns)
      expect(new Set(world.events).size).toBe(world.events.length)
      const second = journal.executions[1] ?? []
      // What the first execution recorded, the second only reads: nothing is heard of it again.
      const heardTwice = second.filter(
        (key) =>
          world.events.some((event) => event.startsWith(`attempt-1 ${key} `)) &&
          world.events.some((event) => event.startsWith(`attempt-2 ${key} `)),
      )
      expect(heardTwice.length).toBeLessThanOrEqual(3)
      expect(world.events.some((event) => event.includes(Event.MODEL_START))).toBe(true)
    }
  })

  it('records the limits, deadlines and settings of the run', async () => {
    const journal = new StrictJournal(12)
    const { result } = await runWith(journal, [turns[0] ?? {}, ...Array<ScriptedTurn>(9).fill({ toolCalls: [{ id: '', name: 'look' }] })], {
      maxIterations: 3,
      limits: { toolCalls: 100, deadlineMs: Number.POSITIVE_INFINITY },
    })
    expect(journal.violations).toEqual([])
    expect(result.stopReason).toBe('max_iterations')
    expect(result.iterations).toBe(3)
  })
})
