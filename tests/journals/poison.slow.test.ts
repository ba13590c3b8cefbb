import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../postgres.ts'
import { inFolder } from './temp-folder.ts'

const program = fileURLToPath(new URL('poison-process.ts', import.meta.url))

/** Starts processes, one after the other, until one ends by itself; then tells how many, and what is in the world. */
async function processesUntilEnd(kind: string, place: string, folder: string): Promise<{ processes: number; world: string[] }> {
  const world = join(folder, 'world.txt')
  for (let processes = 1; ; processes++) {
    const [code, signal] = await once(spawn(process.execPath, [program, kind, place, world], { stdio: 'inherit' }), 'exit')
    if (code === 0) return { processes, world: readFileSync(world, 'utf8').trim().split('\n') }
    if (signal !== 'SIGKILL' || processes > 10) throw new Error(`Expected the run to end, got ${code ?? signal} of process ${processes}`)
  }
}

const ended = {
  processes: 5,
  world: [
    ...Array.from({ length: 4 }, () => 'start'),
    'aborted: The run was aborted: 3 processes in a row that took it over have died before anything more was recorded (`maxTakeOvers`)',
  ],
}

it('a run that kills its process each time is ended after three take-overs: in an SQLite file', { timeout: 300_000 }, () =>
  inFolder(async (folder) => {
    expect(await processesUntilEnd('sqlite', join(folder, 'runs.sqlite'), folder)).toEqual(ended)
  }),
)

it.skipIf(!hasPostgres)('a run that kills its process each time is ended after three take-overs: in PostgreSQL', { timeout: 600_000 }, () =>
  inFolder(async (folder) => {
    await using postgres = await startPostgres()
    expect(await processesUntilEnd('dbos', postgres.url, folder)).toEqual(ended)
  }),
)
