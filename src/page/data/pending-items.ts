import type { JsonSchema, Pending, Run } from '../types.ts'

export type DecisionFields = Record<string, unknown>

/** A decision as it is sent to the run. */
interface Decision extends DecisionFields {
  toolCallId: string
  fingerprint: string
}

/** A pending decision: something that a run has asked the user to approve, answer or do. */
export interface Item {
  kind: Pending['kind']
  tool: string
  args: Record<string, unknown>
  effect?: Pending['effect']
  /** What the model said before the call. */
  said?: string | undefined
  about?: unknown
  /** The JSON Schema of the answer to a question. */
  schema?: JsonSchema | undefined
  fingerprint: string
  runId: string
  input: string
  owner: string
  /** When the run started to wait. */
  since: string
  /** The name of the run's model or agent. */
  model: string
  /** The nested agents that contain the call, outermost first. */
  agents: string[]
  /** The line of a script that makes the call. */
  script?: Pending['script']
  /** The position of the call in the plan of a preview. */
  plan?: Pending['plan']
  /** The reason why the last decision could not be applied. `''` if there was no problem. */
  problem: string
  decide: (verdict: DecisionFields) => Decision
  /** Identifies the call and its arguments. */
  key: string
}

/** Returns the pending decisions of a run. */
export function itemsOf(run: Run): Item[] {
  if (run.status !== 'waiting') return []
  return run.pending.map(({ toolCallId, path = [], ...item }) => ({
    ...item,
    agents: path.map(({ agent }) => agent),
    problem: (item.about as { problem?: string } | undefined)?.problem ?? '',
    decide: (verdict) => ({ toolCallId, fingerprint: item.fingerprint, ...verdict }),
    key: toolCallId + item.fingerprint,
    runId: run.id,
    model: run.model,
    input: run.input,
    owner: run.owner,
    since: run.finishedAt ?? run.createdAt,
  }))
}
