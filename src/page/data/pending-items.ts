import type { JsonSchema, Pending, Run } from '../types.ts'

export type Verdict = Record<string, unknown>

/** What a run is told of an item. */
export interface Decision extends Verdict {
  toolCallId: string
  fingerprint: string
}

/** What waits for somebody, and how a decision on it is told to the run. */
export interface Item {
  kind: Pending['kind']
  tool: string
  args: Record<string, unknown>
  about: unknown
  /** JSON Schema of the answer to a question. */
  schema: JsonSchema | undefined
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
  decide: (verdict: Verdict) => Decision
  /** The same for as long as `decide` can be carried out. */
  key: string
}

/** What a run waits for. */
export function itemsOf(run: Run): Item[] {
  if (run.status !== 'paused') return []
  return run.pending.map(({ kind, tool, args, about, schema, fingerprint, toolCallId, path = [] }) => ({
    ...{ kind, tool, args, about, schema, fingerprint },
    agents: path.map(({ agent }) => agent),
    problem: path.length > 0 && kind === 'approval' ? problemIn(about) : '',
    decide: (verdict) => ({ toolCallId, fingerprint, ...verdict }),
    key: JSON.stringify([run.id, toolCallId, fingerprint]),
    ...{ runId: run.id, input: run.input, owner: run.owner, since: run.finishedAt ?? run.createdAt },
  }))
}

/** Why an agent asks again. */
function problemIn(about: unknown): string {
  const { problem } = (about ?? {}) as { problem?: unknown }
  return typeof problem === 'string' ? problem : ''
}
