import type { DurableBody, Journal } from '../../src/agent/durable/journal.ts'
import type { Json } from '../../src/core/messages.ts'

/** A journal whose process dies right after a run was started: keeps the run's input, and the loops that can resume it. */
export function goneJournal(): { journal: Journal; bodies: DurableBody[]; inputs: Json[] } {
  const bodies: DurableBody[] = []
  const inputs: Json[] = []
  const journal: Journal = {
    connect: (body) => {
      bodies.push(body)
      return {
        start: async (_runId, input) => void inputs.push(input ?? null),
        result: () => Promise.reject(new Error('the process is gone')),
        deliver: async () => {},
        cancel: async () => {},
        pending: async () => [],
      }
    },
  }
  return { journal, bodies, inputs }
}
