import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import type { ScriptedTurn } from '../../src/testing/script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from './recording-logger.ts'
import { expectPairedEvents, expectValidHistory, watchCalls } from './stage.ts'
import { failOnUnhandledRejections } from './unhandled.ts'
import { timersLeft, within100Ms } from './waiting.ts'

failOnUnhandledRejections()
afterEach(() => {
  vi.useRealTimers()
})

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
}

describe('functions that ignore their signal', () => {
  const neverAgain = () => new Promise<never>(() => {})
  const look = { name: 'look', description: 'looks', parameters: { type: 'object' } as const, execute: () => 'fine' }
  const callsLook: ScriptedTurn = { toolCalls: [{ name: 'look' }] }
  /** Each hangs in another place and ignores its signal. `reached` is called when it hangs. */
  const deafPlaces: Record<string, (reached: () => void) => Omit<RunnerOptions, 'model'> & { turn?: ScriptedTurn }> = {
    'a model': () => ({ turn: { text: 'Hm', deaf: true } }),
    'a tool': (reached) => ({
      tools: [
        defineTool({
          ...look,
          execute: () => {
            reached()
            return neverAgain()
          },
        }),
      ],
    }),
    'the decision whether an approval is needed': (reached) => ({
      tools: [
        defineTool({
          ...look,
          approval: () => {
            reached()
            return neverAgain()
          },
        }),
      ],
    }),
    'an approval': (reached) => ({
      tools: [defineTool({ ...look, approval: true })],
      approve: () => {
        reached()
        return neverAgain()
      },
    }),
    'the check of the arguments': (reached) => ({
      tools: [
        defineTool({
          ...look,
          parameters: z.object({}).refine(() => {
            reached()
            return neverAgain()
          }),
        }),
      ],
    }),
    'the instructions': (reached) => ({
      instructions: () => {
        reached()
        return neverAgain()
      },
    }),
  }

  it.each(Object.entries(deafPlaces))('H29 %s that never settles: an abort settles the run within 100 ms', async (_where, options) => {
    const reached = Promise.withResolvers<void>()
    const { turn = callsLook, ...rest } = options(reached.resolve)
    const model = scriptedModel([turn, 'never'])
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ ...rest, model, logger })
    if (turn !== callsLook) runner.on(Event.TEXT_DELTA, () => reached.resolve())
    const events = watchCalls(runner)
    const controller = new AbortController()
    const running = runner.run('go', { signal: controller.signal })
    await reached.promise
    controller.abort()
    const result = await within100Ms(running)
    expect(result.stopReason).toBe('aborted')
    expectValidHistory(result.messages)
    expectPairedEvents(events, result)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it.each(Object.entries(deafPlaces))('H29 %s that never settles: the deadline settles the run', async (_where, options) => {
    const reached = Promise.withResolvers<void>()
    const { turn = callsLook, ...rest } = options(reached.resolve)
    const model = scriptedModel([turn, 'never'])
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ ...rest, model, logger, limits: { deadlineMs: 90_000 }, toolTimeoutMs: Number.POSITIVE_INFINITY })
    if (turn !== callsLook) runner.on(Event.TEXT_DELTA, () => reached.resolve())
    const events = watchCalls(runner)
    fakeTimers()
    const running = runner.run('go')
    await reached.promise
    vi.advanceTimersByTime(90_000)
    const result = await running
    expect(result.stopReason).toBe('deadline')
    expectValidHistory(result.messages)
    expectPairedEvents(events, result)
    expect(await timersLeft()).toBe(0)
  })

  it('H29 a check of arguments that never settles: the time limit of the tool applies to it too', async () => {
    const reached = Promise.withResolvers<void>()
    const options = deafPlaces['the check of the arguments']?.(reached.resolve)
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ ...options, model: scriptedModel([callsLook, 'done']), logger, toolTimeoutMs: 700 })
    const events = watchCalls(runner)
    fakeTimers()
    const running = runner.run('go')
    await reached.promise
    vi.advanceTimersByTime(700)
    const result = await running
    expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ errorCode: 'tool_timeout', attempts: 0 }] })
    expectPairedEvents(events, result)
    expect(await timersLeft()).toBe(0)
  })

  it('H29 the process has nothing left to wait for after runs with deaf models and tools', async () => {
    const child = fileURLToPath(new URL('./deaf-process.ts', import.meta.url))
    // It ends by itself, or is ended here, because a process that still waits for something would not end.
    const { stdout } = await promisify(execFile)(process.execPath, [child], { timeout: 50_000 })
    const report: { reasons: string[]; before: string[]; after: string[]; listeners: number } = JSON.parse(stdout)
    expect(report.reasons).toEqual(['aborted', 'aborted', 'aborted', 'deadline', 'answered', 'aborted', 'model_error'])
    expect(report.after).toEqual(report.before)
    expect(report.listeners).toBe(0)
  })
})
