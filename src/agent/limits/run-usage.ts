import type { StopReason } from '../../core/events.ts'
import { addUsage, noUsage, type Usage } from '../../core/messages.ts'
import { callLimitText } from '../run-texts.ts'
import type { PlannedCall } from '../types/recorded.ts'
import type { ResolvedLimits } from '../types/resolved-limits.ts'
import type { Spent } from '../types/result.ts'
import { type Account, Budget, type BudgetAmounts } from './budget.ts'

/** The outer run, which also counts the usage of its nested run. */
export interface BudgetParent {
  budget: RunUsage
  /** The tool call that started the nested run. `''` for a run that a guardrail, a hook or a summary started. */
  toolCallId: string
  /** The id of the nested run. A call may start several nested runs. */
  runId: string
}

/** A run whose conversation an agent has taken over. The agent's requests must respect the limits of the run and of the agent. */
type HandedOver = { budget: RunUsage }

/** The usage of one call's nested runs. */
interface CallSpent {
  readonly runs: Map<string, RunUsage>
  /** The usage of planning the call, as recorded with the plan. */
  planned?: Spent
  /** The usage in the call's record. It may include nested runs that `runs` lacks, because a replayed call starts no nested runs. */
  recorded?: Spent
}

/**
 * Counts the usage of a run and of its nested runs. A replay counts the same usage, because the counts come from the run's record. Nested
 * runs add only usage that is not recorded yet.
 *
 * A request may be sent if part of a limit is neither used nor reserved for other requests. A run therefore exceeds its limits by at most
 * one request for each call that runs concurrently.
 */
export class RunUsage {
  /** Undefined if neither tokens nor cost are limited. */
  readonly #limits: Budget | undefined
  readonly #resolved: Limiting
  readonly #parent: BudgetParent | HandedOver | undefined
  /** The usage of agents that have taken over the conversation. */
  readonly #stays: RunUsage[] = []
  /** The usage of calls without a record yet. */
  readonly #calls = new Map<string, CallSpent>()
  /** The usage of the run's own requests and calls, as recorded. */
  #recorded: Spent = nothingSpent
  /** The usage of the run's own requests whose turns are not recorded yet. */
  #unrecorded: Usage = noUsage
  /** The largest usage of one request so far, in this run or a nested run. */
  #dearest: BudgetAmounts = { costUsd: 0, tokens: 0 }
  #callsLeftOut = false

  constructor(limits: Limiting, parent?: BudgetParent | HandedOver) {
    const { costUsd, tokens } = limits
    if (Number.isFinite(tokens) || Number.isFinite(costUsd)) this.#limits = Budget.ofRun({ costUsd, tokens }, this.#account())
    this.#resolved = limits
    this.#parent = parent
    if (parent === undefined) return
    if ('runId' in parent) parent.budget.#enter(parent, this)
    else parent.budget.#stays.push(this)
  }

  /** Returns a counter for an agent that takes over the conversation. The agent's own limits count from now on. */
  handOver(limits: Limiting): RunUsage {
    const run = this.#run
    return new RunUsage({ ...limits, maxIterations: Math.min(limits.maxIterations, run.#resolved.maxIterations) }, { budget: run })
  }

  /** The run's own counter, even if this counter belongs to an agent that has taken over the conversation. */
  get #run(): RunUsage {
    return this.#parent === undefined || 'runId' in this.#parent ? this : this.#parent.budget
  }

  /** The budgets that limit the run's requests: its own budget and the budgets of outer runs. */
  get limiting(): Budget[] {
    const outer = this.#parent?.budget.limiting ?? []
    return this.#limits === undefined ? outer : [this.#limits, ...outer]
  }

  /** Counts the usage of a turn when it is recorded. */
  spend(usage: Usage | undefined): void {
    const { usage: before, toolCalls } = this.#recorded
    this.#recorded = { usage: addUsage(before, usage), toolCalls }
    this.#unrecorded = noUsage
    if (usage !== undefined) this.#learn(usage)
  }

  /** Counts the usage of a request that has ended, until its turn is recorded. */
  countRequest(usage: Usage | undefined): void {
    this.#unrecorded = addUsage(this.#unrecorded, usage)
  }

  /** What the runs inside a call have used so far. Undefined if there were no such runs. */
  spentIn(toolCallId: string): Spent | undefined {
    const call = this.#calls.get(toolCallId)
    if (call === undefined) return undefined
    const { runs, recorded, planned = nothingSpent } = call
    const running = [...runs.values()].map((run) => run.#total()).reduce(addSpent, planned)
    return recorded !== undefined && recorded.usage.totalTokens > running.usage.totalTokens ? recorded : running
  }

  /** The usage of guardrails, hooks and summaries that is not recorded yet. */
  get beside(): { beside?: Spent } {
    const beside = this.spentIn('')
    return beside === undefined ? {} : { beside }
  }

  /** Counts the usage in a call's record until `settle` is called. */
  keep({ id, nested }: { id: string; nested?: Spent }): void {
    if (nested !== undefined) this.#calls.set(id, { ...(this.#calls.get(id) ?? { runs: new Map() }), recorded: nested })
  }

  /** Counts the recorded usage of planning a call, and forgets the nested runs that the planning started. */
  keepPlanned(id: string, planned: Spent | undefined): void {
    if (planned !== undefined) this.#calls.set(id, { runs: new Map(), planned })
  }

  /** Adds the usage in the calls' records, and forgets the calls' nested runs. Later usage of abandoned nested runs is not counted. */
  settle(records: readonly { id: string; nested?: Spent }[]): void {
    for (const { id, nested } of records) {
      this.#calls.delete(id)
      if (nested !== undefined) this.#recorded = addSpent(this.#recorded, nested)
    }
  }

  /** Returns the planned calls in the same order. Calls that exceed the limit are refused. */
  admit(planned: readonly PlannedCall[]): PlannedCall[] {
    const admitted: PlannedCall[] = []
    for (const call of planned) admitted.push(call.action === 'reject' ? call : this.#admitted(call))
    return admitted
  }

  #admitted(call: PlannedCall): PlannedCall {
    const { left, limit } = this.#callsLeft()
    if (left > 0) {
      const { usage, toolCalls } = this.#recorded
      this.#recorded = { usage, toolCalls: toolCalls + 1 }
      return call
    }
    this.#callsLeftOut = true
    const { approval: _, ...refused } = call
    return { ...refused, action: 'reject', refusal: { code: 'tool_denied', text: callLimitText(limit) } }
  }

  /**
   * Returns the reason to end the run after `iteration`. If several reasons apply, returns the one with the highest priority. Undefined if
   * the run may continue.
   */
  exhausted(iteration: number): StopReason | undefined {
    if (this.#callsLeftOut || this.isUsedUp) return 'budget'
    return iteration >= this.#resolved.maxIterations ? 'max_iterations' : undefined
  }

  /** Whether this run or an outer run has used up a limit, so that no request may be sent. */
  get isUsedUp(): boolean {
    return this.limiting.some((budget) => budget.isUsedUp)
  }

  #account(): Account {
    return {
      used: () => ({ costUsd: this.#sum(({ usage }) => usage.costUsd ?? 0), tokens: this.#sum(({ usage }) => usage.totalTokens) }),
      // The run that sent the request counts its usage, so only the largest usage is stored here.
      count: (usage) => this.#learn(usage),
      // The largest usage so far covers costs that can't be estimated in advance, such as the cost of a long answer.
      dearest: () => this.#dearest,
    }
  }

  #learn(usage: Usage): void {
    const { costUsd, tokens } = this.#dearest
    this.#dearest = { costUsd: Math.max(costUsd, usage.costUsd ?? 0), tokens: Math.max(tokens, usage.totalTokens) }
    if (this.#parent !== undefined) this.#parent.budget.#learn(usage)
  }

  #callsLeft(): { left: number; limit: number } {
    const limit = this.#resolved.toolCalls
    const own = { left: Number.isFinite(limit) ? limit - this.#sum(({ toolCalls }) => toolCalls) : limit, limit }
    if (this.#parent === undefined) return own
    const outer = this.#parent.budget.#callsLeft()
    return outer.left < own.left ? outer : own
  }

  #enter({ toolCallId, runId }: BudgetParent, run: RunUsage): void {
    const call = this.#calls.get(toolCallId) ?? { runs: new Map<string, RunUsage>() }
    // A resumed nested run counts its earlier usage itself, so its new counter replaces the old one.
    call.runs.set(runId, run)
    this.#calls.set(toolCallId, call)
  }

  #total(): Spent {
    let total = addSpent(this.#recorded, { usage: this.#unrecorded, toolCalls: 0 })
    for (const id of this.#calls.keys()) total = addSpent(total, this.spentIn(id) ?? nothingSpent)
    for (const stay of this.#stays) total = addSpent(total, stay.#total())
    return total
  }

  #sum(of: (spent: Spent) => number): number {
    let sum = of(this.#recorded) + of({ usage: this.#unrecorded, toolCalls: 0 })
    for (const { runs, recorded, planned } of this.#calls.values()) {
      let running = planned === undefined ? 0 : of(planned)
      for (const run of runs.values()) running += run.#sum(of)
      sum += recorded === undefined ? running : Math.max(running, of(recorded))
    }
    for (const stay of this.#stays) sum += stay.#sum(of)
    return sum
  }
}

/** The limits that `RunUsage` enforces. */
type Limiting = Pick<ResolvedLimits, 'tokens' | 'costUsd' | 'toolCalls' | 'maxIterations'>

const nothingSpent: Spent = { usage: noUsage, toolCalls: 0 }

function addSpent(a: Spent, b: Spent): Spent {
  return { usage: addUsage(a.usage, b.usage), toolCalls: a.toolCalls + b.toolCalls }
}
