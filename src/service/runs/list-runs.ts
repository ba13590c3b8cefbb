import { Pauses } from '../../tools/yield-to-event-loop.ts'
import type { ServiceRun } from './service-run.ts'

/** Characters of all runs in one answer. */
const mostListed = 8_000_000

/** What `write` makes of the runs, one after the other, as long as there is room for it. Rejects as `write` does. */
export async function listed(list: readonly ServiceRun[], write: (run: ServiceRun) => Promise<string[]>): Promise<string[]> {
  const pauses = new Pauses()
  const texts: string[] = []
  let characters = 0
  for (const run of list) {
    await pauses.take()
    const written = await write(run)
    await pauses.take()
    for (const { length } of written) characters += length
    if (characters > mostListed && texts.length > 0) break
    texts.push(...written)
  }
  return texts
}
