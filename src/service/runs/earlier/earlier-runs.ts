import { type ChatMessage, isJsonObject } from '../../../core/messages.ts'
import type { LoggedEvent } from '../event-log.ts'
import type { Outcome, RunHead } from '../stored-run.ts'

/** What the files of runs are called that earlier versions have written, each run in its own. */
export const earlierRun: RegExp = /^run_[0-9a-f-]{36}\.json$/

/** A run as earlier versions have written it. */
export interface EarlierRun {
  head: RunHead
  createdAt: string
  said: string
  events: readonly LoggedEvent[]
  lastEventId: number
  secrets: readonly string[]
  hidesAll?: boolean
  /** What was said to it and not taken up yet. */
  waiting: readonly ChatMessage[]
  /** Undefined: it was going on. */
  outcome?: Outcome
  /** What it had come to before it was taken up again. */
  before?: Pick<Outcome, 'summary' | 'result'>
}

/** Throws for what is no run. */
export function readEarlierRun(file: Buffer): EarlierRun {
  const end = file.indexOf(0x0a)
  const first: unknown = JSON.parse(file.toString('utf8', 0, end < 0 ? file.length : end))
  const run = isJsonObject(first) && first.version === 2 ? wholeOf(first, file.subarray(end + 1)) : first
  if (!isJsonObject(run) || !isJsonObject(run.head) || !isJsonObject(run.head.caller)) throw notARun()
  const { head, createdAt, said, events, lastEventId, secrets, waiting, outcome } = run
  const isWhole =
    [head.id, head.agent, createdAt, said].every((field) => typeof field === 'string') &&
    [head.clientTools, events, secrets, waiting].every(Array.isArray) &&
    Number.isSafeInteger(lastEventId) &&
    (outcome === undefined || (isJsonObject(outcome) && isJsonObject(outcome.summary) && Array.isArray(outcome.waitsFor)))
  if (!isWhole) throw notARun()
  return run as never as EarlierRun
}

const partNames = ['known', 'summary', 'events', 'result', 'state'] as const

/** A run of version 2: its head in JSON on the first line; behind it parts, each as many bytes as the head says. */
function wholeOf({ head, createdAt, lastEventId, lengths, outcome, wasTakenUp }: Record<string, unknown>, file: Buffer): object {
  const parts: Partial<Record<(typeof partNames)[number], string>> = {}
  let at = 0
  for (const name of partNames) {
    const length = isJsonObject(lengths) ? lengths[name] : undefined
    if (typeof length !== 'number' || at + length > file.length) throw notARun()
    parts[name] = file.toString('utf8', at, at + length)
    at += length
  }
  const { known = '', summary = '', events = '', result, state } = parts
  const { clientTools, ...others }: Record<string, unknown> = JSON.parse(known)
  const cameTo = () => ({ summary: JSON.parse(summary), result })
  return {
    head: isJsonObject(head) ? { ...head, clientTools } : head,
    createdAt,
    lastEventId,
    ...others,
    events: readEvents(events),
    ...(isJsonObject(outcome) ? { outcome: { ...outcome, ...cameTo(), ...(state === '' ? {} : { state }) } } : {}),
    ...(wasTakenUp === true ? { before: cameTo() } : {}),
  }
}

/** A line each, in whose JSON there is no line's end. */
function readEvents(text: string): LoggedEvent[] {
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => {
    const [id = '', type = ''] = line.split(' ', 2)
    return { id: Number(id), type, data: line.slice(id.length + type.length + 2) }
  })
}

function notARun(): Error {
  return new Error('It is not what a run is written as')
}
