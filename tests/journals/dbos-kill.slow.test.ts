import type { ChildProcess } from 'node:child_process'
import { afterEach, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../postgres.ts'
import { countRuns, ended, kill, killAll, recordedCalls, seen, startWorker, worldOf } from './dbos-workers.ts'
import { inFolder } from './temp-folder.ts'

// By hand: JOURNAL_RUNS=250 JOURNAL_KILLS=30 npm run test:slow -- tests/journals/dbos-kill.slow.test.ts
const runs = Number(process.env.JOURNAL_RUNS ?? 250)
const kills = Number(process.env.JOURNAL_KILLS ?? 30)
const turns = 4

const unique = (values: readonly string[]): string[] => values.filter((value, at) => values.indexOf(value) !== at)

afterEach(killAll)

it.skipIf(!hasPostgres)(
  `${runs * turns * 2} calls in three workers under ${kills} kill -9 of them and two of PostgreSQL: no finished call runs again, no unsafe one starts twice, no run is lost`,
  { timeout: 60_000 + (kills + runs) * 3_000 },
  () =>
    inFolder(async (folder) => {
      await using postgres = await startPostgres()
      const { url } = postgres
      const start = (untilAllEnd = false): ChildProcess =>
        startWorker({ url, agent: 'chaos', folder, runs, turns, concurrency: 5, toolMs: [0, 100], takeOverEveryMs: 500, untilAllEnd })
      const finished = new Set<string>()
      const repeated: string[] = []
      let read = 0
      const look = async (): Promise<void> => {
        repeated.push(
          ...worldOf(folder)
            .slice(read)
            .filter((line) => line.startsWith('start ') && finished.has(line.split(' ')[2] ?? '')),
        )
        for (const key of (await recordedCalls(url)) ?? []) finished.add(key)
        // What was started until now may have been recorded just before.
        read = worldOf(folder).length
      }
      const begun = performance.now()
      const workers = [start(), start(), start()]
      let killed = 0
      for (; killed < kills; killed++) {
        const at = killed % workers.length
        const victim = workers[at]
        if (victim === undefined) break
        // Only a process that is at work is worth killing.
        await Promise.race([seen(folder, (line) => line.startsWith('start ') && line.endsWith(` ${victim.pid}`)), ended(victim)])
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 100))
        if (victim.exitCode !== null) break
        await kill(victim)
        workers[at] = start()
        await look()
        if (killed === Math.floor(kills / 3) || killed === Math.floor((kills * 2) / 3)) {
          await postgres.kill()
          await postgres.restart()
        }
      }
      const last = start(true)
      await Promise.all([...workers, last].map(ended))
      await look()
      const starts = worldOf(folder).filter((line) => line.startsWith('start '))
      const doubled = unique(starts.filter((line) => line.startsWith('start pay ')).map((line) => line.split(' ')[2] ?? ''))
      const { answered, uncertain, others } = await countRuns(url, 'chaos')
      console.log({ seconds: Math.round((performance.now() - begun) / 1000), killed, started: starts.length, uncertain })
      expect({ doubled, repeated, others, answered }).toEqual({ doubled: [], repeated: [], others: [], answered: runs })
      // On a fast machine the work is done before so many have been killed.
      expect(killed).toBeGreaterThan(Math.min(10, kills - 1))
      expect(starts.length).toBeGreaterThanOrEqual(runs * turns * 2 - uncertain)
    }),
)
