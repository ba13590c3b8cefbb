import { ToolloopError } from '../../core/errors.ts'
import { toChatMessages } from '../../core/message-input.ts'
import { type ChatMessage, isJsonObject, type Json } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { Compaction } from '../conversation/compaction.ts'
import type { Added, Claim, Claimed, ClaimRequest, Draft, Kept, NotClaimed, SessionStore } from './session-store.ts'
import { healed, notClaimed, positionOf, type Sessions, textsOf } from './sessions.ts'

/** A run that waits for its turn in a session. */
export interface Waiter {
  readonly interruption: unknown
  /** The outer run. */
  readonly outer?: Waiter | undefined
  untilInterrupted<T>(work: Promise<T>): Promise<T | undefined>
}

export interface LeaseRequest {
  id: string
  claim: ClaimRequest
  onBusy: 'wait' | 'refuse'
  journal: RunsOfJournal
  /** The id of a message in the session. The run replaces this message and all messages after it. */
  replaces?: string | undefined
}

/** The methods of the runner's journal that sessions use. */
export interface RunsOfJournal {
  /**
   * Resumes the run if no live process executes it. Resolves with the run's status and recorded result. `problem`: why its last execution
   * broke off. Undefined for an unknown run.
   */
  takeUp(runId: string): Promise<{ status: RunStatus; output?: Json; problem?: string } | undefined>
  /** Cancels a waiting run. Resolves when the run has ended. */
  cancel(runId: string): Promise<void>
}

/** The position in the session at which a run starts. The position is recorded, so that every execution uses the same position. */
export interface SessionPlace {
  id: string
  session: number
  at: number
  compaction?: Compaction
  /** Whether the messages from `at` on are replaced. */
  replaces?: true
  /** A digest of the messages before `at`. It tells whether the session still has these messages, to which a recorded result refers. */
  digest?: string
}

/** The first and the longest pause before a claim is retried, in milliseconds. Each pause is longer than the one before. */
const firstPauseMs = 20
const longestPauseMs = 250
/** How often a run that breaks off again and again is resumed to free its session. */
const mostTakeUps = 5
/** How often a run claims its session again after an earlier execution of the same run has claimed it. */
const mostClaims = 5

/** A run's claim on its session. */
export class SessionLease {
  readonly id: string
  readonly claimed: Claimed
  readonly #store: SessionStore
  readonly #request: ClaimRequest
  #claim: Claim
  /** Whether the run has not carried out anything yet. */
  #isUntouched: boolean
  /** Lets the next run in line continue. */
  readonly done: () => void
  #isOver = false

  constructor(store: SessionStore, { id, claim: request }: LeaseRequest, claimed: Claimed, done: () => void) {
    this.#request = request
    this.#isUntouched = request.again !== true
    this.id = id
    this.claimed = claimed
    this.#store = store
    this.#claim = { id, runId: request.runId, token: claimed.token }
    this.done = done
  }

  isOf(store: SessionStore, id: string): boolean {
    return this.#store === store && this.id === id
  }

  /** Called before the run does anything with effects. */
  begin(): void {
    this.#isUntouched = false
  }

  async commit(added: Added): Promise<Kept> {
    return this.#keep((claim) => this.#store.commit(claim, added))
  }

  async pause(draft: Draft): Promise<Kept> {
    return this.#keep((claim) => this.#store.pause(claim, draft))
  }

  /**
   * Does `work`. If the claim is lost, claims the session again and repeats `work`: a suspended process may have claimed the session for an
   * earlier execution of the run. Rejects with `run_taken_over` if a later execution has the session.
   */
  async #keep(work: (claim: Claim) => Promise<Kept>): Promise<Kept> {
    const { id } = this
    for (let claims = 0; ; claims++) {
      const kept = await work(this.#claim)
      if (kept === 'lost' && this.#request.durable && claims < mostClaims) {
        const again = await this.#store.claim(id, { ...this.#request, session: this.claimed.session })
        if (again.kind === 'taken_over') throw notClaimed(id, again)
        if (again.kind === 'claimed') {
          this.#claim = { ...this.#claim, token: again.token }
          continue
        }
      }
      this.#isOver = true
      return kept
    }
  }

  /** Releases the session without adding anything. */
  async giveBack(): Promise<void> {
    await this.#store.unclaim(this.#claim, { keeps: false })
    this.#isOver = true
  }

  /** Lets the next run use the session. A recorded run that has not ended keeps the session, because it will be resumed. */
  async leave(): Promise<void> {
    try {
      if (!this.#isOver) await this.#store.unclaim(this.#claim, { keeps: this.#request.durable, untouched: this.#isUntouched })
    } finally {
      this.done()
    }
  }
}

/**
 * Claims a session for a run when it is the run's turn. Runs of one process are served in order of arrival. Between processes there is no
 * order. Resolves with undefined if the run is interrupted first, and with the store's refusal if no other run causes it. Rejects with
 * `session_waiting` if another run in the session waits for a decision, and with `session_busy` if another run uses the session and
 * `onBusy` is `'refuse'` or the wait would never end. `held`: the run's current lease, whose place in line the new lease keeps.
 */
export async function leaseSession(
  sessions: Sessions,
  request: LeaseRequest,
  waiter: Waiter,
  held?: SessionLease,
): Promise<SessionLease | NotClaimed | undefined> {
  const { store } = sessions
  const { id, onBusy } = request
  const { before, done } = held === undefined ? standInLine(store, request, waiter) : { done: held.done }
  try {
    if (before !== undefined) {
      if (onBusy === 'refuse') throw notClaimed(id, { kind: 'busy', runId: before.runId, durable: false, alive: true })
      await waitInLine(request, waiter, before)
    }
    let brokenOff = 0
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
      const claimed = await claim(store, request, waiter)
      if (claimed === undefined) break
      if (claimed.kind === 'claimed') return new SessionLease(store, request, claimed, done)
      if (!isInTheWay(claimed, request)) {
        done()
        return claimed
      }
      if (claimed.kind === 'waiting' || !claimed.alive) {
        const run = await request.journal.takeUp(claimed.runId)
        if (run?.problem !== undefined) brokenOff++
        if (claimed.kind === 'waiting' && (run === undefined || run.status === 'waiting') && (await isReplaced(sessions, request))) {
          if (run === undefined) await sessions.release(id)
          else await request.journal.cancel(claimed.runId)
          continue
        }
        if (run === undefined || run.status === 'waiting' || brokenOff > mostTakeUps) throw notClaimed(id, claimed, run?.problem)
        if (run.status === 'ended') {
          await releaseEnded(sessions, id, claimed.runId, run.output)
          continue
        }
      }
      if (onBusy === 'refuse') throw notClaimed(id, claimed)
      if (waiter.interruption !== undefined) break
      await waiter.untilInterrupted(new Promise((resolve) => setTimeout(resolve, pauseMs)))
    }
  } catch (error) {
    done()
    throw error
  }
  done()
  return undefined
}

/**
 * Claims the session. Undefined if the run is interrupted first. A recorded run claims its session even if it is interrupted, because it
 * has to end there.
 */
async function claim(store: SessionStore, { id, claim: asked }: LeaseRequest, waiter: Waiter): Promise<Claimed | NotClaimed | undefined> {
  if (asked.durable) return store.claim(id, asked)
  if (waiter.interruption !== undefined) return undefined
  const claiming = store.claim(id, asked)
  const claimed = await waiter.untilInterrupted(claiming)
  if (claimed === undefined) void claiming.then((late) => giveBack(store, id, asked, late)).catch(() => undefined)
  return claimed
}

/** Releases a claim that succeeded only after its run had stopped waiting for it. */
async function giveBack(
  store: SessionStore,
  id: string,
  { runId, again = false }: ClaimRequest,
  claimed: Claimed | NotClaimed,
): Promise<void> {
  if (claimed.kind === 'claimed') await store.unclaim({ id, runId, token: claimed.token }, { keeps: false, untouched: !again })
}

type InTheWay = Extract<NotClaimed, { kind: 'busy' | 'waiting' }>

/** Whether another run uses the session, or another caller has just started a run with the same id. */
function isInTheWay(refused: NotClaimed, { claim: { runId } }: LeaseRequest): refused is InTheWay {
  if (refused.kind !== 'busy' && refused.kind !== 'waiting') return false
  return refused.runId !== runId || (refused.kind === 'busy' && !refused.durable)
}

/** Whether the messages to replace include the messages of the run that waits in the session. */
async function isReplaced({ store }: Sessions, { id, replaces }: LeaseRequest): Promise<boolean> {
  if (replaces === undefined) return false
  const kept = await store.get(id)
  return kept?.status === 'waiting' && (await positionOf(store, kept, replaces)) !== undefined
}

/** Releases the session of a run that the journal has as ended. Stores the messages that the run did not store itself. */
async function releaseEnded(sessions: Sessions, id: string, runId: string, output: Json | undefined): Promise<void> {
  const { messages, ...place } = addedIn(output)
  // A run without a message from the model adds nothing to the session, except its draft, which `release` stores.
  if (messages.some(({ role }) => role === 'assistant'))
    await sessions.store.release(id, runId, { messages: textsOf(healed(messages)), ...place }, 'stored')
  else if ((await sessions.store.get(id))?.runId === runId) await sessions.release(id)
}

/** Returns the messages that a run added, from its recorded result. `at`: the position of the first message that they replace. */
function addedIn(output: Json | undefined): { messages: readonly ChatMessage[]; at?: number } {
  if (!isJsonObject(output) || !Array.isArray(output.newMessages)) return { messages: [] }
  const { newMessages, earlier } = output
  const at = isJsonObject(earlier) && earlier.replaces === true ? { at: Number(earlier.at) } : {}
  return { messages: toChatMessages(newMessages as never), ...at }
}

/** A run that waits in line for a session, or uses the session. */
interface InLine {
  runId: string
  run: Waiter
  /** The run before this run in line. */
  before: InLine | undefined
  /** Resolves when this run and all runs before it are done. */
  done: Promise<void>
  isDone: boolean
}

/** The last run in line for each session of a store, counting only runs of this process. */
const lines = new WeakMap<SessionStore, Map<string, InLine>>()
/** The run that each waiting nested run waits for. */
const nestedWaiting = new Map<Waiter, InLine>()

function standInLine(
  store: SessionStore,
  { id, claim: { runId, durable } }: LeaseRequest,
  run: Waiter,
): { before: InLine | undefined; done(): void } {
  // A recorded run may already have the session, so it doesn't wait in line.
  if (durable) return { before: undefined, done: () => {} }
  const line = lines.get(store) ?? new Map<string, InLine>()
  lines.set(store, line)
  const before = line.get(id)
  const { promise, resolve } = Promise.withResolvers<void>()
  // A run that stops waiting must not let later runs overtake the runs before it.
  const done = Promise.all([before?.done, promise]).then(() => {
    mine.isDone = true
    mine.before = undefined
    if (line.get(id) === mine) line.delete(id)
  })
  const mine: InLine = { runId, run, before, done, isDone: false }
  line.set(id, mine)
  return { before, done: resolve }
}

/** Waits in line. Rejects with `session_busy` if the run would deadlock with one of its outer runs. */
async function waitInLine({ id, claim: { runId } }: LeaseRequest, run: Waiter, before: InLine): Promise<void> {
  // A run that is not nested can't deadlock: it holds nothing before it has this session.
  if (run.outer === undefined) return void (await run.untilInterrupted(before.done))
  if (waitsFor(before, new Set(lineageOf(run)))) {
    const message = `Run \`${runId}\` would wait for session \`${id}\` for ever: the run that has it waits for a session of a run that this one is made in`
    throw new ToolloopError('session_busy', message)
  }
  nestedWaiting.set(run, before)
  try {
    await run.untilInterrupted(before.done)
  } finally {
    nestedWaiting.delete(run)
  }
}

/** Whether `line`, or a run before it in line, is one of `runs` or waits for one of them. */
function waitsFor(line: InLine | undefined, runs: ReadonlySet<Waiter>, seen: Set<InLine> = new Set()): boolean {
  for (let one = line; one !== undefined && !seen.has(one); one = one.before) {
    seen.add(one)
    const { run, isDone } = one
    if (isDone) continue
    if (runs.has(run)) return true
    // A run ends only after its nested runs.
    for (const [nested, before] of nestedWaiting) if (lineageOf(nested).includes(run) && waitsFor(before, runs, seen)) return true
  }
  return false
}

/** The run and its outer runs. */
function lineageOf(run: Waiter): Waiter[] {
  return run.outer === undefined ? [run] : [run, ...lineageOf(run.outer)]
}
