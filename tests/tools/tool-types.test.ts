import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { Content, JsonObject } from '../../src/core/messages.ts'
import { type AnyTool, defineTool, type JsonSchema, type Reconciled, type ToolContext } from '../../src/tools/tool.ts'

describe('types of a tool', () => {
  it('infer the arguments of `execute` from the schema', () => {
    defineTool({
      name: 't',
      description: '',
      parameters: z.object({ a: z.string(), b: z.coerce.number().default(1) }),
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ a: string; b: number }>(),
    })
    defineTool({
      name: 't',
      description: '',
      parameters: toStandardJsonSchema(v.object({ a: v.optional(v.string()) })),
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ a?: string | undefined }>(),
    })
    defineTool({
      name: 't',
      description: '',
      parameters: type({ a: 'number[]' }),
      execute: (args) => expectTypeOf(args).toEqualTypeOf<{ a: number[] }>(),
    })
    defineTool({ name: 't', description: '', execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>() })
    expect.assertions(0)
  })

  it('infer them from a literal JSON Schema too', () => {
    defineTool({
      name: 't',
      description: '',
      parameters: {
        type: 'object',
        properties: {
          text: { type: 'string' },
          count: { type: 'integer' },
          on: { type: 'boolean' },
          kind: { enum: ['a', 'b'] },
          list: { type: 'array', items: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
          either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          both: { type: ['string', 'number'] },
        },
        required: ['text', 'list'],
      },
      execute: (args) =>
        expectTypeOf(args).toEqualTypeOf<{
          text: string
          list: { x: number }[]
          count?: number
          on?: boolean
          kind?: 'a' | 'b'
          either?: string | null
          both?: string | number
        }>(),
    })
    const parameters: Record<string, unknown> = { type: 'object' }
    defineTool({ name: 't', description: '', parameters, execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>() })
    expect.assertions(0)
  })

  it('pass what `execute` resolves with to `toContent`, and the same arguments to `reconcile`', () => {
    const tool = defineTool({
      name: 't',
      description: '',
      parameters: z.object({ a: z.string() }),
      execute: async ({ a }) => ({ length: a.length }),
      toContent: (value) => {
        expectTypeOf(value).toEqualTypeOf<{ length: number }>()
        return String(value.length)
      },
      reconcile: (args): Reconciled => {
        expectTypeOf(args).toEqualTypeOf<{ a: string }>()
        return { ran: false }
      },
    })
    expectTypeOf(tool.toContent).toEqualTypeOf<((value: never) => Content) | undefined>()
    expectTypeOf(tool).toExtend<AnyTool>()
    expect(tool.name).toBe('t')
  })

  it('have the caller’s own context type', () => {
    const tool = defineTool({
      name: 't',
      description: '',
      execute: (_args, ctx: ToolContext<{ user: string }>) => ctx.context.user,
    })
    expectTypeOf(tool).toExtend<AnyTool>()
    expect(tool.execute?.({}, { context: { user: 'ann' } } as ToolContext<{ user: string }>)).toBe('ann')
  })

  it('report a mistyped option, not the schema', () => {
    const parameters = z.object({ a: z.string() })
    const mistyped = [
      () =>
        defineTool({
          name: 't',
          // @ts-expect-error
          descripton: 'd',
          parameters,
          execute: ({ a }) => a,
        }),
      () =>
        defineTool({
          name: 't',
          // @ts-expect-error
          descripton: 'd',
          parameters: type({ a: 'string' }),
        }),
      () =>
        defineTool({
          name: 't',
          // @ts-expect-error
          descripton: 'd',
          parameters: { type: 'object', properties: { a: { type: 'string' } } },
          execute: ({ a }) => a,
        }),
      () =>
        asTool(new AgentRunner({ model: 'demo' }), {
          name: 't',
          // @ts-expect-error
          descripton: 'd',
          parameters,
        }),
    ]
    for (const define of mistyped) expect(define).toThrow('did you mean `description`?')
  })

  it('E4.1 refuse fields in place of a schema', () => {
    const t = { name: 't', description: '' } as const
    const agent = new AgentRunner({ model: 'demo' })
    const wrong = [
      // @ts-expect-error
      () => defineTool({ ...t, parameters: { city: z.string() } }),
      // @ts-expect-error
      () => defineTool({ ...t, parameters: { city: { type: 'string' } } }),
      // @ts-expect-error
      () => defineTool({ ...t, parameters: { city: 'string' } }),
      // @ts-expect-error
      () => defineTool({ ...t, parameters: { title: z.string(), description: z.string() } }),
      // @ts-expect-error
      () => defineTool({ ...t, parameters: { type: 'object', city: { type: 'string' } } }),
      // @ts-expect-error
      () => defineTool({ ...t, parameters: { type: 'object', properties: {}, unit: { enum: ['C', 'F'] } } }),
      // @ts-expect-error
      () => defineTool({ ...t, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['town'] } }),
      // @ts-expect-error
      () => asTool(agent, { ...t, parameters: { city: z.string() } }),
    ]
    for (const define of wrong) expect(define).toThrow('Tool `t`: expected')
  })

  it('E4.1 accept a schema that is not a literal, or that others have extended', () => {
    const t = { name: 't', description: '' } as const
    const text = { type: 'string' }
    const parameters = { type: 'object', properties: { city: text }, required: ['city'] }
    defineTool({ ...t, parameters, execute: (args) => args })
    defineTool({ ...t, parameters: {} })
    defineTool({
      ...t,
      parameters: { type: 'object', properties: { type: text, items: text }, required: ['type'], 'x-ui': { type: 'string' } },
    })
    defineTool({ ...t, parameters: { anyOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }], required: ['b'] } })
    const of = <const S extends JsonSchema>(schema: S) => defineTool({ ...t, parameters: schema as JsonSchema })
    expect(of({ type: 'object' }).name).toBe('t')
  })

  it('pass an agent’s task, or the output of its own schema, to an agent as a tool', () => {
    const agent = new AgentRunner({ model: 'demo' })
    const parameters = z.object({ a: z.string().transform(Number) })
    asTool(agent, { name: 't', description: 'd', input: (args) => expectTypeOf(args).toEqualTypeOf<{ task: string }>() && '' })
    asTool(agent, { name: 't', description: 'd', parameters, input: (args) => expectTypeOf(args).toEqualTypeOf<{ a: number }>() && '' })
    expect.assertions(0)
  })

  it('allow a tool to be made from any other', () => {
    const tool: AnyTool = defineTool({
      name: 't',
      description: 'd',
      parameters: z.object({ a: z.string() }),
      approval: ({ a }) => a === '',
    })
    expect(defineTool({ ...tool, name: 'u' })).toEqual({ ...tool, name: 'u' })
  })
})
