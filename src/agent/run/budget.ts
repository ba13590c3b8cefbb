import type { StopReason } from '../../core/events.ts'
import { addUsage, type Content, noUsage, type Usage } from '../../core/messages.ts'
import { sorted } from '../decisions/decisions.ts'
import type { PlannedCall } from '../recorded.ts'
import { callLimitText, noMoreCallsText } from '../told.ts'
import type { ResolvedLimits } from './limits.ts'
import type { Spent } from './result.ts'

/** The call a run was made inside of: what the run uses up is used up there too. */
export interface BudgetParent {
  budget: Budget
  toolCallId: string
  /** Of the run that was made: a call may make several. */
  runId: string
}

/**
 * What a run has used up, with what runs inside its calls have. Made of recorded values, so a replay counts the same; only of calls whose
 * end is not recorded yet, the runs inside them are asked.
 */
export class Budget {
  readonly #limits: ResolvedLimits
  readonly #parent: BudgetParent | undefined
  /** Of runs in calls that have not ended yet: by call, and in it by run. */
  readonly #running = new Map<string, Map<string, Budget>>()
  /** By requests and calls of its own, and by its calls as their records tell. */
  #spent: Spent = nothingSpent
  #callsLeftOut = false

  constructor(limits: ResolvedLimits, parent?: BudgetParent) {
    this.#limits = limits
    this.#parent = parent
    if (parent !== undefined) parent.budget.#enter(parent, this)
  }

  spend(usage: Usage | undefined): void {
    this.#spent = { ...this.#spent, usage: addUsage(this.#spent.usage, usage) }
  }

  /** What runs inside a call have used up by now; undefined where there was none. */
  spentIn(toolCallId: string): Spent | undefined {
    const runs = this.#running.get(toolCallId)
    return runs && [...runs.values()].map((run) => run.#total()).reduce(addSpent)
  }

  /** Takes over what a round's calls have come to by their records. What is spent inside them later, by runs left behind, is not counted. */
  settle(records: readonly { id: string; nested?: Spent }[]): void {
    for (const { id, nested } of records) {
      this.#running.delete(id)
      if (nested !== undefined) this.#spent = addSpent(this.#spent, nested)
    }
  }

  /** The plan with the calls that are more than may run refused, in the order of the calls. */
  admit(planned: readonly PlannedCall[]): PlannedCall[] {
    return planned.map((call): PlannedCall => {
      if (call.action === 'reject') return call
      const { left, limit } = this.#callsLeft()
      if (left > 0) {
        this.#spent = { ...this.#spent, toolCalls: this.#spent.toolCalls + 1 }
        return call
      }
      this.#callsLeftOut = true
      const { approval: _, ...refused } = call
      return { ...refused, action: 'reject', refusal: { code: 'tool_denied', text: callLimitText(limit) } }
    })
  }

  /** What must end the run after `iteration`, by priority; undefined when it may go on. */
  exhausted(iteration: number): StopReason | undefined {
    if (this.#callsLeftOut || this.#isUsedUp()) return 'budget'
    return iteration >= this.#limits.maxIterations ? 'max_iterations' : undefined
  }

  #isUsedUp(): boolean {
    const { tokens, costUsd } = this.#limits
    if (Number.isFinite(tokens) && this.#sum(({ usage }) => usage.totalTokens) >= tokens) return true
    if (Number.isFinite(costUsd) && this.#sum(({ usage }) => usage.costUsd ?? 0) >= costUsd) return true
    const outer = this.#parent?.budget
    return outer === undefined ? false : outer.#isUsedUp()
  }

  #callsLeft(): { left: number; limit: number } {
    const limit = this.#limits.toolCalls
    const own = { left: Number.isFinite(limit) ? limit - this.#sum(({ toolCalls }) => toolCalls) : limit, limit }
    if (this.#parent === undefined) return own
    const outer = this.#parent.budget.#callsLeft()
    return outer.left < own.left ? outer : own
  }

  #enter({ toolCallId, runId }: BudgetParent, run: Budget): void {
    const runs = this.#running.get(toolCallId) ?? new Map<string, Budget>()
    // One that is taken up again counts what it has spent again.
    this.#running.set(toolCallId, runs.set(runId, run))
  }

  #total(): Spent {
    let total = this.#spent
    for (const runs of this.#running.values()) for (const run of runs.values()) total = addSpent(total, run.#total())
    return total
  }

  #sum(of: (spent: Spent) => number): number {
    let sum = of(this.#spent)
    for (const runs of this.#running.values()) for (const run of runs.values()) sum += run.#sum(of)
    return sum
  }
}

const nothingSpent: Spent = { usage: noUsage, toolCalls: 0 }

function addSpent(a: Spent, b: Spent): Spent {
  return { usage: addUsage(a.usage, b.usage), toolCalls: a.toolCalls + b.toolCalls }
}

/** Notices a model that makes the very same call turn after turn and is told the very same thing each time. */
export class RepeatBreaker {
  readonly #maxRepeats: number
  #streaks = new Map<string, number>()

  constructor(maxRepeats: number) {
    this.#maxRepeats = maxRepeats
  }

  /**
   * Counts one turn's calls with what they came to. `tell`: ids of calls now repeated as often as is allowed, whose results should say so.
   * `end`: a call was repeated although the model had been told. A call whose result changes is never a repeat: it may be polling.
   */
  countRound(planned: readonly PlannedCall[], records: readonly { id: string; content: Content }[]): Repeats {
    if (this.#maxRepeats === Number.POSITIVE_INFINITY) return noRepeats
    const results = new Map(records.map(({ id, content }) => [id, content]))
    const keys = planned.map((call) => `${callKey(call)}\n${resultKey(results.get(call.id))}`)
    const streaks = new Map<string, number>()
    for (const key of new Set(keys)) streaks.set(key, (this.#streaks.get(key) ?? 0) + 1)
    this.#streaks = streaks
    const repeats = keys.map((key) => (streaks.get(key) ?? 0) - 1)
    const tell = new Set(planned.filter((_call, at) => repeats[at] === this.#maxRepeats).map(({ id }) => id))
    return { tell, end: repeats.some((times) => times > this.#maxRepeats) }
  }
}

export interface Repeats {
  tell: ReadonlySet<string>
  end: boolean
}

export const noRepeats: Repeats = { tell: new Set(), end: false }

/** The plan of a turn that was not to call anything but `answering`, with its other calls refused. */
export function refuseAll(planned: readonly PlannedCall[], answering?: string): PlannedCall[] {
  return planned.map(({ approval: _, ...call }): PlannedCall => {
    if (call.action === 'reject' || call.name === answering) return call
    return { ...call, action: 'reject', refusal: { code: 'tool_denied', text: noMoreCallsText } }
  })
}

/** Beyond this many characters two texts are compared as they are: putting a megabyte in order to compare it costs too much. */
const longestOrdered = 4_096

/** What makes two calls the same call: white space and the order of keys don't count. */
function callKey({ name, args, rawArguments }: PlannedCall): string {
  return `${name} ${args === undefined || rawArguments.length > longestOrdered ? rawArguments : JSON.stringify(sorted(args))}`
}

function resultKey(content: Content | undefined): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? null)
}
