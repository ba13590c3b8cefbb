import { expect, it } from 'vitest'
import { modelLayers, toolLayers } from '../../src/agent/layers.ts'
import { Budget } from '../../src/agent/limits/budget.ts'
import { resolveLimits } from '../../src/agent/limits/limits.ts'
import { openRun } from '../../src/agent/run/start-run.ts'
import type { RunSettings } from '../../src/agent/types.ts'
import { EventBus } from '../../src/core/callbacks/event-bus.ts'
import { defaultLogger } from '../../src/core/logger.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

function layersOf(settings: RunSettings<never>, survivesCrashes = false): { model: string[]; tool: string[] } {
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
  return { model: names(modelLayers(run)), tool: names(toolLayers(run, { survivesCrashes })) }
}

it('what stands around a request and a call, outermost first', () => {
  const guardrails = [{ name: 'all', output: () => undefined, call: () => undefined, result: () => undefined }]
  expect(layersOf({ hooks: [{}], guardrails }, true)).toEqual({
    model: ['an empty response: once more', 'text held for guardrails', 'calls written as text'],
    tool: ['concurrency', 'events', 'may have run', 'guardrails: the result', 'hooks', 'guardrails: the call'],
  })
})

it('hooks around a request and a function stand closest to them', () => {
  const guardrails = [{ name: 'all', call: () => undefined }]
  const hooks = [{ aroundModel: () => undefined, aroundTool: () => undefined }]
  expect(layersOf({ hooks, guardrails })).toEqual({
    model: ['an empty response: once more', 'calls written as text', 'hooks around the request'],
    tool: ['concurrency', 'events', 'hooks', 'guardrails: the call', 'hooks around the function'],
  })
})

it('a budget stands inside of the hooks around a request', () => {
  const hooks = [{ aroundModel: () => undefined }]
  expect(layersOf({ hooks, budget: new Budget({ tokens: 1 }) }).model.slice(-2)).toEqual(['hooks around the request', 'within the budget'])
})

it('telemetry stands outside of everything but the wait for other calls', () => {
  const { model, tool } = layersOf({ telemetry: telemetry() })
  expect([model[0], ...tool]).toEqual(['telemetry', 'concurrency', 'telemetry', 'events'])
})

it('a run has only the layers it needs', () => {
  expect(layersOf({ budget: new Budget({ tokens: 1 }) }).model.at(-1)).toBe('within the budget')
  expect(layersOf({ toolCalling: 'native' })).toEqual({ model: ['an empty response: once more'], tool: ['concurrency', 'events'] })
  expect(layersOf({ guardrails: [{ name: 'in', input: () => undefined }] }).tool).toEqual(['concurrency', 'events'])
})
