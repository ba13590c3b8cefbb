import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openRunStore } from '../../src/service/runs/recorded/open-recorded.ts'
import { configFile } from './start-service.ts'

export interface SeededRun {
  id: string
  title: string
  owner?: string
  tools?: string[]
  output?: string
  stopReason?: string
  costUsd?: number
  /** Minutes before now. */
  minutesAgo?: number
}

/** Puts runs that are done into the journal of a folder, the first of them the oldest. */
export async function seedRuns(folder: string, runs: readonly SeededRun[]): Promise<void> {
  const { shown, close } = await openRunStore({ kind: 'sqlite', folder })
  await Promise.all(
    runs.map(
      async ({ id: runId, title, owner = 'operator', tools = [], output = 'done', stopReason = 'answered', costUsd, minutesAgo = 0 }) => {
        const createdAt = Date.now() - minutesAgo * 60_000
        const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120, ...(costUsd === undefined ? {} : { costUsd }) }
        const summary = { stopReason, output, usage, iterations: 1, toolCalls: tools.length, tools, pending: [] }
        const words = [runId, `user:${owner}`, 'model:toolloop', ...tools.map((tool) => `tool:${tool}`), output].join('\n').toLowerCase()
        const messages = [
          { role: 'user', content: title },
          { role: 'assistant', content: output },
        ]
        const result = { text: output, output, messages, newMessages: messages, steps: [], toolCalls: [], stopReason }
        await shown.begin({ runId, caller: owner, agent: 'toolloop', createdAt, title, words, head: '' }, { attempt: 'seed' })
        const told = { title, words, costUsd, summary: JSON.stringify(summary), result: JSON.stringify(result) }
        await shown.settle(
          runId,
          { status: 'running', attempt: 'seed' },
          { status: 'ended', stopReason, finishedAt: createdAt + 1_500, ...told },
        )
      },
    ),
  )
  await close()
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
