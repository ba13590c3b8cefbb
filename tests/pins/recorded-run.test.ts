import { expect, it } from 'vitest'
import type { Durable } from '../../src/agent/durable/index.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { AgentRunner, asTool, defineTool, type Journal, type RunnerOptions } from '../../src/index.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startTracing } from '../telemetry/tracing.ts'
import { expectPinned } from './expect-pinned.ts'

const usage = { inputTokens: 9, outputTokens: 3, cacheReadTokens: 2, cacheWriteTokens: 1, reasoningTokens: 1, costUsd: 0.5 }

/** An agent that pays by itself, through another agent and in a script; each payment needs an approval. */
function openAgent(options: Partial<RunnerOptions>): AgentRunner {
  const { logger } = recordingLogger()
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const fail = defineTool({
    name: 'fail',
    description: 'Fails.',
    execute: () => {
      throw new Error('no')
    },
  })
  const bank = new AgentRunner({
    model: scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'pay' }], usage })),
    tools: [pay],
    logger,
  })
  const turns = [
    { toolCalls: [{ name: 'fail' }, { name: 'pay' }, { name: 'bank', args: { task: 'x' } }], usage },
    { toolCalls: [{ name: 'run_script', args: { code: 'return [await tools.look(), await tools.send_back()]' } }], usage },
    { text: 'Done.', usage },
  ]
  const model = scriptedModel(({ messages }) => turns[messages.filter(({ role }) => role === 'assistant').length] ?? 'Too far.')
  const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'seen' })
  const sendBack = defineTool({ name: 'send_back', description: 'Pays back.', approval: true, execute: () => 'sent' })
  const tools = codeMode([fail, pay, asTool(bank, { name: 'bank', description: 'Pays.' }), look, sendBack], {
    keep: ['fail', 'pay', 'bank'],
  })
  return new AgentRunner({ model, tools, logger, ...options })
}

/** Runs it to its end, approving whatever waits. */
async function runToEnd(options: Partial<RunnerOptions>): Promise<void> {
  let result = await openAgent(options).run('go', { runId: 'run' })
  for (let times = 0; result.stopReason === 'paused' && times < 5; times++) {
    const decisions = result.pending.map((item) => ({ ...item, approved: true as const }))
    result = await openAgent(options).resume(result.state ?? result.runId, { decisions })
  }
  expect(result).toMatchObject({ stopReason: 'answered', output: 'Done.' })
}

/** A journal that passes on each key that a run stores something under. */
function watchedJournal(onKey: (key: string) => void): Journal {
  const journal = memoryJournal()
  const watched = (durable: Durable): Durable =>
    new Proxy(durable, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          if (['step', 'wait', 'append', 'keep'].includes(String(name))) onKey(`${String(name)} ${args[0]}`)
          return Reflect.apply(member, target, args)
        }
      },
    })
  return { connect: (body) => journal.connect((durable, input) => body(watched(durable), input)) }
}

it('the keys of what is stored of a run with approvals, an agent and a script', async () => {
  const lines: string[] = []
  await runToEnd({ journal: watchedJournal((key) => lines.push(key)) })
  expectPinned('step-keys.txt', lines)
})

it.each([
  ['latest', 'opentelemetry.txt'],
  ['1.37', 'opentelemetry-1.37.txt'],
] as const)('the spans, attributes, span events and metrics, by the conventions %s', async (semconv, file) => {
  await using tracing = startTracing()
  const { tracer, meter } = tracing
  await runToEnd({ telemetry: telemetry({ tracer, meter, semconv, content: true }) })
  const spans = tracing.spans().flatMap(({ name, attributes, events }) => {
    const [operation] = name.split(' ')
    const happened = events.flatMap((event) => [
      `event ${event.name}`,
      ...Object.keys(event.attributes ?? {}).map((key) => `event ${event.name}: ${key}`),
    ])
    return [`span ${name}`, ...Object.keys(attributes).map((key) => `span ${operation}: ${key}`), ...happened]
  })
  const metrics = (await tracing.metrics()).flatMap(({ descriptor: { name, unit }, dataPoints }) => [
    `metric ${name} in ${unit}`,
    ...dataPoints.flatMap(({ attributes }) => Object.keys(attributes).map((key) => `metric ${name}: ${key}`)),
  ])
  expectPinned(file, [...spans, ...metrics])
})
