import { readdir } from 'node:fs/promises'
import { InvalidOptionError } from '../../../core/errors.ts'
import { earlierRun } from '../earlier/earlier-runs.ts'
import type { ServiceRun } from '../service-run.ts'
import { Caretaker } from './caretaker.ts'
import { folderOption, type JournalPlace, openJournal } from './open-journal.ts'
import { RecordedRuns, type RecordedRunsParts } from './recorded-runs.ts'
import { WriteCheck } from './write-check.ts'

/** Runs that outlive the process, and who looks after them. */
export interface Recorded {
  runs: RecordedRuns
  caretaker: Caretaker
  writeCheck: WriteCheck
  /** Lets go of all runs: whoever comes next goes on with them. */
  close(): Promise<void>
}

interface RecordedParts extends Omit<RecordedRunsParts, 'journal' | 'shown'> {
  /** Goes on with a run that no process carries out; resolves when it has begun to. */
  carryOn(run: ServiceRun, runs: RecordedRuns): Promise<void>
}

/**
 * Opens the runs of a journal. Rejects with `invalid_option` when it can't be had, or its folder holds runs that an earlier version has
 * written: they are left as they are.
 */
export async function openRecorded(place: JournalPlace, { carryOn, ...parts }: RecordedParts): Promise<Recorded> {
  if (place.kind === 'sqlite') await refuseEarlier(place.folder)
  const { bounds, runOf, logger } = parts
  const opened = await openJournal(place, logger)
  const runs = new RecordedRuns({ ...parts, ...opened })
  const isHere = (runId: string) => runOf(runId) !== undefined
  const caretaker = new Caretaker({ runs, bounds, isHere, carryOn: (run) => carryOn(run, runs), logger })
  const close = async () => {
    const stopped = caretaker.close()
    await opened.close()
    await stopped
    runs.close()
  }
  return { runs, caretaker, writeCheck: new WriteCheck(opened.shown, logger), close }
}

async function refuseEarlier(folder: string): Promise<void> {
  const earlier = (await readdir(folder).catch(() => [])).filter((name) => earlierRun.test(name)).length
  if (earlier === 0) return
  const upgrade = `${folder} with ${earlier} runs in files of an earlier version: \`toolloop upgrade\` moves them into the journal`
  throw new InvalidOptionError(folderOption, 'a folder whose runs are in a journal', upgrade)
}
