/** Converts new data and outcomes of shown runs to the form that stores write. */
import type { ShownEvent, ShownNews, ShownOutcome } from '../../agent/journal/shown-runs.ts'

/** An outcome, and how long ago it was reached. A point in time would not be enough, because the store may have another clock. */
export interface SettledOutcome extends ShownOutcome {
  settledForMs: number
}

/**
 * New data of a run, with all its events packed into one row. Writing one row is several times faster than writing a row for each event.
 */
export interface PackedNews extends Omit<ShownNews, 'events'> {
  packed: string
  /** The number of the newest event. */
  last: number
}

/** Stored as the event type of a row that holds several events. */
export const packedType = ''

/** Packs events into one text, with one event in each line. JSON escapes line breaks inside strings. */
function packEvents(events: readonly ShownEvent[]): string {
  return events.map(({ id, type, data }) => `${id} ${type} ${data}`).join('\n')
}

/** Unpacks the events whose number is greater than `after`. */
export function* unpackEvents(packed: string, after: number): Iterable<ShownEvent> {
  for (let from = 0; from < packed.length; ) {
    const end = packed.indexOf('\n', from)
    const line = packed.slice(from, end < 0 ? undefined : end)
    const [id, type] = line.split(' ', 2) as [string, string]
    if (Number(id) > after) yield { id: Number(id), type, data: line.slice(id.length + type.length + 2) }
    from = end < 0 ? packed.length : end + 1
  }
}

export function packedNews({ events, ...news }: ShownNews): PackedNews {
  return { ...news, packed: packEvents(events), last: events.at(-1)?.id ?? 0 }
}

export function aged(outcome: ShownOutcome): SettledOutcome {
  return { ...outcome, settledForMs: Math.max(0, Date.now() - outcome.finishedAt) }
}
