import type { ShownEvent, ShownRuns } from '../../../agent/journal/shown-runs.ts'

/** Every event that is kept of a run, in as many answers as it takes. */
export async function allEvents(shown: Pick<ShownRuns, 'events'>, runId: string): Promise<ShownEvent[]> {
  const all: ShownEvent[] = []
  for (;;) {
    const more = await shown.events(runId, all.at(-1)?.id ?? 0)
    if (more.length === 0) return all
    for (const event of more) all.push(event)
  }
}
