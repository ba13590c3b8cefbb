import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

/** Stands for a service that renders films: the time at which each job is done. */
const jobs: number[] = []
const startJob = async () => jobs.push(Date.now() + 150)

const render = defineTool({
  name: 'render',
  description: 'Renders the film.',
  timeoutMs: 100,
  retries: 5,
  execute: async (_args, { saved, save, signal }) => {
    // The first attempt starts the job. Later attempts, even in another process, find its id in the journal.
    const job = Number(saved ?? (await startJob()))
    await save?.(job)
    while (Date.now() < (jobs[job - 1] ?? 0)) await setTimeout(10, undefined, { signal })
    return `job ${job} is done`
  },
  // An attempt that has saved a job can be continued.
  reconcile: (_args, { saved }) => (saved === undefined ? undefined : { ran: false }),
})
const model = scriptedModel([{ toolCalls: [{ name: 'render' }] }, 'The film is ready.'])
const journal = sqliteJournal({ file: join(mkdtempSync(join(tmpdir(), 'films-')), 'runs.sqlite') })
const { toolCalls } = await new AgentRunner({ model, tools: [render], journal }).run('Render the film.')
console.log(toolCalls[0]?.content, toolCalls[0]?.attempts, jobs.length)
