import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

const program = fileURLToPath(new URL('journal-process.ts', import.meta.url))

export interface Chaos {
  folder: string
  runs: number
  turns: number
  concurrency: number
  kills: number
  /** A number in [0, 1) for each kill: how long the process lives. */
  random(): number
  /** The longest that a process lives after its first step, in milliseconds. */
  longestMs: number
}

/** What is left once the last worker has finished. */
export interface Outcome {
  kills: number
  started: number
  /** Calls of an unsafe tool that were started more than once. */
  doubled: string[]
  /** Calls that were started again after their end was recorded. */
  repeated: string[]
  uncertain: number
  ended: number
  /** How runs that are not answered stand. */
  others: string[]
  owners: number
}

/** Starts workers and kills them with SIGKILL, until so many are dead; then lets one finish, and counts. */
export async function killWorkers({ folder, runs, turns, concurrency, kills, random, longestMs }: Chaos): Promise<Outcome> {
  const start = () => spawn(process.execPath, [program, folder, String(runs), String(turns), String(concurrency)], { stdio: 'inherit' })
  const finished = new Set<string>()
  const repeated: string[] = []
  let read = 0
  const look = (): void => {
    const lines = worldOf(folder)
    repeated.push(...lines.slice(read).filter((line) => line.startsWith('start ') && finished.has(line.split(' ')[2] ?? '')))
    read = lines.length
    for (const key of recordedCalls(folder)) finished.add(key)
  }
  let killed = 0
  while (killed < kills) {
    const before = worldOf(folder).length
    const child = start()
    const exit = once(child, 'exit')
    // Only a process that is at work is worth killing.
    while (child.exitCode === null && worldOf(folder).length < before + 2) await new Promise((resolve) => setTimeout(resolve, 5))
    await Promise.race([exit, new Promise((resolve) => setTimeout(resolve, random() * longestMs))])
    if (child.exitCode !== null) break
    child.kill('SIGKILL')
    await exit
    killed++
    look()
  }
  const [code] = await once(start(), 'exit')
  if (code !== 0) throw new Error(`Expected the last worker to finish, got exit code ${code}`)
  look()
  return { kills: killed, repeated, ...(await count(folder)) }
}

function worldOf(folder: string): string[] {
  const file = `${folder}/world.txt`
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

/** Idempotency keys of the calls whose end is on the disk. */
function recordedCalls(folder: string): string[] {
  const file = `${folder}/runs.sqlite`
  if (!existsSync(file)) return []
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const rows = database.prepare("SELECT id, key FROM steps JOIN runs ON run = n WHERE key GLOB '*.tool.*'").all()
    return rows.map(({ id, key }) => `${id}/${key}`)
  } finally {
    database.close()
  }
}

async function count(folder: string): Promise<Omit<Outcome, 'kills' | 'repeated'>> {
  const starts = worldOf(folder).filter((line) => line.startsWith('start '))
  const pays = starts.filter((line) => line.startsWith('start pay '))
  const journal = sqliteJournal({ file: `${folder}/runs.sqlite` })
  const { runs } = new AgentRunner({ model: scriptedModel([]), journal })
  // Who writes cleans up after the dead.
  await runs.prune({ keep: Number.MAX_SAFE_INTEGER })
  const others: string[] = []
  let ended = 0
  let uncertain = 0
  let cursor: string | undefined
  do {
    const page = await runs.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) })
    cursor = page.next
    for (const { runId } of page.runs) {
      const { status, stopReason, result } = (await runs.get(runId)) ?? {}
      if (status === 'ended' && stopReason === 'answered') ended++
      else others.push(`${runId} ${status} ${stopReason}`)
      uncertain += result?.toolCalls.filter(({ outcome }) => outcome === 'uncertain').length ?? 0
    }
  } while (cursor !== undefined)
  await journal.close()
  const doubled = pays.filter((line, at) => pays.indexOf(line) !== at)
  return { started: starts.length, doubled, uncertain, ended, others, owners: readdirSync(`${folder}/runs.sqlite-owners`).length }
}
