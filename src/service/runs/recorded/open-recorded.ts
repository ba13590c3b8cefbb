import type { RunPlace } from '../../run-bounds.ts'
import type { ServiceRun } from '../service-run.ts'
import { Caretaker } from './caretaker.ts'
import { openRunStore } from './open-store.ts'
import { RecordedRuns, type RecordedRunsParts } from './recorded-runs.ts'
import { WriteCheck } from './write-check.ts'

/** The store of runs, and who looks after it. */
export interface Recorded {
  runs: RecordedRuns
  caretaker: Caretaker
  writeCheck: WriteCheck
  /** Lets go of all runs: whoever comes next goes on with them. */
  close(): Promise<void>
}

interface RecordedParts extends Omit<RecordedRunsParts, 'journal' | 'shown'> {
  /** Goes on with a run that no process carries out; resolves when it has begun to. */
  carryOn(run: ServiceRun): Promise<void>
  tidied(): Promise<void>
}

/** Opens the store of runs. Rejects with `invalid_option` if it can't be opened. */
export async function openRecorded(place: RunPlace, { carryOn, tidied, ...parts }: RecordedParts): Promise<Recorded> {
  const { bounds, runOf, logger } = parts
  const opened = await openRunStore(place, logger)
  const runs = new RecordedRuns({ ...parts, ...opened })
  const isHere = (runId: string) => runOf(runId) !== undefined
  const caretaker = new Caretaker({ runs, bounds, isHere, carryOn, tidied, logger })
  const close = async () => {
    const stopped = caretaker.close()
    await opened.close()
    await stopped
    runs.close()
  }
  return { runs, caretaker, writeCheck: new WriteCheck(opened.shown, logger), close }
}
