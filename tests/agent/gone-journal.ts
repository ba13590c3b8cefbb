import type { Durable, DurableBody, Journal, StepContext } from '../../src/agent/journal/journal.ts'
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

/** The port for one execution, which a journal would give it: over what is recorded, and kept nowhere. */
export function durableOver(recorded: { [key: string]: Json } = {}): Durable {
  const steps = new Map<string, unknown>(Object.entries(recorded))
  const { signal } = new AbortController()
  return {
    runId: 'run_1',
    attempt: 'run_1',
    survivesCrashes: false,
    signal,
    async step<T>(key: string, fn: (step: StepContext) => Promise<T>): Promise<T> {
      if (!steps.has(key)) steps.set(key, await fn({ signal }))
      return steps.get(key) as T
    },
    all: (promises) => Promise.all(promises),
    wait: async () => undefined,
  }
}
