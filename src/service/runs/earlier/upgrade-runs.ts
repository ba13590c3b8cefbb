import { mkdir, readdir, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Durable, Engine, Journal } from '../../../agent/durable/journal.ts'
import type { ShownRuns } from '../../../agent/durable/shown-runs.ts'
import type { RunState } from '../../../agent/run/result.ts'
import { InvalidOptionError, messageOf } from '../../../core/errors.ts'
import { type ChatMessage, isJsonObject, type Json } from '../../../core/messages.ts'
import { EventRedactor } from '../event-redactor.ts'
import { wordsOf } from '../listed/run-words.ts'
import { openJournal } from '../recorded/open-journal.ts'
import type { RecordedHead } from '../recorded/run-journal.ts'
import { abortedWith } from '../stored-run.ts'
import { type EarlierRun, earlierRun, readEarlierRun } from './earlier-runs.ts'

/** What became of the runs of an earlier version. */
export interface UpgradedRuns {
  /** How many are in the journal now. */
  upgraded: number
  /** Files that hold no run, by name, and why. */
  unreadable: { name: string; why: string }[]
  /** Where all files are now, as they were. */
  movedTo: string
}

/** How long the lock of a service that is alive may be untouched, in milliseconds. */
const silentMs = 30_000

/**
 * Moves the runs of a folder from the files of an earlier version into its journal. The files are kept beside it. Can be repeated when it was
 * interrupted; where there are none, nothing is made. Rejects with `invalid_option` while a service of the earlier version uses the folder, and
 * where there is no folder.
 */
export async function upgradeRuns(folder: string): Promise<UpgradedRuns> {
  const lock = await stat(join(folder, 'lock')).catch(() => undefined)
  if (lock !== undefined && Date.now() - lock.mtimeMs < silentMs)
    throw new InvalidOptionError(
      'service.keepRuns.folder',
      'a folder that no service uses: stop the one of the earlier version first',
      folder,
    )
  const movedTo = join(folder, 'earlier')
  const found = await readdir(folder).catch((error: unknown) => {
    throw new InvalidOptionError('service.keepRuns.folder', `a folder with runs (${messageOf(error)})`)
  })
  const names = found.filter((name) => earlierRun.test(name))
  const unreadable: UpgradedRuns['unreadable'] = []
  if (names.length === 0) return { upgraded: 0, unreadable, movedTo }
  const runs: EarlierRun[] = []
  for (const name of names) {
    try {
      runs.push(readEarlierRun(await readFile(join(folder, name))))
    } catch (error) {
      unreadable.push({ name, why: messageOf(error) })
    }
  }
  const { journal, shown, close } = await openJournal({ kind: 'sqlite', folder })
  try {
    // A list shows them in the order in which they were written.
    for (const run of runs.sort((a, b) => a.createdAt.localeCompare(b.createdAt))) await upgrade(run, journal, shown)
  } finally {
    await close()
  }
  await mkdir(movedTo, { recursive: true, mode: 0o700 })
  for (const name of names) await rename(join(folder, name), join(movedTo, name))
  return { upgraded: runs.length, unreadable, movedTo }
}

async function upgrade(run: EarlierRun, journal: Journal, shown: ShownRuns): Promise<void> {
  const { head: ofRun, createdAt, said, events, lastEventId, secrets, hidesAll = false, waiting, before } = run
  const runId = ofRun.id
  const [known] = await shown.progress([runId])
  if (known !== undefined && known.status !== 'running') return
  const interrupted = 'the service ended while this run was going on: what its last step came to is not known'
  const outcome = run.outcome ?? abortedWith(interrupted, before)
  const head: RecordedHead = { ...ofRun, createdAt, said }
  const state: RunState | undefined = outcome.status === 'paused' && outcome.state !== undefined ? JSON.parse(outcome.state) : undefined
  if (state !== undefined) await takeOver(state, head, journal)
  const redactor = new EventRedactor([], secrets)
  if (hidesAll) redactor.secrets.hideAll()
  const title = redactor.redactText(said).slice(0, 200)
  const attempt = 'upgrade'
  const record = {
    runId,
    caller: ofRun.caller.name,
    agent: ofRun.agent,
    thread: ofRun.thread,
    createdAt: Date.parse(createdAt),
    title,
    words: wordsOf(runId, ofRun),
    head: JSON.stringify(head),
  }
  await shown.begin(record, { attempt })
  // What an upgrade that was interrupted has done already is not done again.
  const heard = await shown.said(runId, 0)
  const messages = [...messagesIn(state), ...waiting].slice(heard.length)
  await shown.say(
    runId,
    messages.map((message) => JSON.stringify(message)),
  )
  if ((known?.lastEventId ?? 0) < lastEventId)
    await shown.append(runId, attempt, { events, firstEventId: events[0]?.id ?? lastEventId + 1, title, secrets, hidesAll })
  const { status, summary, result, finishedAt } = outcome
  const told = {
    status,
    stopReason: summary.stopReason ?? '',
    finishedAt: Date.parse(finishedAt),
    title,
    words: wordsOf(runId, ofRun, summary),
    costUsd: summary.usage?.costUsd,
    summary: JSON.stringify(summary),
    result,
  }
  await shown.settle(runId, { status: 'running', attempt }, told)
}

/** Records a paused run in the journal, as far as it had come: whoever decides goes on with it from there. */
async function takeOver({ runId, input, steps, decisions, pending }: RunState, head: RecordedHead, journal: Journal): Promise<void> {
  const record = async (durable: Durable): Promise<Json> => {
    for (const [key, value] of Object.entries(steps)) await durable.step(key, async () => value)
    // A place that was decided before was waited for as well.
    const waits = Object.keys(decisions).map((place) => ({ place }))
    return { runId, stopReason: 'paused', pending: [...waits, ...pending] as never }
  }
  const engine: Engine = journal.connect(record)
  await engine.start(runId, { head, run: input } as never)
  await engine.result(runId)
  const { waits = [] } = (await engine.get?.(runId)) ?? {}
  const open = Object.entries(decisions).filter(([place]) => waits.includes(place))
  if (open.length > 0) await engine.deliver(runId, Object.fromEntries(open))
}

/** What was said to the run while it went on, and is in its conversation. */
function messagesIn(state: RunState | undefined): ChatMessage[] {
  const steering = Object.entries(state?.steps ?? {}).filter(([key]) => key.endsWith('.steer'))
  const inOrder = steering.sort(([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
  return inOrder.flatMap(([, value]) => (isJsonObject(value) && Array.isArray(value.messages) ? (value.messages as never[]) : []))
}
