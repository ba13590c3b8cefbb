import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import type { DurableBody } from '../../src/agent/journal/journal.ts'
import { inputToJson, wholeResult } from '../../src/agent/runner/durable-run.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { hasToolCalls, type Json } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { deferTools } from '../../src/tools/deferred-tools.ts'
import { ToolRegistry, type ToolSet } from '../../src/tools/registry.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { expectValidHistory, resultTexts } from '../hazards/stage.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'
import { until } from '../hazards/waiting.ts'
import { durableOver, goneJournal } from './gone-journal.ts'
import { StrictJournal } from './strict-journal.ts'

failOnUnhandledRejections()

type Turns = Parameters<typeof scriptedModel>[0]

const logger = recordingLogger().logger
const usage = { inputTokens: 40, outputTokens: 10 }
const researcher = { name: 'research', description: 'Finds things out.' }
const research = (task = 'x') => ({ name: 'research', args: { task } })
const look = defineTool({ name: 'look', description: 'looks', execute: () => 'seen' })
const word = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const
const answer = (text: string) => ({ toolCalls: [{ name: 'final_answer', args: { word: text } }] })
const held = { capabilities: { nativeTools: true, structuredOutput: 'with-tools' as const } }

function agent(turns: Turns, options: Omit<RunnerOptions, 'model'> = {}) {
  return new AgentRunner({ model: scriptedModel(turns), logger, ...options })
}

const approved = <T extends object>(items: readonly T[]) => items.map((item) => ({ ...item, approved: true as const }))

describe('schemas of an answer, edge cases', () => {
  const Nested: z.ZodType = z.lazy(() => z.union([z.string(), z.array(Nested)]))
  const tree = ['a', ['b', []]]
  it.each<[string, object, Json]>([
    ['refers to itself (zod)', Nested, tree],
    ['refers to itself', { type: 'array', items: { anyOf: [{ type: 'string' }, { $ref: '#' }] } }, tree],
    ['has an id', { $id: 'https://example.com/s', type: 'array', items: { $ref: '#/$defs/s' }, $defs: { s: { type: 'string' } } }, ['a']],
    [
      'begins references with its id',
      { $id: 'https://example.com/t', type: 'array', items: { anyOf: [{ type: 'string' }, { $ref: 'https://example.com/t#' }] } },
      tree,
    ],
    [
      'points into itself',
      { type: 'array', items: { properties: { a: { type: 'string' }, b: { $ref: '#/items/properties/a' } } } },
      [{ b: 'x' }],
    ],
    [
      'has definitions that refer to it',
      { $ref: '#/definitions/list', definitions: { list: { type: 'array', items: { $ref: '#' } } } },
      [[], [[]]],
    ],
    [
      'is of draft 7',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: [{ type: 'string' }, { type: 'number' }] },
      ['a', 1],
    ],
  ])('a schema that is not an object’s, and %s', async (_what, output, value) => {
    const given = agent([{ toolCalls: [{ name: 'final_answer', args: { value } }] }])
    expect(await given.run('go', { output: output as z.ZodType })).toMatchObject({ stopReason: 'answered', output: value })
    const misfit = agent([{ toolCalls: [{ name: 'final_answer', args: { value: [{ b: 1 }] } }] }], { outputRetries: 0 })
    expect(await misfit.run('go', { output: output as z.ZodType })).toMatchObject({ stopReason: 'model_error' })
  })

  it('types: a literal needs no `as const`; an agent as a tool has the arguments of its parameters', async () => {
    const run = agent([answer('x')]).run('go', { output: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } })
    expectTypeOf((await run).output).toEqualTypeOf<{ word: string } | undefined>()
    const parameters = z.object({ n: z.string().transform(Number) })
    asTool(agent([]), { ...researcher, parameters, input: ({ n }) => `${expectTypeOf(n).toEqualTypeOf<number>()}` })
    asTool(agent([]), { ...researcher, input: ({ task }) => task })
  })

  it('a check that never settles does not hold up the run', async () => {
    const output = z.object({ word: z.string().refine(() => new Promise(() => {})) })
    const hanging = new AgentRunner({ model: scriptedModel(['{"word":"x"}'], held), logger, toolTimeoutMs: 20, outputRetries: 0 })
    expect(await hanging.run('go', { output })).toMatchObject({ stopReason: 'model_error', error: { code: 'invalid_output' } })
    const controller = new AbortController()
    const model = scriptedModel(['{"word":"x"}'], held)
    const aborted = new AgentRunner({ model, logger, outputRetries: 0 }).run('go', { output, signal: controller.signal })
    await until(() => model.requests.length === 1)
    controller.abort()
    expect(await aborted).toMatchObject({ stopReason: 'aborted', output: undefined })
  })
})

describe('steering, edge cases', () => {
  it('injected calls have results under their own ids', async () => {
    const control = new RunControl()
    const made = { id: 'c1', type: 'function' as const, function: { name: 'look', arguments: '{}' } }
    const tool = defineTool({
      name: 'look',
      description: 'looks',
      execute: () =>
        control.send([
          { role: 'assistant', content: '', toolCalls: [made] },
          { role: 'tool', toolCallId: 'c1', content: 'earlier' },
        ]),
    })
    const { messages } = await agent([{ toolCalls: [{ name: 'look', id: 'c1' }] }, 'Done.'], { tools: [tool] }).run('go', { control })
    expectValidHistory(messages)
    expect(messages.filter((message) => hasToolCalls(message))).toHaveLength(2)
    expect(messages.map(({ content }) => content)).toContain('earlier')
  })

  it('a run that started without a control can be resumed with one', async () => {
    const ask = defineTool({ name: 'ask', description: 'asks', approval: true, execute: () => 'done' })
    const runner = agent([{ toolCalls: [{ name: 'look' }] }, { toolCalls: [{ name: 'ask' }] }, 'Done, and more.'], { tools: [ask, look] })
    const { state, pending } = await runner.run('go')
    const stream = runner.resumeStream(state, { decisions: approved(pending) })
    stream.control.send('And more.')
    const result = await stream.result
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Done, and more.' })
    expect(result.messages.at(-2)).toMatchObject({ role: 'user', content: 'And more.' })
    expect(stream.control.waiting).toEqual([])
  })

  it('answers a message sent while the model answers, however the answer is given', async () => {
    const control = new RunControl()
    const first = () => {
      control.send('Another word.')
      return answer('one')
    }
    const result = await agent([first, answer('two')]).run('go', { control, output: word })
    expect(result).toMatchObject({ stopReason: 'answered', output: { word: 'two' }, iterations: 2 })
    expectValidHistory(result.messages)
  })
})

describe('nested runs, edge cases', () => {
  it('a resumed inner run has the context and the `approve` of the outer run', async () => {
    const seen: unknown[] = []
    const wipe = defineTool({
      name: 'wipe',
      description: 'wipes',
      approval: true,
      execute: (_args, { context }) => void seen.push(context),
    })
    const make = (outer: Turns, inner: Turns) => agent(outer, { tools: [asTool(agent(inner, { tools: [wipe] }), researcher)] })
    const paused = await make([{ toolCalls: [research()] }], [{ toolCalls: [{ name: 'wipe' }] }]).run('go', { context: 'Ann' })
    const decisions = approved(paused.pending) as never
    const resumed = make(['All done.'], [{ toolCalls: [{ name: 'wipe' }] }, 'Wiped.'])
    expect(await resumed.resume(paused.state, { decisions, context: 'Ann', approve: () => true })).toMatchObject({ output: 'All done.' })
    expect(seen).toEqual(['Ann', 'Ann'])
  })

  it('the `approve` of an inner runner decides on its own calls', async () => {
    const wipe = defineTool({ name: 'wipe', description: 'wipes', approval: true, execute: () => 'wiped' })
    const inside = agent([{ toolCalls: [{ name: 'wipe' }] }, ({ messages }) => String(messages.at(-1)?.content)], {
      tools: [wipe],
      approve: () => ({ approved: false, reason: 'never' }),
    })
    const outside = agent([{ toolCalls: [research()] }, 'done'], { tools: [asTool(inside, researcher)], approve: () => true })
    expect(resultTexts(await outside.run('go'))).toEqual(['The call to `wipe` was refused: never'])
  })

  it('H30 a nested run that its tool has abandoned ends with the outer run', async () => {
    const controller = new AbortController()
    const inside = agent([{ hang: true }])
    const left: Promise<unknown>[] = []
    const leave = defineTool({
      name: 'leave',
      description: 'leaves',
      execute: (_args, ctx) => void left.push(inside.run('go', { parent: ctx })),
    })
    const outside = agent([{ toolCalls: [{ name: 'leave' }] }, { hang: true }], { tools: [leave] })
    const running = outside.run('go', { signal: controller.signal })
    await until(() => left.length === 1)
    controller.abort()
    expect(await running).toMatchObject({ stopReason: 'aborted' })
    expect(await left[0]).toMatchObject({ stopReason: 'aborted' })
  })

  it('H2 the answer at an inner limit is a normal answer', async () => {
    const inside = agent([{ toolCalls: [{ name: 'look' }] }, 'Seen.'], { tools: [look], maxIterations: 1, onLimit: 'answer' })
    const silent = agent([{ toolCalls: [{ name: 'look' }] }], { tools: [look], maxIterations: 1 })
    const tools = [asTool(inside, researcher), asTool(silent, { ...researcher, name: 'silent' })]
    const result = await agent([{ toolCalls: [research(), { name: 'silent', args: { task: 'x' } }] }, 'done'], { tools }).run('go')
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', content: 'Seen.' }, { outcome: 'failed' }])
  })

  it('H8 P2.3 a retried call repeats nothing that its nested run has done; many nested runs at once share one budget', async () => {
    const inside = agent(() => ({ toolCalls: [{ name: 'look' }], usage }), { tools: [look], maxIterations: 2 })
    const again = { ...asTool(inside, researcher), retries: 1 }
    const result = await agent(
      [
        { toolCalls: [research()], usage },
        { text: 'done', usage },
      ],
      { tools: [again], limits: { tokens: 301 } },
    ).run('go')
    expect(result).toMatchObject({
      stopReason: 'answered',
      usage: { totalTokens: 200 },
      toolCalls: [{ attempts: 2, nested: { usage: { totalTokens: 100 } } }],
    })
    const quick = agent(() => ({ text: 'Seen.', usage }))
    const calls = Array.from({ length: 50 }, (_one, n) => research(String(n)))
    const many = (tokens: number) =>
      agent(
        [
          { toolCalls: calls, usage },
          { text: 'done', usage },
        ],
        { tools: [asTool(quick, researcher)], toolConcurrency: 50, limits: { tokens } },
      ).run('go')
    expect(await many(2601)).toMatchObject({ stopReason: 'answered', usage: { totalTokens: 2600 } })
    expect(await many(2550)).toMatchObject({ stopReason: 'budget', usage: { totalTokens: 2550 } })
  })
})

describe('handoff, edge cases', () => {
  const to = (agentTo: Parameters<typeof handoff>[0], name = 'other') => handoff(agentTo, { name, description: 'x' })
  const over = { toolCalls: [{ name: 'hand_off_to_other' }] }

  it('the tool that gives the answer has a unique name beside the other agent’s tools', async () => {
    const taken = defineTool({ name: 'final_answer', description: 'taken', execute: () => 'mine' })
    const model = scriptedModel([{ toolCalls: [{ name: 'final_answer_2', args: { word: 'x' } }] }])
    const result = await agent([over], { tools: [to(new AgentRunner({ model, logger, tools: [taken] }))] }).run('go', { output: word })
    expect(result).toMatchObject({ stopReason: 'answered', output: { word: 'x' } })
    expect(model.requests[0]?.tools?.map((tool) => tool.function.name)).toEqual(['final_answer', 'final_answer_2'])
  })

  it('a handoff fails if the tools of the agent can’t be loaded; the conversation does not move', async () => {
    let asked = 0
    const broken = {
      model: scriptedModel([]),
      get tools(): ToolSet {
        if (asked++ > 0) throw new Error('no tools')
        return new ToolRegistry()
      },
    }
    const result = await agent([over, 'Still me.'], { tools: [to(broken)] }).run('go')
    expect(result).toMatchObject({ output: 'Still me.', toolCalls: [{ outcome: 'failed' }] })
    expect(result).not.toHaveProperty('agent')
  })

  it('hooks and guardrails that change the result of the call neither lose nor invent a handoff', async () => {
    const run = (options: Omit<RunnerOptions, 'model'>) =>
      agent([over, 'Still me.'], { ...options, tools: [to(agent(['Mine.']))] }).run('go')
    expect(await run({ guardrails: [{ name: 'g', result: () => ({ replace: 'ok' }) }] })).toMatchObject({ output: 'Mine.', agent: 'other' })
    for (const made of [null, 'x', { tool: 1 }]) {
      expect(await run({ hooks: [{ beforeTool: () => ({ result: made }) }] })).toMatchObject({ output: 'Still me.' })
    }
  })

  it('the result names the agent even if the run ends with the handoff', async () => {
    const result = await agent([over], { tools: [to(agent([]))], stopWhen: () => true }).run('go')
    expect(result).toMatchObject({ stopReason: 'stopped', agent: 'other' })
  })

  it('a conversation can be handed over and back', async () => {
    const [here, there] = [new ToolRegistry(), new ToolRegistry()]
    const first = agent([over, 'Back.'], { tools: here, instructions: 'First.' })
    const second = agent([{ toolCalls: [{ name: 'hand_off_to_first' }] }], { tools: there, instructions: 'Second.' })
    here.register(to(second))
    there.register(to(first, 'first'))
    const result = await first.run('go')
    expect(result).toMatchObject({ output: 'Back.', agent: 'first' })
    expectValidHistory(result.messages)
  })
})

describe('CustomAgent, edge cases', () => {
  class Hidden extends CustomAgent {
    protected override onToolResult() {
      return { content: 'hidden' }
    }

    protected override shouldStop() {
      return true
    }
  }

  it('a run that a journal resumes in another process has the agent’s tools and override points', async () => {
    const bodies: DurableBody[] = []
    const journal = {
      connect(body: DurableBody) {
        bodies.push(body)
        return {} as never
      },
    }
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'never'])
    new Hidden({ model, logger, tools: [look], journal })
    const input = inputToJson({ messages: [{ role: 'user', content: 'go' }], given: 0, settings: {} })
    const stored = await bodies[0]?.(durableOver(), input)
    expect(wholeResult(stored ?? null)).toMatchObject({
      stopReason: 'stopped',
      toolCalls: [{ tool: 'look', outcome: 'ok', content: 'hidden' }],
    })
  })

  it('`stopWhen` and hooks of a run are added to those of the agent', async () => {
    const stopping = () => new Hidden({ model: scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'never']), logger, tools: [look] })
    const result = await stopping().run('go', { stopWhen: () => false, hooks: [] })
    expect(result).toMatchObject({ stopReason: 'stopped', toolCalls: [{ content: 'hidden' }] })
  })

  it('tools that can’t be loaded reject the run; `generate` loads them too', async () => {
    class Broken extends CustomAgent {
      readonly #why = 'no tools'
      override tools(): ToolSet {
        throw new Error(this.#why)
      }
    }
    const broken = new Broken({ model: scriptedModel([]), logger })
    const running = broken.run('go')
    await expect(running).rejects.toThrow('no tools')
    await expect(broken.resume(undefined)).rejects.toThrow('no tools')
    class Own extends CustomAgent {
      override tools() {
        return [look]
      }
    }
    const model = scriptedModel(['Hello.'])
    await new Own({ model, logger }).generate('go')
    expect(model.requests[0]?.tools).toHaveLength(1)
  })

  it('a run that a journal resumes in another process finds the same deferred tools', async () => {
    class Plain extends CustomAgent {}
    const { journal, bodies, inputs } = goneJournal()
    const script = () => scriptedModel([{ toolCalls: [{ name: 'call_tool', args: { name: 'look', arguments: {} } }] }, 'Done.'])
    const tools = () => deferTools(new ToolRegistry([look]))
    const start = () => new Plain({ model: script(), logger, tools: tools(), journal })
    await expect(start().run('go')).rejects.toThrow('the process is gone')
    start()
    const stored = await bodies[1]?.(durableOver(), inputs[0] ?? null)
    expect(wholeResult(stored ?? null)).toMatchObject({ stopReason: 'answered', toolCalls: [{ tool: 'look', content: 'seen' }] })
  })

  it('can be resumed as a stream', async () => {
    class Plain extends CustomAgent {}
    const wipe = defineTool({ name: 'wipe', description: 'wipes', approval: true, execute: () => 'wiped' })
    const plain = new Plain({ model: scriptedModel([{ toolCalls: [{ name: 'wipe' }] }, 'Wiped.']), logger, tools: [wipe] })
    const { state, pending } = await plain.run('go')
    let text = ''
    for await (const piece of plain.resumeStream(state, { decisions: approved(pending) }).text) text += piece
    expect(text).toBe('Wiped.')
  })
})

describe('how a run ends', () => {
  it('crashed at any moment, the run keeps its recorded limit on the length of the conversation', async () => {
    let windows = 0
    for (let crashAt = 1; ; crashAt++) {
      const capabilities = {
        nativeTools: true,
        // As of a model that is replaced while the run is down.
        get contextWindow() {
          return windows++ % 2 === 0 ? 150 : 1_000_000
        },
      }
      const turns: Turns = ({ messages }) => {
        const results = messages.filter(({ role }) => role === 'tool').length
        return results < 2 && messages.length < 6 ? { toolCalls: [{ name: 'look', args: {} }] } : 'Done.'
      }
      const journal = new StrictJournal(crashAt)
      const runner = new AgentRunner({ model: scriptedModel(turns, { capabilities }), logger, tools: [look], journal, compaction: {} })
      const messages = [{ role: 'user' as const, content: 'long '.repeat(200) }]
      expect(await runner.run('go', { messages }), `crash at ${crashAt}`).toMatchObject({ stopReason: 'answered' })
      const [before = [], after = before] = journal.executions
      expect(after.slice(0, before.length), `crash at ${crashAt}`).toEqual(before)
      if (journal.moments < crashAt) break
    }
  })

  it('H38 a guardrail that stops the run at its last answer ends it', async () => {
    const stop = { name: 'no', call: ({ tool }: { tool: string }) => (tool === 'final_answer' ? { stop: 'enough' } : undefined) }
    const runner = agent([{ toolCalls: [{ name: 'look' }] }, answer('x')], {
      tools: [look],
      maxIterations: 1,
      onLimit: 'answer',
      guardrails: [stop],
    })
    expect(await runner.run('go', { output: word })).toMatchObject({
      stopReason: 'refused',
      error: { code: 'guardrail' },
      output: undefined,
    })
    const words = { name: 'no', output: ({ text }: { text: string }) => (text === '' ? undefined : { stop: 'enough' }) }
    const inWords = agent([{ toolCalls: [{ name: 'look' }] }, 'x'], {
      tools: [look],
      maxIterations: 1,
      onLimit: 'answer',
      guardrails: [words],
    })
    expect(await inWords.run('go')).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' }, output: '' })
  })

  it('`approve` is given everything that waits at once', async () => {
    const wipe = defineTool({ name: 'wipe', description: 'wipes', approval: true, execute: () => 'wiped' })
    const told: string[] = []
    const runner = agent([{ toolCalls: [{ name: 'wipe' }, { name: 'wipe' }] }], {
      tools: [wipe],
      journal: {
        connect: (body) => {
          let result: Promise<unknown> = Promise.resolve()
          return {
            start: async (runId, input) => {
              const wait = async (name: string) => {
                told.push(`wait ${name}`)
                return { approved: false }
              }
              result = body({ ...durableOver(), runId, wait: wait as never }, input ?? null)
            },
            result: async () => (await result) as never,
            deliver: async () => {},
            cancel: async () => {},
            pending: async () => [],
          }
        },
      },
    })
    runner.on(Event.DECISION_NEEDED, ({ place }) => void told.push(`told ${place}`))
    await runner.run('go', { maxIterations: 1 })
    expect(told.map((what) => what.slice(0, 4))).toEqual(['told', 'told', 'wait', 'wait'])
  })
})

describe('the fields of a request', () => {
  it('leaves out a tool choice by name if that tool is not sent', async () => {
    const model = scriptedModel(['done'])
    const toolChoice = { type: 'function' as const, function: { name: 'wipe' } }
    const tools = ['look', 'wipe'].map((name) => defineTool({ name, description: name, execute: () => name }))
    const hooks = [{ beforeModel: () => ({ tools: ['look'] }) }]
    await new AgentRunner({ model, tools, toolChoice, hooks }).run('go')
    expect(model.requests[0]?.tools).toHaveLength(1)
    expect(model.requests[0]).not.toHaveProperty('toolChoice')
  })

  it('keeps provider data with a text that a hook has changed, and drops it with a withheld text', async () => {
    const turns = () => scriptedModel([{ text: 'Hello', providerData: { provider: 'scripted', data: { signature: 's' } } }])
    const hooks = [{ afterModel: () => ({ text: 'Hi' }) }]
    const changed = await new AgentRunner({ model: turns(), hooks }).run('go')
    expect(changed.messages.at(-1)).toMatchObject({ content: 'Hi', providerData: { data: { signature: 's' } } })
    const guardrails = [{ name: 'g', output: () => ({ replace: 'Hi' }) }]
    const masked = await new AgentRunner({ model: turns(), guardrails }).run('go')
    expect(masked.messages.at(-1)).toEqual({ role: 'assistant', content: 'Hi' })
  })
})
