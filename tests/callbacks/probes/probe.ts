import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { RunError } from '../../../src/agent/run/run-error.ts'
import type { RunnerOptions, RunOptions, RunResult } from '../../../src/agent/types/options.ts'
import { ToolloopError } from '../../../src/core/errors.ts'
import type { Logger } from '../../../src/core/logger.ts'
import type { ScriptedTurn } from '../../../src/testing/script.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { type AnyTool, defineTool } from '../../../src/tools/tool.ts'
import type { Bad } from '../misbehave.ts'

/** Installs a callback, and resolves when the operation that uses it has settled as it must. */
export type Probe = (bad: Bad) => Promise<unknown>

export const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export const look: AnyTool = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'seen' })

/** Calls `look`, then answers. */
export const turns = (): (ScriptedTurn | string)[] => [{ text: 'I look.', toolCalls: [{ name: 'look' }] }, 'Done.']

/** A run of two turns and a call. Whatever its callbacks do, it resolves; one that waits is aborted. */
export async function settles(options: Partial<RunnerOptions>, given: RunOptions = {}): Promise<RunResult> {
  const runner = new AgentRunner({
    model: scriptedModel(turns()),
    tools: [look],
    logger: quiet,
    toolTimeoutMs: 40,
    ...options,
  } as RunnerOptions)
  return runner.run('go', { signal: AbortSignal.timeout(120), ...given })
}

/** Resolves, no matter what is thrown. */
export async function settled(work: PromiseLike<unknown>): Promise<void> {
  await Promise.resolve(work).then(
    () => {},
    () => {},
  )
}

/** Resolves, or rejects with one of this library's errors. */
export async function endsWell(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!ToolloopError.isInstance(error) && !(error instanceof RunError)) throw error
  }
}

/** What a promise resolves with within this time, for callbacks that a caller awaits without a limit. */
export async function within(ms: number, work: PromiseLike<unknown>): Promise<void> {
  await Promise.race([settled(work), new Promise((resolve) => setTimeout(resolve, ms).unref())])
}
