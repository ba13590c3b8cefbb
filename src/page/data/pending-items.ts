import type { JsonSchema, Pending, Run } from '../types.ts'

export type DecisionFields = Record<string, unknown>

/** What a run is told of an item. */
interface Decision extends DecisionFields {
  toolCallId: string
  fingerprint: string
}

/** What waits for somebody, and how a decision on it is told to the run. */
export interface Item {
  kind: Pending['kind']
  tool: string
  args: Record<string, unknown>
  about?: unknown
  /** JSON Schema of the answer to a question. */
  schema?: JsonSchema | undefined
  fingerprint: string
  runId: string
  /** What the run was asked. */
  input: string
  /** Whose run it is. */
  owner: string
  /** Since when the run waits. */
  since: string
  /** The agents it comes from, the outermost first: those of calls inside of calls. */
  agents: string[]
  /** Why the last decision could not be carried out; `''`: there was none. */
  problem: string
  decide: (verdict: DecisionFields) => Decision
  /** The same for as long as `decide` can be carried out. */
  key: string
}

/** What a run waits for. */
export function itemsOf(run: Run): Item[] {
  if (run.status !== 'waiting') return []
  return run.pending.map(({ toolCallId, path = [], ...item }) => ({
    ...item,
    agents: path.map(({ agent }) => agent),
    problem: (item.about as { problem?: string } | undefined)?.problem ?? '',
    decide: (verdict) => ({ toolCallId, fingerprint: item.fingerprint, ...verdict }),
    key: toolCallId + item.fingerprint,
    runId: run.id,
    input: run.input,
    owner: run.owner,
    since: run.finishedAt ?? run.createdAt,
  }))
}
