import { checkOptionNames, type Optional, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import type { Usage } from '../../core/messages.ts'
import { ExpectedOutput } from '../../models/usage.ts'

/** Amounts that a `Budget` counts. */
export interface BudgetAmounts {
  /** US dollars. */
  costUsd: number
  /** Tokens of requests and responses. */
  tokens: number
}

/** Options of a `Budget`: at least one of `costUsd` and `tokens`. */
export interface BudgetOptions extends Optional<BudgetAmounts> {
  /** Amounts that an earlier process has already used and stored. Default: none. */
  spent?: Optional<BudgetAmounts>
}

const optionNames: OptionNames<BudgetOptions> = { costUsd: true, tokens: true, spent: true }
const amountNames: OptionNames<BudgetAmounts> = { costUsd: true, tokens: true }

/** The amount reserved for a current request. Must be settled exactly once. */
export interface Reservation {
  readonly amount: BudgetAmounts
  /** How long the request waited for the reservation, in milliseconds. Absent if it did not wait. */
  readonly waitedMs?: number
  /** Replaces the reservation with the usage of the request. Pass undefined if the request used nothing. */
  settle(used: Usage | undefined): void
}

/** Counts the usage of a run. A replay counts the same usage, because the counts come from the run's record. */
export interface Account {
  used(): BudgetAmounts
  /** Called with the usage of each request that has ended. */
  count(usage: Usage): void
  /** The largest usage of a single request so far. At least this amount is reserved for each request. */
  dearest(): BudgetAmounts
}

/** A request that waits for other requests to end. */
interface Waiter {
  amount: BudgetAmounts
  held: BudgetAmounts
  /** Ends the wait. `reservation`: undefined if the request does not fit or is aborted. */
  end(reservation: Reservation | undefined): void
}

/**
 * The error of a request that a budget or the `limits` of the run don't allow. The request is not sent. Inside an `aroundModel` hook,
 * `next()` rejects with this error.
 */
export class BudgetSpentError extends ToolloopError {
  override readonly name = 'BudgetSpentError'
  /** The option that did not allow the request. It may be an option of an outer run. */
  readonly option: 'budget' | 'limits'
  /** The amounts already spent. */
  readonly spent: Readonly<BudgetAmounts>
  /** The limits of the budget. `Infinity`: not limited. */
  readonly limits: Readonly<BudgetAmounts>

  /** @internal */
  constructor({ option, spent, limits }: Pick<Budget, 'option' | 'spent' | 'limits'>) {
    const what = option === 'budget' ? 'The budget does' : 'The limits of the run do'
    super('budget_spent', `${what} not allow the request: ${spentOf(spent, limits)}`)
    this.option = option
    this.spent = spent
    this.limits = limits
  }
}

function spentOf(spent: BudgetAmounts, limits: BudgetAmounts): string {
  const dollars = limits.costUsd === Number.POSITIVE_INFINITY ? [] : [`$${spent.costUsd} of $${limits.costUsd}`]
  const tokens = limits.tokens === Number.POSITIVE_INFINITY ? [] : [`${spent.tokens} tokens of ${limits.tokens}`]
  return `${[...dollars, ...tokens].join(' and ')} are spent`
}

let made = 0
const nothing: BudgetAmounts = { costUsd: 0, tokens: 0 }

/**
 * A budget that several runs share, such as all runs of one user, day or project. Pass it to each run as `budget`. An estimated amount is
 * reserved before each request, so that concurrent runs can't all spend the same remaining amount. Afterwards the request's real usage
 * replaces the reservation.
 *
 * ```ts
 * const budget = new Budget({ costUsd: 20 })
 * await Promise.all(tasks.map((task) => runner.run(task, { budget })))
 * console.log(budget.spent.costUsd, budget.left.costUsd)
 * ```
 */
export class Budget {
  /**
   * Determines the order in which a request reserves several budgets. All requests use the same order, so that no two requests wait for
   * each other.
   *
   * @internal
   */
  readonly order: number = ++made
  #account: Account | undefined
  #limits: BudgetAmounts
  #spent: BudgetAmounts
  #reserved: BudgetAmounts = nothing
  #underWay = 0
  readonly #expected = new ExpectedOutput()
  /** Waiting requests, in order of arrival. */
  readonly #waiting = new Set<Waiter>()
  /** Waiting requests that have to end before running requests can end. These requests come first. */
  readonly #waitedFor = new Set<Waiter>()

  /** Throws `invalid_option` for invalid options. */
  constructor(options: BudgetOptions) {
    if (typeof options !== 'object' || options === null) throw new InvalidOptionError('budget', 'a map of limits', options)
    checkOptionNames(options, optionNames, '`Budget`')
    const { costUsd, tokens, spent = {} } = options
    if (costUsd === undefined && tokens === undefined) throw new InvalidOptionError('budget', '`costUsd`, `tokens`, or both', options)
    checkOptionNames(spent, amountNames, '`Budget`', 'spent')
    this.#limits = amounts(options, Number.POSITIVE_INFINITY)
    this.#spent = amounts(spent, 0, 'spent.')
  }

  /** The limits of a run as a budget. @internal */
  static ofRun(limits: BudgetAmounts, account: Account): Budget {
    const budget = new Budget(limits)
    budget.#account = account
    return budget
  }

  /** The option that set the budget. */
  get option(): 'budget' | 'limits' {
    return this.#account === undefined ? 'budget' : 'limits'
  }

  /** Whether the budget has no room for any further request. @internal */
  get isUsedUp(): boolean {
    return !this.hasRoom(this.#used(), nothing)
  }

  /** The limits of the budget. `Infinity`: not limited. */
  get limits(): Readonly<BudgetAmounts> {
    return { ...this.#limits }
  }

  /** The usage of requests that have ended. Store it to continue in another process. */
  get spent(): Readonly<BudgetAmounts> {
    return { ...this.#used() }
  }

  /** The amounts that are neither spent nor reserved. The amounts are never below 0. */
  get left(): Readonly<BudgetAmounts> {
    const left = (name: keyof BudgetAmounts) => Math.max(0, this.#limits[name] - this.#used()[name] - this.#reserved[name])
    return { costUsd: left('costUsd'), tokens: left('tokens') }
  }

  /**
   * Raises the limits by these amounts. A run that has paused because of the budget continues when it is resumed. Throws `invalid_option`
   * for invalid amounts.
   */
  raise(by: Optional<BudgetAmounts>): void {
    checkOptionNames(by, amountNames, '`raise`')
    this.#limits = addAmounts(this.#limits, amounts(by, 0))
    this.#handOut()
  }

  /** Estimates the number of tokens of a response from earlier responses. Returns at most `most`. @internal */
  expectedOutput(most: number = Number.POSITIVE_INFINITY): number {
    return this.#expected.tokens(most)
  }

  /**
   * Reserves the estimated amount. Waits if running requests have reserved too much. Waiting requests are served in order, so that small
   * requests can't overtake a large request forever. Resolves with undefined if the amount can't fit, or if `signal` is aborted.
   *
   * `held`: the amounts reserved for running requests that wait for this request. Such a request precedes other waiting requests.
   *
   * @internal
   */
  async reserve(estimate: BudgetAmounts, signal: AbortSignal, held: BudgetAmounts = nothing): Promise<Reservation | undefined> {
    const amount = this.#account === undefined ? estimate : atLeast(estimate, this.#account.dearest())
    const waiting = held.costUsd > 0 || held.tokens > 0 ? this.#waitedFor : this.#waiting
    if (signal.aborted || !this.#mayFit(amount, held)) return undefined
    if (waiting.size === 0 && this.#fitsNow(amount)) return this.#reservation(amount)
    const since = performance.now()
    return new Promise((resolve) => {
      const end = (reservation: Reservation | undefined) => {
        waiting.delete(waiter)
        signal.removeEventListener('abort', onAbort)
        resolve(reservation && { ...reservation, waitedMs: performance.now() - since })
      }
      const onAbort = () => {
        end(undefined)
        this.#handOut()
      }
      const waiter: Waiter = { amount, held, end }
      waiting.add(waiter)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Gives reservations to waiting requests, in order. Stops at the first request that has to keep waiting. */
  #handOut(): void {
    for (const waiting of [this.#waitedFor, this.#waiting]) {
      for (const { amount, held, end } of waiting) {
        if (!this.#mayFit(amount, held)) end(undefined)
        else if (this.#fitsNow(amount)) end(this.#reservation(amount))
        else return
      }
    }
  }

  #mayFit(amount: BudgetAmounts, held: BudgetAmounts): boolean {
    return this.hasRoom(addAmounts(this.#used(), held), amount)
  }

  #fitsNow(amount: BudgetAmounts): boolean {
    return this.hasRoom(addAmounts(this.#used(), this.#reserved), amount)
  }

  #used(): BudgetAmounts {
    return this.#account?.used() ?? this.#spent
  }

  #count(usage: Usage): void {
    const { costUsd = 0, totalTokens: tokens } = usage
    if (this.#account === undefined) this.#spent = addAmounts(this.#spent, { costUsd, tokens })
    else this.#account.count(usage)
  }

  /** Whether the budget has room for `amount` in addition to `taken`. @internal */
  protected hasRoom(taken: BudgetAmounts, amount: BudgetAmounts): boolean {
    const { costUsd: mostUsd, tokens: mostTokens } = this.#limits
    // A run may send a request while part of its own limits is left.
    if (this.#account !== undefined) return taken.costUsd < mostUsd && taken.tokens < mostTokens
    const { costUsd, tokens } = addAmounts(taken, amount)
    // Even a request of unknown cost does not fit in a budget that is used up.
    return (costUsd < mostUsd || (costUsd === mostUsd && this.#spent.costUsd < mostUsd)) && tokens <= mostTokens
  }

  #reservation(amount: BudgetAmounts): Reservation {
    this.#reserved = addAmounts(this.#reserved, amount)
    this.#underWay++
    return {
      amount,
      settle: (used) => {
        this.#underWay--
        // Without running requests, nothing is reserved. A remainder left by rounding would make a request wait forever.
        this.#reserved = this.#underWay === 0 ? nothing : addAmounts(this.#reserved, { costUsd: -amount.costUsd, tokens: -amount.tokens })
        if (used !== undefined) {
          this.#count(used)
          this.#expected.learn(used)
        }
        this.#handOut()
      },
    }
  }
}

/** The parts of a run that concern budgets. */
export interface Paying {
  readonly settings: { readonly budget?: Budget; readonly onBudget?: 'stop' | 'pause' }
  /** The `limits` of the run and of its outer runs, as budgets. */
  readonly budget: { readonly limiting: readonly Budget[] }
  readonly outer: Paying | undefined
}

/** The budgets that limit the requests of a run and of its outer runs, in the order in which they are reserved. */
export function budgetsOf(run: Paying): readonly Budget[] {
  return [...new Set([...sharedBudgets(run), ...run.budget.limiting])].sort((a, b) => a.order - b.order)
}

function sharedBudgets({ settings: { budget }, outer }: Paying): Budget[] {
  const others = outer === undefined ? [] : sharedBudgets(outer)
  return budget === undefined ? others : [...others, budget]
}

/** Whether the run pauses when a budget is used up. */
export function waitsForBudget({ settings: { onBudget }, outer }: Paying): boolean {
  return onBudget === undefined ? outer !== undefined && waitsForBudget(outer) : onBudget === 'pause'
}

function amounts({ costUsd, tokens }: Optional<BudgetAmounts>, otherwise: number, where = ''): BudgetAmounts {
  return { costUsd: amount(`${where}costUsd`, costUsd, otherwise), tokens: amount(`${where}tokens`, tokens, otherwise) }
}

function amount(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise
  if (typeof value !== 'number' || !(value >= 0)) throw new InvalidOptionError(name, 'a number ≥ 0', value)
  return value
}

function atLeast(a: BudgetAmounts, b: BudgetAmounts): BudgetAmounts {
  return { costUsd: Math.max(a.costUsd, b.costUsd), tokens: Math.max(a.tokens, b.tokens) }
}

export function addAmounts(a: BudgetAmounts, b: BudgetAmounts): BudgetAmounts {
  return { costUsd: a.costUsd + b.costUsd, tokens: a.tokens + b.tokens }
}
