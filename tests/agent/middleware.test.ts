import { expect, it } from 'vitest'
import { z } from 'zod'
import { Budget } from '../../src/agent/limits/budget.ts'
import { aroundCalls, aroundRequests, aroundTurns, callPlan, replyPlan, requestPlan } from '../../src/agent/middleware.ts'
import { resolveLimits } from '../../src/agent/options/limits.ts'
import { openRun } from '../../src/agent/runner/start-run.ts'
import type { OutputOptions, RunSettings } from '../../src/agent/types/options.ts'
import { EventBus } from '../../src/core/callbacks/event-bus.ts'
import { defaultLogger } from '../../src/core/logger.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

function layersOf(settings: RunSettings<never> & Partial<OutputOptions>, survivesCrashes = false) {
  const parts = {
    model: scriptedModel([]),
    tools: [],
    limits: resolveLimits(settings),
    settings,
    bus: new EventBus(),
    logger: defaultLogger,
  }
  const run = openRun(parts)
  const names = (layers: [name: string, layer: unknown][]) => layers.map(([name]) => name)
  run.dispose()
  return {
    request: names(requestPlan(run)),
    reply: names(replyPlan(run)),
    plan: names(callPlan(run)),
    turn: names(aroundTurns(run)),
    model: names(aroundRequests(run)),
    tool: names(aroundCalls(run, { survivesCrashes })),
  }
}

it('a call is planned by hooks and entries, then by guardrails; hooks are closest to its function', () => {
  const guardrails = [{ name: 'all', output: () => undefined, call: () => undefined, result: () => undefined }]
  const nothing = () => undefined
  const hooks = [
    { beforeModel: nothing, afterModel: nothing, beforeTool: nothing, afterTool: nothing, aroundModel: nothing, aroundTool: nothing },
  ]
  const plan = ['hooks and entries', 'guardrails: the call']
  const model = ['an empty response: once more', 'text held for guardrails', 'calls written as text', 'hooks and entries']
  const outside = ['only noted', 'concurrency', 'events', 'may have run', 'guardrails: the result']
  expect(layersOf({ hooks, guardrails }, true)).toEqual({
    request: ['hooks and entries'],
    reply: ['hooks', 'guardrails: the text'],
    plan,
    turn: [],
    model,
    tool: [...outside, 'hooks after the call', 'the plan’s result', 'hooks and entries'],
  })
  const entries = { plan: [{ name: 'p', call: nothing }], around: [{ name: 'a', request: nothing, call: nothing }] }
  expect(layersOf({ ...entries, guardrails }, true)).toEqual({
    request: [],
    reply: ['guardrails: the text'],
    plan,
    turn: [],
    model,
    tool: [...outside, 'the plan’s result', 'hooks and entries'],
  })
})

it('a request asks for an answer with a schema after hooks; a reply is read by the schema after hooks and guardrails', () => {
  const nothing = () => undefined
  const hooks = [{ beforeModel: nothing, afterModel: nothing }]
  const { request, reply } = layersOf({ output: z.object({}), hooks, guardrails: [{ name: 'all', output: nothing }] })
  expect(request).toEqual(['hooks and entries', 'the answer’s schema'])
  expect(reply).toEqual(['answers unwrapped', 'hooks', 'guardrails: the text', 'guardrails: answers', 'the answer’s schema'])
})

it('a budget is inside the hooks around a request', () => {
  const hooks = [{ aroundModel: () => undefined }]
  expect(layersOf({ hooks, budget: new Budget({ tokens: 1 }) }).model.slice(-2)).toEqual(['hooks and entries', 'within the budget'])
})

it('telemetry is outside everything except the wait for other calls', () => {
  const { model, tool } = layersOf({ telemetry: telemetry() })
  expect([model[0], ...tool]).toEqual(['telemetry', 'only noted', 'concurrency', 'telemetry', 'events'])
})

it('a turn waits for its budget inside the compaction, which takes it again', () => {
  expect(layersOf({ compaction: {}, budget: new Budget({ tokens: 1 }), onBudget: 'pause' }).turn).toEqual([
    'compaction',
    'wait for a budget',
  ])
})

it('a call that a preview notes passes nothing else', () => {
  expect(layersOf({ effects: 'preview' }).tool.slice(0, 3)).toEqual(['only noted', 'calls noted inside', 'concurrency'])
})

it('a run has only the layers it needs', () => {
  expect(layersOf({ budget: new Budget({ tokens: 1 }) }).model.at(-1)).toBe('within the budget')
  expect(layersOf({ toolCalling: 'native', hooks: [{}] })).toEqual({
    request: [],
    reply: [],
    plan: [],
    turn: [],
    model: ['an empty response: once more'],
    tool: ['only noted', 'concurrency', 'events'],
  })
  expect(layersOf({ guardrails: [{ name: 'in', input: () => undefined }] }).tool).toEqual(['only noted', 'concurrency', 'events'])
})
