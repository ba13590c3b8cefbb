import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createAgentRunner } from '../../src/backends/index.ts'
import {
  AgentRunner,
  type AnyTool,
  asTool,
  BaseTool,
  CustomAgent,
  defineTool,
  type ErrorCode,
  handoff,
  type Journal,
  type JsonObject,
  type PerformedRun,
  type PerformRun,
  type RunResult,
  type StopReason,
  type ToolCallRecord,
  type ToolContext,
  type ToolloopError,
  ToolRegistry,
} from '../../src/index.ts'
import { memoryJournal, scriptedModel } from '../../src/testing/index.ts'

interface User {
  user: string
}
interface Tenant {
  tenant: string
}

const add = defineTool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.string().transform(Number), b: z.number() }),
  execute: async ({ a, b }) => a + b,
})
const ask = defineTool({ name: 'ask', description: 'asks', execute: (_args, { context }: ToolContext<User>) => ({ by: context.user }) })
const bill = defineTool({ name: 'bill', description: 'bills', execute: (_args, { context }: ToolContext<Tenant>) => context.tenant })

class Stock extends BaseTool<{ item: string }, User> {
  readonly name = 'stock'
  readonly description = 'stock'
  readonly parameters = { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] }
  execute({ item }: { item: string }, { context }: ToolContext<User>) {
    return [item, context.user]
  }
}

const context = { user: 'ann' }
const model = () => scriptedModel(['Hello'])

/** Compiled, not run. */
const compiled = (_code: () => unknown) => expect.assertions(0)

describe('the context of a run', () => {
  it('is required if the tools, the instructions or the agent’s type declare one', () =>
    compiled(async () => {
      const byTools = new AgentRunner({ model: 'demo', tools: [add, ask] })
      expectTypeOf(byTools).toExtend<AgentRunner<User>>()
      await byTools.run('go', { context })
      // @ts-expect-error
      await byTools.run('go')
      // @ts-expect-error
      await byTools.run('go', {})
      // @ts-expect-error
      await byTools.run('go', { output: z.string() })
      // @ts-expect-error
      byTools.stream('go')
      // @ts-expect-error
      await byTools.resume(undefined, { decisions: [] })
      // @ts-expect-error
      byTools.resumeStream(undefined)
      const byInstructions = new AgentRunner({ model: 'demo', instructions: (input: { context: User }) => input.context.user })
      // @ts-expect-error
      await byInstructions.run('go')
      const byType = new AgentRunner<User>({ model: 'demo' })
      // @ts-expect-error
      await byType.run('go')
      // @ts-expect-error
      await byType.run('go', { context: { tenant: 'x' } })
    }))

  it('is optional if there is none, or if it may be undefined', () =>
    compiled(async () => {
      await new AgentRunner({ model: 'demo' }).run('go')
      await new AgentRunner({ model: 'demo', tools: [add] }).run('go')
      await new AgentRunner({ model: 'demo', tools: [add] }).run('go', { context })
      await new AgentRunner({ model: 'demo', tools: [add as AnyTool, add] }).run('go')
      await new AgentRunner({ model: 'demo', tools: new ToolRegistry([ask]) }).run('go')
      await new AgentRunner<User | undefined>({ model: 'demo' }).run('go')
    }))

  it('is that of the call if the run is started in a call', () =>
    compiled((ctx?: ToolContext<User>) => ctx && new AgentRunner({ model: 'demo', tools: [ask] }).run('go', { parent: ctx })))

  it('is required by a custom agent', () =>
    compiled(async () => {
      class Own extends CustomAgent<User> {}
      const own = new Own({ model: 'demo', tools: [ask, new Stock()] })
      await own.run('go', { context })
      // @ts-expect-error
      await own.run('go')
      // @ts-expect-error
      own.stream('go', {})
      class Plain extends CustomAgent {}
      await new Plain({ model: 'demo' }).run('go')
    }))

  it('P1.1 must be restored if runs are recorded: by `restore`, with the context', () =>
    compiled(async () => {
      const journal = memoryJournal()
      const maybe = journal as Journal | undefined
      // @ts-expect-error
      new AgentRunner({ model: 'demo', tools: [ask], journal })
      // @ts-expect-error
      new AgentRunner<User>({ model: 'demo', journal })
      // @ts-expect-error
      new AgentRunner<User>({ model: 'demo', journal: maybe })
      // @ts-expect-error
      await createAgentRunner<User>({ model: 'demo', journal })
      // @ts-expect-error no context
      new AgentRunner<User>({ model: 'demo', journal, restore: () => ({ hooks: [] }) })
      // @ts-expect-error another context
      new AgentRunner<User>({ model: 'demo', journal, restore: () => ({ context: { tenant: 'x' } }) })
      // @ts-expect-error tools for another context
      new AgentRunner<User>({ model: 'demo', journal, restore: () => ({ context, tools: [bill] }) })
      const restored = new AgentRunner({ model: 'demo', tools: [ask], journal: maybe, restore: async () => ({ context, tools: [ask] }) })
      expectTypeOf(restored).toExtend<AgentRunner<User>>()
      new AgentRunner<User>({
        model: 'demo',
        journal,
        restore: ({ runId, metadata }) => ({ context: { user: String(metadata?.[runId]) } }),
      })
      await createAgentRunner<User>({ model: 'demo', journal, restore: () => ({ context }) })
      new AgentRunner({ model: 'demo', journal })
      new AgentRunner({ model: 'demo', journal, restore: () => ({}) })
      new AgentRunner<User | undefined>({ model: 'demo', journal })
      new AgentRunner<User>({ model: 'demo' })
    }))

  it('is what its tools need, even if they are agents', () =>
    compiled(() => {
      const helper = new AgentRunner({ model: 'demo', tools: [ask] })
      const runner = new AgentRunner({
        model: 'demo',
        tools: [asTool(helper, { name: 'help', description: '' }), handoff(helper, { name: 'helper', description: '' })],
      })
      // @ts-expect-error
      void runner.run('go')
      // @ts-expect-error
      new AgentRunner<User>({ model: 'demo', tools: [bill] })
      new AgentRunner<User & Tenant>({ model: 'demo', tools: [ask, bill, add, new Stock()] })
      // @ts-expect-error
      void new AgentRunner<User>({ model: 'demo' }).run('go', { context, tools: [bill] })
      // @ts-expect-error
      void new AgentRunner<Tenant>({ model: 'demo', tools: [new Stock()] })
      class Own extends CustomAgent<Tenant> {}
      // @ts-expect-error
      new Own({ model: 'demo', tools: [ask] })
      void new AgentRunner<User>({ model: 'demo', tools: [ask as AnyTool, ...[add]] })
      void new AgentRunner<User>({
        model: 'demo',
        tools: [defineTool({ name: 'i', description: '', execute: (_args, ctx) => expectTypeOf(ctx.context).toEqualTypeOf<User>() })],
      })
    }))
})

describe('tools that each need a part of the context', () => {
  const both = { user: 'ann', tenant: 'x' }

  it('E4.2 need all parts together', () =>
    compiled(async () => {
      const runner = new AgentRunner({ model: 'demo', tools: [add, ask, bill, new Stock()] })
      await runner.run('go', { context: both })
      const { toolCalls } = await runner.stream('go', { context: both }).result
      for (const call of toolCalls)
        if (call.outcome === 'ok' && call.tool === 'bill') expectTypeOf(call.value).toEqualTypeOf<string | undefined>()
      await runner.run('go', { context: both, tools: [bill] })
      // @ts-expect-error
      await runner.run('go', { context })
      // @ts-expect-error
      await runner.run('go', { context: { tenant: 'x' } })
      // @ts-expect-error
      await runner.resume(undefined, { context })
      // @ts-expect-error
      await runner.run('go')
      const made = await createAgentRunner({ model: 'demo', tools: [ask, bill] })
      await made.run('go', { context: both })
      // @ts-expect-error
      await made.run('go', { context })
    }))

  it('E4.2 give hooks, approvals, instructions and `restore` the whole context', () =>
    compiled(() => {
      new AgentRunner({
        model: 'demo',
        tools: [ask, bill],
        journal: memoryJournal(),
        restore: async () => ({ context: both }),
        instructions: (input) => `${input.context.user} of ${input.context.tenant}`,
        approve: (request) => request.context.user === request.context.tenant,
        hooks: [{ beforeTool: (call) => expectTypeOf(call.context).toEqualTypeOf<User & Tenant>() && undefined }],
      })
      // @ts-expect-error a part of it
      new AgentRunner({ model: 'demo', tools: [ask, bill], journal: memoryJournal(), restore: () => ({ context }) })
      // @ts-expect-error nothing of it
      new AgentRunner({ model: 'demo', tools: [ask, bill], journal: memoryJournal() })
    }))

  it('E4.2 need it of the outer agent too, if their agent is a tool or a handoff target', () =>
    compiled(async () => {
      const helper = new AgentRunner({ model: 'demo', tools: [ask, bill] })
      const runner = new AgentRunner({ model: 'demo', tools: [asTool(helper, { name: 'h', description: '' })] })
      await runner.run('go', { context: both })
      // @ts-expect-error
      await runner.run('go', { context })
      const handing = new AgentRunner({ model: 'demo', tools: [handoff(helper, { name: 'h', description: '' }), add] })
      // @ts-expect-error
      await handing.run('go', { context })
      const plain: AgentRunner<User & Tenant> = helper
      await plain.run('go', { context: both })
    }))

  it('E4.2 include what the instructions need', () =>
    compiled(async () => {
      const runner = new AgentRunner({ model: 'demo', tools: [bill], instructions: (input: { context: User }) => input.context.user })
      await runner.run('go', { context: both })
      // @ts-expect-error
      await runner.run('go', { context })
    }))
})

describe('the calls of a result', () => {
  it('are narrowed by their tool and outcome', async () => {
    const { toolCalls } = await new AgentRunner({
      model: scriptedModel([
        {
          toolCalls: [
            { name: 'add', args: { a: '1', b: 2 } },
            { name: 'stock', args: { item: 'x' } },
          ],
        },
        'Hello',
      ]),
      tools: [add, new Stock(), ask],
    }).run('go', { context })
    const seen: unknown[] = []
    for (const call of toolCalls) {
      expectTypeOf(call.tool).toEqualTypeOf<string>()
      if (call.tool === 'add') {
        if (call.outcome !== 'ok') continue
        expectTypeOf(call.args).toEqualTypeOf<{ a: string; b: number }>()
        expectTypeOf(call.value).toEqualTypeOf<number | undefined>()
        seen.push(call.args.a, call.value)
      }
      if (call.tool === 'stock' && call.outcome === 'ok') {
        expectTypeOf(call.args).toEqualTypeOf<{ item: string }>()
        expectTypeOf(call.value).toEqualTypeOf<string[] | undefined>()
        seen.push(call.args.item, call.value)
      }
      if (call.outcome !== 'ok') expectTypeOf(call.args).toEqualTypeOf<JsonObject | undefined>()
      // @ts-expect-error no tool of that name
      if (call.outcome === 'ok' && call.tool === 'nothing') seen.push(call)
    }
    expect(seen).toEqual(['1', 3, 'x', ['x', 'ann']])
  })

  it('are of any tool if the compiler does not know all tools', () =>
    compiled(async () => {
      const untyped = async (runner: AgentRunner) => (await runner.run('go')).toolCalls
      expectTypeOf(untyped).returns.resolves.toEqualTypeOf<ToolCallRecord[]>()
      const list: AnyTool[] = [add]
      const one = await new AgentRunner({ model: 'demo', tools: list }).run('go')
      expectTypeOf(one.toolCalls).toEqualTypeOf<ToolCallRecord[]>()
      const set = await new AgentRunner({ model: 'demo', tools: new ToolRegistry([add]) }).run('go')
      expectTypeOf(set.toolCalls).toEqualTypeOf<ToolCallRecord[]>()
      const helper = new AgentRunner({ model: 'demo' })
      const handed = await new AgentRunner({ model: 'demo', tools: [add, handoff(helper, { name: 'h', description: '' })] }).run('go')
      for (const call of handed.toolCalls)
        if (call.tool === 'add' && call.outcome === 'ok') expectTypeOf(call.value).toEqualTypeOf<unknown>()
      const replaced = await new AgentRunner({ model: 'demo', tools: [add] }).run('go', { tools: new ToolRegistry([ask]) })
      expectTypeOf(replaced.toolCalls).toEqualTypeOf<ToolCallRecord[]>()
    }))

  it('are narrowed if the type of the context is given by hand, with that of the tools', () =>
    compiled(async () => {
      const tools = [add, ask]
      const { toolCalls } = await new AgentRunner<User & Tenant, typeof tools>({ model: 'demo', tools }).run('go', {
        context: { ...context, tenant: 'x' },
      })
      for (const call of toolCalls) {
        if (call.outcome === 'ok' && call.tool === 'add') expectTypeOf(call.value).toEqualTypeOf<number | undefined>()
        if (call.outcome === 'ok' && call.tool === 'ask') expectTypeOf(call.value).toEqualTypeOf<{ by: string } | undefined>()
      }
      // @ts-expect-error its tools need another context, too
      await new AgentRunner<Tenant, typeof tools>({ model: 'demo', tools }).run('go', { context: { tenant: 'x' } })
    }))

  it('are narrowed, and the context is checked, on any backend', () =>
    compiled(async () => {
      const runner = await createAgentRunner({ model: 'demo', tools: [add, ask], backend: 'native' })
      // @ts-expect-error
      await runner.run('go')
      const { toolCalls } = await runner.run('go', { context })
      for (const call of toolCalls)
        if (call.outcome === 'ok' && call.tool === 'ask') expectTypeOf(call.value).toEqualTypeOf<{ by: string } | undefined>()
      // @ts-expect-error
      await createAgentRunner<User>({ model: 'demo', tools: [bill] })
      await (await createAgentRunner({ model: 'demo' })).run('go')
      await (await createAgentRunner<User>({ model: 'demo', tools: [ask] })).run('go', { context })
    }))

  it('include the tools that only the run is given', () =>
    compiled(async () => {
      const { toolCalls } = await new AgentRunner<User>({ model: 'demo', tools: [add] }).run('go', { tools: [ask], context })
      for (const call of toolCalls)
        if (call.outcome === 'ok' && call.tool === 'ask') expectTypeOf(call.value).toEqualTypeOf<{ by: string } | undefined>()
    }))

  it('a typed result is assignable to a result of any tools, and has its output', async () => {
    const runner = new AgentRunner({ model: model(), tools: [add, new Stock()] })
    const result = await runner.run('go', { context })
    const any: RunResult = result
    const plain: AgentRunner<User> = runner
    expectTypeOf(plain.tools).toExtend<{ size: number }>()
    expectTypeOf(result.output).toEqualTypeOf<string>()
    expect(any.output).toBe('Hello')
    compiled(async () => {
      const { output } = await runner.run('go', { context, output: z.object({ a: z.number() }) })
      expectTypeOf(output).toEqualTypeOf<{ a: number } | undefined>()
      const { result: streamed } = runner.stream('go', { context, output: z.object({ a: z.number() }) })
      expectTypeOf((await streamed).output).toEqualTypeOf<{ a: number } | undefined>()
    })
    expect.assertions(1)
  })
})

describe('the stop reason of a result', () => {
  const schema = z.object({ a: z.number().transform(String) })

  it('E4.3 narrows its output, even after destructuring', () =>
    compiled(async () => {
      const result = await new AgentRunner({ model: 'demo' }).run('go', { output: schema })
      expectTypeOf(result.output).toEqualTypeOf<{ a: string } | undefined>()
      if (result.stopReason === 'answered') expectTypeOf(result.output).toEqualTypeOf<{ a: string }>()
      else expectTypeOf(result.output).toEqualTypeOf<{ a: string } | undefined>()
      const { stopReason, output, error } = await new AgentRunner({ model: 'demo' }).stream('go', { output: schema }).result
      if (stopReason === 'answered') expectTypeOf(output.a).toEqualTypeOf<string>()
      if (stopReason === 'answered') expectTypeOf(error).toEqualTypeOf<undefined>()
      if (stopReason === 'model_error') expectTypeOf(error.code).toEqualTypeOf<ErrorCode>()
      switch (result.stopReason) {
        case 'answered':
          return result.output.a
        case 'aborted':
        case 'refused':
        case 'model_error':
          return result.error.message
        case 'paused':
          return result.pending.length
        default:
          return result.error?.message ?? result.text
      }
    }))

  it('E4.3 is that of text without a schema; no check is needed', () =>
    compiled(async () => {
      const result = await new AgentRunner({ model: 'demo', tools: [add] }).run('go')
      expectTypeOf(result.output).toEqualTypeOf<string>()
      expectTypeOf(result.text).toEqualTypeOf<string>()
      expectTypeOf(result.error).toEqualTypeOf<ToolloopError | undefined>()
      expectTypeOf(result.stopReason).toEqualTypeOf<StopReason>()
      if (result.stopReason === 'answered') expectTypeOf(result.output).toEqualTypeOf<string>()
      for (const call of result.toolCalls)
        if (call.tool === 'add' && call.outcome === 'ok') expectTypeOf(call.args.a).toEqualTypeOf<string>()
      const summary = ({ output, usage, state }: RunResult) => [output, usage.inputTokens, state?.runId]
      const any: RunResult<unknown, unknown> = result
      return [summary(result), any, { ...result, output: 'other' } satisfies RunResult]
    }))

  it('E4.3 narrows the result of a custom agent, which may pass on its type arguments', () =>
    compiled(async () => {
      class Own extends CustomAgent {
        override async perform(run: PerformedRun, next: PerformRun): Promise<RunResult> {
          const result = await next({ input: `${String(run.input)}!` })
          return result.stopReason === 'answered' ? { ...result, output: result.output.trim() } : result
        }
      }
      const result = await new Own({ model: 'demo' }).run('go', { output: schema })
      if (result.stopReason === 'answered') expectTypeOf(result.output).toEqualTypeOf<{ a: string }>()
      const resumed = await new Own({ model: 'demo' }).resume(result.state, { output: schema })
      if (resumed.stopReason === 'answered') expectTypeOf(resumed.output).toEqualTypeOf<{ a: string }>()
      const wrapped = async <T>(run: Promise<RunResult<T>>): Promise<T | undefined> => (await run).output
      expectTypeOf(await wrapped(new AgentRunner({ model: 'demo' }).run('go'))).toEqualTypeOf<string | undefined>()
    }))

  it('E4.3 is `model_error` if a recorded answer does not fit another schema that is requested later', async () => {
    const journal = memoryJournal()
    const runner = new AgentRunner({ model: scriptedModel(['{"a":1}']), journal })
    const first = await runner.run('go', { runId: 'r', output: schema })
    expect(first).toMatchObject({ stopReason: 'answered', output: { a: '1' } })
    expect(await runner.resume('r', { output: schema })).toMatchObject({ stopReason: 'answered', output: { a: '1' } })
    const other = await runner.resume('r', { output: z.object({ b: z.string() }) })
    expect(other).toMatchObject({ stopReason: 'model_error', output: undefined, text: '{"a":1}', error: { code: 'invalid_output' } })
  })
})
