import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../postgres.ts'
import { inFolder } from './temp-folder.ts'

const program = fileURLToPath(new URL('poison-process.ts', import.meta.url))

/** Starts processes, one after the other, until one ends by itself; then tells how many, and what is in the world. */
async function processesUntilEnd(
  killer: string,
  kind: string,
  place: string,
  folder: string,
): Promise<{ processes: number; world: string[] }> {
  const world = join(folder, 'world.txt')
  for (let processes = 1; ; processes++) {
    const [code, signal] = await once(spawn(process.execPath, [program, kind, place, world, killer], { stdio: 'inherit' }), 'exit')
    if (code === 0) return { processes, world: readFileSync(world, 'utf8').trim().split('\n') }
    if (signal !== 'SIGKILL' || processes > 10) throw new Error(`Expected the run to end, got ${code ?? signal} of process ${processes}`)
  }
}

/** After `starts` processes have died of it: the last one emits its end, if the end is what kills it. */
const endedAfter = (starts: number) => ({
  processes: starts + 1,
  world: [
    ...Array.from({ length: starts }, () => 'start'),
    `aborted: The run was aborted: ${starts - 1} processes in a row that took it over have died before anything more was recorded (\`maxTakeOvers\`)`,
  ],
})
const killers: [string, number][] = [
  ['tool', 4],
  ['end', 5],
]

// Most of what they take is waiting: each process that has died with the run makes the next one wait longer.
describe.concurrent('a run that kills its process each time is ended', { timeout: 600_000 }, () => {
  it.each(killers)('by its %s, in an SQLite file', (killer, starts) =>
    inFolder(async (folder) => {
      expect(await processesUntilEnd(killer, 'sqlite', join(folder, 'runs.sqlite'), folder)).toEqual(endedAfter(starts))
    }),
  )

  it.skipIf(!hasPostgres).each(killers)('by its %s, in PostgreSQL', (killer, starts) =>
    inFolder(async (folder) => {
      await using postgres = await startPostgres()
      expect(await processesUntilEnd(killer, 'dbos', postgres.url, folder)).toEqual(endedAfter(starts))
    }),
  )
})
