import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Guardrail } from '../../src/agent/callbacks/guardrails.ts'
import { Budget } from '../../src/agent/limits/budget.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { NestingPlace, RunnerOptions } from '../../src/agent/types/options.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startTracing } from '../telemetry/tracing.ts'
import { StrictJournal } from './strict-journal.ts'

const { logger } = recordingLogger()
const capabilities = { nativeTools: true, price: { input: 1, output: 1 } }
/** $1 */
const dollar = { inputTokens: 1_000_000, outputTokens: 0 }
const agent = (turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'> = {}) =>
  new AgentRunner({ model: scriptedModel(turns, { capabilities }), logger, ...options })
const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', parameters: { type: 'object' }, execute: () => 'seen' })

/** A guardrail that asks an agent about everything. */
function judging(answer = 'fine'): { guardrail: Guardrail; asked: string[] } {
  const asked: string[] = []
  const judge = agent(() => ({ text: answer, usage: dollar }), { name: 'judge' })
  const ask = async (what: string, place: NestingPlace) => {
    asked.push(what)
    const { output, stopReason } = await judge.run(what, { parent: place })
    return output === 'fine' ? undefined : { refuse: `judged ${output} (${stopReason})` }
  }
  const guardrail: Guardrail = {
    name: 'judge',
    input: (check) => ask('input', check),
    output: (check) => (check.text === '' ? undefined : ask('output', check)),
    call: (call) => ask('call', call),
    result: (ending) => ask('result', ending),
  }
  return { guardrail, asked }
}

const turns = [
  { toolCalls: [{ name: 'look', args: {} }], usage: dollar },
  { text: 'Done.', usage: dollar },
]

describe('agents that judge', () => {
  it('P2.8 P2.1 add their requests to the usage of the run, its `limits` and its `budget`', async () => {
    const { guardrail, asked } = judging()
    const budget = new Budget({ costUsd: 100 })
    const result = await agent(turns, { tools: [look], guardrails: [guardrail], budget }).run('go')
    expect(asked).toEqual(['input', 'call', 'result', 'output'])
    expect(result).toMatchObject({ stopReason: 'answered', usage: { costUsd: 6 }, toolCalls: [{ nested: { usage: { costUsd: 2 } } }] })
    expect(budget.spent.costUsd).toBe(6)
    // $1 of the input, $1 of the turn, $1 of the call: nothing is left for the judge of the result, which therefore withholds it.
    const limited = await agent(turns, { tools: [look], guardrails: [judging().guardrail], limits: { costUsd: 3 } }).run('go')
    expect(limited).toMatchObject({ stopReason: 'budget', usage: { costUsd: 3 } })
    expect(limited.toolCalls[0]?.content).toContain('judged')
  })

  it('P2.1 killed at any moment, the usage of judges, hooks and summaries is counted as often as it is recorded', async () => {
    const run = async (crashAt: number) => {
      const { guardrail } = judging()
      const summariser = agent(() => ({ text: 'It was long.', usage: dollar }))
      const journal = new StrictJournal(crashAt)
      const runner = agent(({ messages }) => ({ toolCalls: [{ name: 'look', args: { at: messages.length } }], usage: dollar }), {
        tools: [look],
        guardrails: [guardrail],
        journal,
        maxIterations: 3,
        hooks: [{ beforeModel: async (turn) => void (await summariser.run('hm', { parent: turn })) }],
        compaction: {
          maxTokens: 30,
          summarise: async (_messages, place) => (await summariser.run('sum up', { parent: place })).output,
        },
      })
      const { stopReason, usage } = await runner.run(['go', 'x'.repeat(50)].join(' '), { runId: 'r' })
      expect(journal.violations).toEqual([])
      return { moments: journal.moments, end: [stopReason, usage.costUsd] }
    }
    const whole = await run(Number.POSITIVE_INFINITY)
    expect(whole.end).toEqual(['max_iterations', 14])
    for (let crashAt = 1; crashAt <= whole.moments; crashAt++) expect((await run(crashAt)).end, `killed at ${crashAt}`).toEqual(whole.end)
  })

  it('P2.1 summaries of compaction count, and are stopped by the limits', async () => {
    const summariser = agent(() => ({ text: 'It was long.', usage: dollar }))
    const compaction: RunnerOptions['compaction'] = {
      maxTokens: 40,
      summarise: async (_messages, place) => (await summariser.run('sum up', { parent: place })).output,
    }
    const long = defineTool({ name: 'look', description: 'x', parameters: { type: 'object' }, execute: () => 'word '.repeat(60) })
    const looking = ({ messages }: { messages: readonly { role: string }[] }) => ({
      toolCalls: [{ name: 'look', args: { at: messages.length } }],
      usage: dollar,
    })
    const run = (options: Omit<RunnerOptions, 'model'>) =>
      agent(looking as never, { tools: [long], compaction, maxIterations: 4, ...options }).run('go')
    const free = await run({})
    expect(free.usage.costUsd).toBeGreaterThan(4)
    const limited = await run({ limits: { costUsd: 3 } })
    expect(limited).toMatchObject({ stopReason: 'budget', usage: { costUsd: 3 } })
  })

  it('P2.8 have spans below that of the run or the call, and events that name the run', async () => {
    await using tracing = startTracing()
    const { guardrail } = judging()
    const events: unknown[] = []
    const judge = agent(() => ({ text: 'fine', usage: dollar }), { name: 'second' })
    judge.on('RUN_START', (_payload, meta) => void events.push([meta.depth, meta.parentRunId, meta.parentToolCallId]))
    const second: Guardrail = {
      name: 'second',
      output: async (check) => void (check.text === '' || (await judge.run('x', { parent: check }))),
    }
    const runner = agent(turns, {
      tools: [look],
      name: 'desk',
      guardrails: [guardrail, second],
      telemetry: telemetry({ tracer: tracing.tracer, meter: tracing.meter }),
    })
    const { runId } = await runner.run('go')
    expect(events).toEqual([[1, runId, undefined]])
    const tree = tracing.tree().replaceAll(/ \(.*/g, '')
    expect(tree.split('\n').map((line) => line.trim())).toEqual(expect.arrayContaining(['invoke_agent judge', 'invoke_agent second']))
    expect(tree.split('\n').filter((line) => line.startsWith('invoke_agent second'))).toEqual([])
    expect(tree).toMatch(/execute_tool look\n +invoke_agent judge/)
  })

  it('P2.8 refuse a place that is not in a run, and need a price if the run has one', async () => {
    await expect(agent(['x']).run('go', { parent: { signal: AbortSignal.abort() } as never })).rejects.toMatchObject({
      code: 'invalid_option',
    })
    const unpriced = new AgentRunner({ model: scriptedModel(['fine']), logger })
    const guardrail: Guardrail = { name: 'judge', output: async (check) => void (await unpriced.run('x', { parent: check })) }
    const result = await agent(['secret'], { guardrails: [guardrail], limits: { costUsd: 5 } }).run('go')
    expect(result).toMatchObject({ stopReason: 'refused', output: '' })
  })

  it('P2.8 end with the run', async () => {
    const controller = new AbortController()
    const judge = agent(() => {
      controller.abort()
      return 'fine'
    })
    const ended: string[] = []
    const guardrail: Guardrail = {
      name: 'judge',
      output: async (check) => {
        ended.push((await judge.run('x', { parent: check })).stopReason)
        return undefined
      },
    }
    const result = await agent(['secret'], { guardrails: [guardrail] }).run('go', { signal: controller.signal })
    expect(result).toMatchObject({ stopReason: 'aborted', output: '' })
    expect(ended).toEqual(['aborted'])
  })
})

describe('nested agents', () => {
  it('P2.8 `asTool` takes `approval`: true, or a predicate over the arguments', async () => {
    const inner = agent(['Done.', 'Done.'])
    const tool = asTool(inner, { name: 'part', description: 'x', approval: ({ task }) => task !== 'small' })
    const outer = [
      {
        toolCalls: [
          { name: 'part', args: { task: 'small' } },
          { name: 'part', args: { task: 'large' } },
        ],
      },
      'All.',
    ]
    const paused = await agent(outer, { tools: [tool], journal: memoryJournal() }).run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'approval', args: { task: 'large' } }] })
    const refused = await agent(outer, { tools: [tool], approve: () => false }).run('go')
    expect(refused.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'denied'])
    expect(asTool(inner, { name: 'part', description: 'x', approval: true }).approval).toBe(true)
  })

  it('P2.8 `RunStep.toolCalls` has the names of the tools beside the ids', async () => {
    const { steps, toolCalls } = await agent(turns, { tools: [look] }).run('go')
    expect(steps.map((step) => step.toolCalls)).toEqual([[{ id: toolCalls[0]?.id, tool: 'look' }], []])
  })
})
