import { ToolloopError } from '../../core/errors.ts'
import { toChatMessages } from '../../core/message-input.ts'
import { type ChatMessage, isJsonObject, type Json } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import type { Compaction } from '../conversation/compaction.ts'
import type { Added, Claim, Claimed, ClaimRequest, Draft, Kept, NotClaimed, SessionStore } from './session-store.ts'
import { healed, notClaimed, positionOf, type Sessions, textsOf } from './sessions.ts'

/** The run that waits for its turn. */
export interface Waiter {
  readonly interruption: unknown
  /** The run that it is made inside of. */
  readonly outer?: Waiter | undefined
  untilInterrupted<T>(work: Promise<T>): Promise<T | undefined>
}

/** How a run claims a session. */
export interface TurnRequest {
  id: string
  claim: ClaimRequest
  onBusy: 'wait' | 'refuse'
  journal: RunsOfJournal
  /** The id of the message that the run replaces, with all behind it. */
  replaces?: string | undefined
}

/** What can be done with the run that has a session, if it is in the runner's journal. */
export interface RunsOfJournal {
  /**
   * Takes it up, where no living process carries it out. Resolves with how it stands then, its recorded result, and why the attempt before
   * broke off, if it did; undefined where it is not known.
   */
  takeUp(runId: string): Promise<{ status: RunStatus; output?: Json; problem?: string } | undefined>
  /** Ends one that waits. Resolves when it has ended. */
  cancel(runId: string): Promise<void>
}

/** Where in its session a run begins. Recorded, so that it is the same for each execution. */
export interface SessionPlace {
  id: string
  session: number
  at: number
  compaction?: Compaction
  /** The messages from `at` on are replaced. */
  replaces?: true
  /** Digest of the messages in front of `at`. A recorded result has them only as long as the session does. */
  digest?: string
}

/** How often other processes' sessions are looked at, in milliseconds: the longer it takes, the more seldom. */
const firstPauseMs = 20
const longestPauseMs = 250
/** How often a run that breaks off again is taken up to make way. */
const mostTakeUps = 5
/** How often a run claims a session again that was claimed in its own name. */
const mostClaims = 5

/** A run's hold on its session. */
export class SessionTurn {
  readonly id: string
  readonly claimed: Claimed
  readonly #store: SessionStore
  readonly #request: ClaimRequest
  #claim: Claim
  /** Nothing of the run has been carried out since it was claimed, nor before. */
  #isUntouched: boolean
  /** Lets the next in line have its turn. */
  readonly done: () => void
  #isOver = false

  constructor(store: SessionStore, { id, claim: request }: TurnRequest, claimed: Claimed, done: () => void) {
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

  /** From now on the run may do something. */
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
   * Claims again where a claim in the name of the same recorded run is in the way: an earlier execution made it, in a process that stood still. Rejects
   * with `run_taken_over` if this is the earlier one.
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

  /** The run adds nothing. */
  async giveBack(): Promise<void> {
    await this.#store.unclaim(this.#claim, { keeps: false })
    this.#isOver = true
  }

  /** The next may have it; but a run in a journal, if it has not ended here, will be taken up, and keeps it until then. */
  async leave(): Promise<void> {
    try {
      if (!this.#isOver) await this.#store.unclaim(this.#claim, { keeps: this.#request.durable, untouched: this.#isUntouched })
    } finally {
      this.done()
    }
  }
}

/**
 * Claims a session when it is the run's turn: runs of one process in the order in which they came, those of several as they happen to look.
 * Resolves with why it can't be had where that is about this very run, and with undefined when the run is interrupted meanwhile. Rejects
 * with `session_busy` and `session_waiting`. `held`: what the run has already, and is to keep for as long as it is in its journal.
 */
export async function takeTurn(
  sessions: Sessions,
  request: TurnRequest,
  waiter: Waiter,
  held?: SessionTurn,
): Promise<SessionTurn | NotClaimed | undefined> {
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
      if (claimed.kind === 'claimed') return new SessionTurn(store, request, claimed, done)
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

/** Undefined when the run is interrupted meanwhile; but one in a journal has to end in its session, also then. */
async function claim(store: SessionStore, { id, claim: asked }: TurnRequest, waiter: Waiter): Promise<Claimed | NotClaimed | undefined> {
  if (asked.durable) return store.claim(id, asked)
  if (waiter.interruption !== undefined) return undefined
  const claiming = store.claim(id, asked)
  const claimed = await waiter.untilInterrupted(claiming)
  if (claimed === undefined) void claiming.then((late) => giveBack(store, id, asked, late)).catch(() => undefined)
  return claimed
}

/** What was claimed for a run that has not waited for it. */
async function giveBack(
  store: SessionStore,
  id: string,
  { runId, again = false }: ClaimRequest,
  claimed: Claimed | NotClaimed,
): Promise<void> {
  if (claimed.kind === 'claimed') await store.unclaim({ id, runId, token: claimed.token }, { keeps: false, untouched: !again })
}

type InTheWay = Extract<NotClaimed, { kind: 'busy' | 'waiting' }>

/** Another run is, and the same one where another caller has only just begun it. */
function isInTheWay(refused: NotClaimed, { claim: { runId } }: TurnRequest): refused is InTheWay {
  if (refused.kind !== 'busy' && refused.kind !== 'waiting') return false
  return refused.runId !== runId || (refused.kind === 'busy' && !refused.durable)
}

/** Whether the run that waits in the session is in the part that is replaced, which is always at the end. */
async function isReplaced({ store }: Sessions, { id, replaces }: TurnRequest): Promise<boolean> {
  if (replaces === undefined) return false
  const kept = await store.get(id)
  return kept?.status === 'waiting' && (await positionOf(store, kept, replaces)) !== undefined
}

/** Its journal ended it, but its messages did not get here; or it has let go of the session just now. */
async function releaseEnded(sessions: Sessions, id: string, runId: string, output: Json | undefined): Promise<void> {
  const { messages, ...place } = addedIn(output)
  // Where the model has said nothing, there is only what the run may have paused with.
  if (messages.some(({ role }) => role === 'assistant'))
    await sessions.store.release(id, runId, { messages: textsOf(healed(messages)), ...place }, 'stored')
  else if ((await sessions.store.get(id))?.runId === runId) await sessions.release(id)
}

/** What a recorded result says that its run has added, and the position from which it replaces messages. */
function addedIn(output: Json | undefined): { messages: readonly ChatMessage[]; at?: number } {
  if (!isJsonObject(output) || !Array.isArray(output.newMessages)) return { messages: [] }
  const { newMessages, earlier } = output
  const at = isJsonObject(earlier) && earlier.replaces === true ? { at: Number(earlier.at) } : {}
  return { messages: toChatMessages(newMessages as never), ...at }
}

/** A run in line for a session, until it has been there. */
interface InLine {
  runId: string
  run: Waiter
  /** Who is in front of it. */
  before: InLine | undefined
  /** When it is done, and all in front of it. */
  done: Promise<void>
  isDone: boolean
}

/** The last in line, of the runs of this process that have sessions of a store or wait for them. */
const lines = new WeakMap<SessionStore, Map<string, InLine>>()
/** Nested runs that wait in line, and for whom. */
const nestedWaiting = new Map<Waiter, InLine>()

function standInLine(
  store: SessionStore,
  { id, claim: { runId, durable } }: TurnRequest,
  run: Waiter,
): { before: InLine | undefined; done(): void } {
  // A recorded run that is taken up may have the session: those in line wait for it.
  if (durable) return { before: undefined, done: () => {} }
  const line = lines.get(store) ?? new Map<string, InLine>()
  lines.set(store, line)
  const before = line.get(id)
  const { promise, resolve } = Promise.withResolvers<void>()
  // Whoever gives up waiting lets nobody pass before those in front of it.
  const done = Promise.all([before?.done, promise]).then(() => {
    mine.isDone = true
    mine.before = undefined
    if (line.get(id) === mine) line.delete(id)
  })
  const mine: InLine = { runId, run, before, done, isDone: false }
  line.set(id, mine)
  return { before, done: resolve }
}

/** Rejects with `session_busy` where the run, and a run that it is made in, would wait for ever. */
async function waitInLine({ id, claim: { runId } }: TurnRequest, run: Waiter, before: InLine): Promise<void> {
  // Nobody waits for one that is not nested: it has nothing before it has this session.
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

/** Whether this run in line, or one in front of it, can't be done before one of `runs` is. */
function waitsFor(line: InLine | undefined, runs: ReadonlySet<Waiter>, seen: Set<InLine> = new Set()): boolean {
  for (let one = line; one !== undefined && !seen.has(one); one = one.before) {
    seen.add(one)
    const { run, isDone } = one
    if (isDone) continue
    if (runs.has(run)) return true
    // It ends when the runs inside of it have.
    for (const [nested, before] of nestedWaiting) if (lineageOf(nested).includes(run) && waitsFor(before, runs, seen)) return true
  }
  return false
}

/** The run, and those that it is made inside of. */
function lineageOf(run: Waiter): Waiter[] {
  return run.outer === undefined ? [run] : [run, ...lineageOf(run.outer)]
}
