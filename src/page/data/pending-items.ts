import type { JsonSchema, Pending, Run } from '../types.ts'

export type Verdict = Record<string, unknown>

/** What a run is told of an item. */
export interface Decision extends Verdict {
  toolCallId: string
  fingerprint: string
  answer?: { decisions?: Decision[] }
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

/** What a run waits for. An agent inside a call asks through that call; here its own items stand in its place. */
export function itemsOf(run: Run): Item[] {
  if (run.status !== 'paused') return []
  return run.pending.flatMap((item) => unfold(item, { run, agents: [], problem: '' }, (decision) => decision))
}

/** `outward` makes a decision of the run's of one on the item. */
function unfold(
  item: Pending,
  { run, agents, problem }: { run: Run; agents: string[]; problem: string },
  outward: (decision: Decision) => Decision,
): Item[] {
  const { kind, tool, args, about, schema, fingerprint, toolCallId } = item
  const decide = (verdict: Verdict) => outward({ toolCallId, fingerprint, ...verdict })
  const paused = kind === 'question' ? pausedAgent(about) : undefined
  if (paused === undefined)
    return [
      {
        ...{ kind, tool, args, about, schema, fingerprint, agents, problem, decide, key: keyOf(decide) },
        ...{ runId: run.id, input: run.input, owner: run.owner, since: run.finishedAt ?? run.createdAt },
      },
    ]
  const from = { run, agents: [...agents, paused.agent], problem: paused.problem ?? '' }
  return paused.pending.flatMap((inner) => unfold(inner, from, (decision) => decide({ answer: { decisions: [decision] } })))
}

/** Everything a decision names. */
function keyOf(decide: (verdict: Verdict) => Decision) {
  return JSON.stringify(decide({}))
}

interface PausedAgent {
  agent: string
  pending: Pending[]
  /** Why the last decision on it could not be carried out. */
  problem?: string
}

/** A paused run of an agent inside a call, where that is what the call asks about. */
function pausedAgent(about: unknown): PausedAgent | undefined {
  const asked = about as Partial<PausedAgent> | null | undefined
  const { agent, pending, problem } = asked ?? {}
  if (typeof agent !== 'string' || !Array.isArray(pending) || pending.length === 0) return undefined
  return pending.every((item) => typeof item?.fingerprint === 'string') ? { agent, pending, problem } : undefined
}

/** Decisions on items of one run, as one order: those on items of the same agent inside a call go into that call's answer together. */
export function merged(decisions: readonly Decision[]): Decision[] {
  const all = new Map<string, Decision>()
  for (const decision of decisions) {
    const key = `${decision.toolCallId} ${decision.fingerprint}`
    const inner = decision.answer?.decisions
    const known = all.get(key)
    const others = known?.answer?.decisions
    if (!Array.isArray(inner) || !Array.isArray(others)) all.set(key, decision)
    else all.set(key, { ...decision, answer: { decisions: merged([...others, ...inner]) } })
  }
  return [...all.values()]
}
