import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ShownRuns } from '../../src/agent/journal/shown-runs.ts'
import { withoutUndefined } from '../../src/core/messages.ts'
import { openRunStore } from '../../src/service/runs/recorded/open-recorded.ts'
import { configFile } from './start-service.ts'

export interface SeededRun {
  id: string
  title: string
  owner?: string
  tools?: string[]
  output?: string
  stopReason?: string
  errorCode?: string
  costUsd?: number
  /** As `provider/model`. */
  answeredBy?: string
  tokens?: number
  turns?: number
  /** Minutes before now. */
  minutesAgo?: number
  workedMs?: number
  waitedMs?: number
  session?: string
}

/** Puts runs that are done into the journal of a folder, the first of them the oldest. */
export async function seedRuns(folder: string, runs: readonly SeededRun[]): Promise<void> {
  const { shown, close } = await openRunStore({ kind: 'sqlite', folder })
  await Promise.all(runs.map((run) => seed(shown, run)))
  await close()
}

async function seed(
  shown: ShownRuns,
  {
    id: runId,
    title,
    owner: caller = 'operator',
    tools = [],
    output = 'done',
    stopReason = 'answered',
    errorCode,
    costUsd,
    answeredBy,
    tokens = 120,
    turns = 1,
    minutesAgo = 0,
    workedMs = 1_500,
    waitedMs = 0,
    session: thread,
  }: SeededRun,
): Promise<void> {
  const createdAt = Date.now() - minutesAgo * 60_000
  const usage = withoutUndefined({ inputTokens: tokens - 20, outputTokens: 20, totalTokens: tokens, costUsd })
  const error = errorCode === undefined ? undefined : { code: errorCode, message: 'It failed' }
  const summary = { stopReason, answeredBy, output, usage, iterations: turns, toolCalls: tools.length, tools, error, pending: [] }
  const words = [runId, `user:${caller}`, 'model:toolloop', ...tools.map((tool) => `tool:${tool}`), output].join('\n').toLowerCase()
  const messages = [
    { role: 'user', content: title },
    { role: 'assistant', content: output },
  ]
  const result = { text: output, output, messages, newMessages: messages, steps: [], toolCalls: [], stopReason }
  await shown.begin({ runId, caller, agent: 'toolloop', createdAt, title, words, thread, head: '' }, { attempt: 'seed' })
  const did = { turns, calls: tools.length, tools, tokens, costUsd, errorCode, model: answeredBy, waitedMs }
  const told = { title, words, summary: JSON.stringify(summary), result: JSON.stringify(result) }
  await shown.settle(
    runId,
    { status: 'running', attempt: 'seed' },
    { status: 'ended', stopReason, finishedAt: createdAt + workedMs + waitedMs, ...did, ...told },
  )
}

/** A folder for runs, and the configuration that keeps them there. */
export async function storedRuns(seeds: readonly SeededRun[] = []): Promise<{ folder: string; options: { configFile: string } }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-page-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const { file } = await configFile(
    `service: { requestsPerMinute: 100000, keepRuns: { folder: ${folder}, count: 10000, minutes: 1000000 } }\n`,
  )
  if (seeds.length > 0) await seedRuns(folder, seeds)
  return { folder, options: { configFile: file } }
}
