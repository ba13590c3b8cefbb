/** @typedef {import('../types.js').Pending} Pending */
/** @typedef {Record<string, unknown>} Verdict */

/**
 * @typedef {object} Item What waits for somebody, and how a decision on it is told to the run.
 * @property {Pending['kind']} kind
 * @property {string} tool
 * @property {Record<string, unknown>} args
 * @property {unknown} about
 * @property {any} schema JSON Schema of the answer to a question.
 * @property {string} fingerprint
 * @property {string} runId
 * @property {string} input What the run was asked.
 * @property {string} owner Whose run it is.
 * @property {string} since Since when the run waits.
 * @property {string[]} agents The agents it comes from, the outermost first: those of calls inside of calls.
 * @property {string} problem Why the last decision could not be carried out; `''`: there was none.
 * @property {(verdict: Verdict) => object} decide
 * @property {string} key The same for as long as `decide` can be carried out.
 */

/**
 * What a run waits for. An agent inside a call asks through that call; here its own items stand in its place.
 * @param {import('../types.js').Run} run
 * @returns {Item[]}
 */
export function itemsOf(run) {
  if (run.status !== 'paused') return []
  return run.pending.flatMap((item) => unfold(item, { run, agents: [], problem: '' }, (decision) => decision))
}

/**
 * @param {Pending} item
 * @param {{ run: import('../types.js').Run, agents: string[], problem: string }} from
 * @param {(decision: object) => object} outward Makes a decision of the run's of one on the item.
 * @returns {Item[]}
 */
function unfold(item, { run, agents, problem }, outward) {
  const { kind, tool, args, about, schema, fingerprint, toolCallId } = item
  /** @param {Verdict} verdict */
  const decide = (verdict) => outward({ toolCallId, fingerprint, ...verdict })
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

/** Everything a decision names. @param {(verdict: Verdict) => object} decide */
function keyOf(decide) {
  return JSON.stringify(decide({}))
}

/**
 * @param {any} about
 * @returns {{ agent: string, pending: Pending[], problem?: string } | undefined}
 */
function pausedAgent(about) {
  const isOne = typeof about?.agent === 'string' && Array.isArray(about.pending) && about.pending.length > 0
  return isOne && about.pending.every((/** @type {any} */ item) => typeof item?.fingerprint === 'string') ? about : undefined
}

/**
 * Decisions on items of one run, as one order: those on items of the same agent inside a call go into that call's answer together.
 * @param {any[]} decisions
 * @returns {any[]}
 */
export function merged(decisions) {
  /** @type {Map<string, any>} */
  const all = new Map()
  for (const decision of decisions) {
    const key = `${decision.toolCallId} ${decision.fingerprint}`
    const inner = decision.answer?.decisions
    const known = all.get(key)
    if (!Array.isArray(inner) || known === undefined) all.set(key, decision)
    else all.set(key, { ...decision, answer: { decisions: merged([...known.answer.decisions, ...inner]) } })
  }
  return [...all.values()]
}
