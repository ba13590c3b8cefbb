import type { ShownEvent } from '../../agent/journal/shown-runs.ts'

/** The type of a row that holds several events. */
export const packedType = ''

/** Packs events into one text, one a line. JSON escapes line breaks inside strings. */
export function packEvents(events: readonly ShownEvent[]): string {
  return events.map(({ id, type, data }) => `${id} ${type} ${data}`).join('\n')
}

/** Unpacks the events after the one with this number. */
export function* unpackEvents(packed: string, after: number): Iterable<ShownEvent> {
  for (let from = 0; from < packed.length; ) {
    const end = packed.indexOf('\n', from)
    const line = packed.slice(from, end < 0 ? undefined : end)
    const [id, type] = line.split(' ', 2) as [string, string]
    if (Number(id) > after) yield { id: Number(id), type, data: line.slice(id.length + type.length + 2) }
    from = end < 0 ? packed.length : end + 1
  }
}
