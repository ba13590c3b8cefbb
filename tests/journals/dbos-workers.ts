import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, watch } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { WorkerOptions } from './dbos-process.ts'

const program = fileURLToPath(new URL('dbos-process.ts', import.meta.url))

const workers = new Set<ChildProcess>()

export function startWorker(options: WorkerOptions): ChildProcess {
  const worker = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit'] })
  workers.add(worker)
  worker.on('exit', () => workers.delete(worker))
  return worker
}

/** None of a test that failed is left. */
export async function killAll(): Promise<void> {
  await Promise.all([...workers].map(kill))
}

/** Resolves when a worker has ended by itself; rejects where something went wrong in it. */
export async function ended(worker: ChildProcess): Promise<void> {
  const [code, signal] =
    worker.exitCode === null && worker.signalCode === null ? await once(worker, 'exit') : [worker.exitCode, worker.signalCode]
  if (code !== 0) throw new Error(`Expected the worker to finish, got exit code ${code}, signal ${signal}`)
}

export async function kill(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  worker.kill('SIGKILL')
  await once(worker, 'exit')
}

/** What tools have written down. */
export function worldOf(folder: string): string[] {
  const file = `${folder}/world.txt`
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

/** Resolves with the first line that is as wanted. */
export async function seen(folder: string, wanted: (line: string) => boolean): Promise<string> {
  const stop = new AbortController()
  const { promise, resolve } = Promise.withResolvers<string>()
  const look = (): void => {
    const line = worldOf(folder).find(wanted)
    if (line !== undefined) resolve(line)
  }
  const watcher = watch(folder, { signal: stop.signal }, look)
  watcher.on('error', () => {})
  look()
  try {
    return await promise
  } finally {
    stop.abort()
  }
}

/** What became of all runs. */
export async function countRuns(url: string, agent: string): Promise<{ answered: number; uncertain: number; others: string[] }> {
  const journal = dbosJournal({
    url,
    agent,
    takeOverEveryMs: Number.POSITIVE_INFINITY,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const { runs } = new AgentRunner({ model: scriptedModel([]), journal })
  const others: string[] = []
  let answered = 0
  let uncertain = 0
  for (let cursor: string | undefined; ; ) {
    const page = await runs.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) })
    for (const { runId } of page.runs) {
      const { status, stopReason, result } = (await runs.get(runId)) ?? {}
      if (status === 'ended' && stopReason === 'answered') answered++
      else others.push(`${runId} ${status} ${stopReason}`)
      uncertain += result?.toolCalls.filter(({ outcome }) => outcome === 'uncertain').length ?? 0
    }
    cursor = page.next
    if (cursor === undefined) break
  }
  await journal.close()
  return { answered, uncertain, others }
}
