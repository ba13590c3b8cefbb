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
  /** How many runs are inside each other. Default 1. */
  levels?: number
  /** Scripts make the calls, or the runs are previews. */
  mode?: 'script' | 'preview'
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
  /** The most that the calls of one run have recorded, in characters. */
  largestRecords: number
  ended: number
  /** How runs that are not answered stand. */
  others: string[]
  owners: number
}

/** Starts workers and kills them with SIGKILL, until so many are dead; then lets one finish, and counts. */
export async function killWorkers({
  folder,
  runs,
  turns,
  concurrency,
  levels = 1,
  mode,
  kills,
  random,
  longestMs,
}: Chaos): Promise<Outcome> {
  const given = [folder, ...[runs, turns, concurrency, levels].map(String), ...(mode === undefined ? [] : [mode])]
  const start = () => spawn(process.execPath, [program, ...given], { stdio: 'inherit' })
  const finished = new Set<string>()
  const repeated: string[] = []
  let read = 0
  let largestRecords = 0
  const look = (): void => {
    const lines = worldOf(folder)
    repeated.push(...lines.slice(read).filter((line) => line.startsWith('start ') && finished.has(line.split(' ')[3] ?? '')))
    read = lines.length
    const recorded = recordedIn(folder)
    for (const key of recorded.calls) finished.add(key)
    largestRecords = Math.max(largestRecords, recorded.largestRecords)
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
  return { kills: killed, repeated, largestRecords, ...(await count(folder)) }
}

export function worldOf(folder: string): string[] {
  const file = `${folder}/world.txt`
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

/** The calls whose end is on the disk, by run and id, and how much is in the records of one run. */
function recordedIn(folder: string): { calls: string[]; largestRecords: number } {
  const file = `${folder}/runs.sqlite`
  if (!existsSync(file)) return { calls: [], largestRecords: 0 }
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const call = "json_extract(value, '$.record.id')"
    // A call that was only noted has not been made.
    const steps = database.prepare(
      `SELECT id || '/' || ${call} AS call FROM steps JOIN runs ON run = n WHERE key GLOB '*.tool.*' AND json_extract(value, '$.noted') IS NULL`,
    )
    const results = database.prepare(
      "SELECT runs.id || '/' || json_extract(c.value, '$.id') AS call FROM outputs JOIN runs ON run = n, json_each(outputs.value, '$.toolCalls') c",
    )
    const isCall = "fingerprint GLOB 'step *.tool.*'"
    const nested = database.prepare(`SELECT record || '/' || ${call} AS call FROM call_records WHERE ${isCall}`)
    const sums = database
      .prepare('SELECT max(total) AS most FROM (SELECT sum(length(value)) AS total FROM call_records GROUP BY run)')
      .get()
    return {
      calls: [...steps.all(), ...results.all(), ...nested.all()].map(({ call }) => String(call)),
      largestRecords: Number(sums?.most ?? 0),
    }
  } finally {
    database.close()
  }
}

async function count(folder: string): Promise<Omit<Outcome, 'kills' | 'repeated' | 'largestRecords'>> {
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
