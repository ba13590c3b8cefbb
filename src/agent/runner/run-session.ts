import { hashOf } from '../../core/digest.ts'
import { InvalidOptionError, messageOf, ToolloopError } from '../../core/errors.ts'
import { type ChatMessage, isJsonObject, type Json } from '../../core/messages.ts'
import type { Compaction } from '../conversation/compaction.ts'
import { History } from '../conversation/history.ts'
import type { Durable } from '../journal/journal.ts'
import type { RunContext } from '../run/run-context.ts'
import { RunError } from '../run/run-error.ts'
import { type LeaseRequest, leaseSession, type RunsOfJournal, SessionLease, type SessionPlace } from '../sessions/session-lease.ts'
import { checkId, type SessionOptions } from '../sessions/session-options.ts'
import { draftText, notClaimed, positionOf, reachOf, readCompaction, readMessages, type Sessions, textsOf } from '../sessions/sessions.ts'
import { sessionStep } from '../step-keys.ts'
import type { PendingItem, RunResult } from '../types/result.ts'

/** The session of an execution: the conversation at its start, and the function that stores its result. */
export interface OpenedSession {
  messages: readonly ChatMessage[]
  compaction?: Compaction
  /** Stores the result of the run, in one step. Rejects with a `RunError` if it can't be stored. */
  close(result: RunResult, history: History): Promise<void>
}

/** A runner's access to its sessions. */
export class RunnerSessions {
  readonly #sessions: Sessions | undefined
  readonly #journal: RunsOfJournal
  /** Runs that no longer need their session. */
  readonly #left = new WeakSet<RunContext>()

  /** Throws `invalid_option` if `sessions` is not a `Sessions` object. */
  constructor(sessions: Sessions | undefined, journal: RunsOfJournal) {
    // `instanceof` is not used, because the object may come from another installed copy of this package.
    if (sessions !== undefined && typeof sessions?.store?.claim !== 'function')
      throw new InvalidOptionError('sessions', 'what `memorySessions`, `sqliteSessions` or `postgresSessions` gives', sessions)
    this.#sessions = sessions
    this.#journal = journal
  }

  /**
   * Waits until a new run can use its session. Doesn't claim the session for a run that the journal already knows, because the journal
   * continues that run. Rejects with `session_busy` or `session_waiting` if another run has the session (see `onBusy`), and with
   * `invalid_option` if an outer run has it.
   */
  async enter(run: RunContext, { id, onBusy = 'wait', replaces }: SessionOptions): Promise<void> {
    const sessions = this.#given()
    checkId(run.runId, 'runId')
    for (let outer = run.outer; outer !== undefined; outer = outer.outer) {
      if (outer.lease?.isOf(sessions.store, id))
        throw new InvalidOptionError('session', 'a session other than that of the run whose call starts this run', id)
    }
    const { runId } = run
    const lease = await leaseSession(sessions, { id, claim: { runId, durable: false }, onBusy, replaces, journal: this.#journal }, run)
    if (lease instanceof SessionLease) run.lease = lease
    else if (lease !== undefined && (await this.#journal.takeUp(runId)) === undefined) throw notClaimed(id, lease)
  }

  /**
   * Like `enter`, for a run that is resumed from its state. Also rejects with `already_resumed` if the state was resumed before, and with
   * `session_lost` if the session was deleted or taken from the run.
   */
  async enterAgain(
    run: RunContext,
    id: string,
    { steps, pending, again, isInCall }: { steps: { [key: string]: Json }; pending: PendingItem[]; again: boolean; isInCall: boolean },
  ): Promise<void> {
    const { runId } = run
    const place = steps[sessionStep] as SessionPlace | null | undefined
    if (place === undefined || place === null) return
    const claim = { runId, durable: false, session: place.session, waitsFor: waitsFor(pending), again: again || isInCall }
    const lease = await leaseSession(this.#given(), { id, claim, onBusy: 'wait', journal: this.#journal }, run)
    if (lease instanceof SessionLease) run.lease = lease
    else if (lease?.kind === 'gone' || lease?.kind === 'released') throw notClaimed(id, lease)
    else if (lease?.kind === 'waiting' && lease.resumedAt !== undefined) throw brokenOff(runId, id, lease.resumedAt)
    // This nested run has already stored its messages. The outer call is repeated only to get the run's result.
    else if (lease?.kind === 'stored' && isInCall) return
    else if (lease !== undefined) {
      throw new ToolloopError('already_resumed', `Run \`${runId}\` of session \`${id}\` was resumed from this state, or from a later one`)
    }
  }

  /** Releases the run's session, however the run ended. */
  async leave(run: RunContext): Promise<void> {
    this.#left.add(run)
    const { lease } = run
    run.lease = undefined
    try {
      await lease?.leave()
    } catch (error) {
      // The failure is only logged: a run that has ended has already stored everything, and any other run reports its own error.
      run.logger.error({ runId: run.runId, session: lease?.id, error: messageOf(error) }, 'the session could not be released yet')
      if (lease !== undefined) void leaveLater(lease)
    }
  }

  /** Starts an execution in the run's session. Undefined if the run was interrupted while it waited for the session. */
  async open(
    durable: Durable,
    run: RunContext,
    { id, replaces }: Pick<SessionOptions, 'id' | 'replaces'>,
  ): Promise<OpenedSession | undefined> {
    const sessions = this.#given()
    const { runId } = run
    const isDurable = durable.survivesCrashes && run.depth === 0
    const take = async (again: { session?: number } = {}): Promise<void> => {
      const before = run.lease
      if (before !== undefined && !isDurable) return
      const epoch = durable.epoch === undefined ? {} : { epoch: durable.epoch }
      const claim = { runId, durable: isDurable, ...epoch, ...again }
      const asked: LeaseRequest = { id, claim, onBusy: 'wait', replaces, journal: this.#journal }
      const lease = await leaseSession(sessions, asked, run, before)
      run.lease = lease instanceof SessionLease ? lease : undefined
      // The journal has already released the run, so no other code will release the session.
      if (this.#left.has(run)) return this.leave(run)
      if (lease !== undefined && !(lease instanceof SessionLease) && lease.kind === 'taken_over') throw notClaimed(id, lease)
      // If the run's messages are stored already, this execution only has to find the run's result.
      if (lease !== undefined && !(lease instanceof SessionLease) && lease.kind !== 'stored')
        run.interrupt('aborted', notClaimed(id, lease))
    }
    let isTaken = false
    const place = await durable.step<SessionPlace | null>(sessionStep, async () => {
      isTaken = true
      await take()
      return run.lease === undefined ? null : placeOf(sessions, run.lease, { replaces, isDurable })
    })
    if (place === null) {
      run.interrupt('aborted', new ToolloopError('session_lost', `The run ended while it waited for session \`${id}\``))
      return undefined
    }
    run.sessionPlace = place
    if (!isTaken) await take({ session: place.session })
    const { session, at, compaction } = place
    const messages = readMessages(id, await sessions.store.read(session, { from: 0, to: at }), 0)
    return {
      messages,
      compaction,
      close: (result, history) => store(run, result, history, isDurable),
    }
  }

  /** Shortens a result for the journal: leaves out the earlier messages of the session, so that records don't grow with the session. */
  recorded({ messages }: RunResult, result: Json, run: RunContext): Json {
    if (run.sessionPlace === undefined || !isJsonObject(result)) return result
    run.conversation = messages
    const { messages: _m, ...rest } = result
    const { compaction: _c, ...earlier } = run.sessionPlace
    return { ...rest, earlier: { ...earlier } }
  }

  /** Restores a recorded result. If the earlier messages of the session have changed, the result has only the messages of the run. */
  async complete(recorded: Json, run?: RunContext): Promise<Json> {
    if (!isJsonObject(recorded) || !isJsonObject(recorded.earlier)) return recorded
    const { earlier, ...result } = recorded
    if (run?.conversation !== undefined) return { ...result, messages: run.conversation as never }
    const { session, at, id, digest } = earlier
    const texts = await this.#given().store.read(Number(session), { from: 0, to: Number(at) })
    const messages = digest === undefined || digest === hashOf(texts) ? readMessages(String(id), texts, 0) : []
    const newMessages = Array.isArray(result.newMessages) ? result.newMessages : []
    return { ...result, messages: [...new History(messages).slice(), ...newMessages] as never }
  }

  #given(): Sessions {
    if (this.#sessions === undefined) throw new InvalidOptionError('sessions', 'given to the runner: it keeps no sessions without')
    return this.#sessions
  }
}

/** The first and the longest delay before another attempt to release a session, in milliseconds. */
const firstRetryMs = 200
const lastRetryMs = 60_000

/** Retries the release, because other runs wait for the session as long as this process lives. */
async function leaveLater(lease: SessionLease): Promise<void> {
  for (let pauseMs = firstRetryMs; ; pauseMs = Math.min(pauseMs * 2, lastRetryMs)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs).unref())
    try {
      return await lease.leave()
    } catch {
      // The first failure was logged.
    }
  }
}

/** The error for a state that was resumed before. It is not resumed again by default, because approved calls may already have run. */
function brokenOff(runId: string, id: string, at: number): ToolloopError {
  const what = `Run \`${runId}\` of session \`${id}\` was resumed from this state at ${new Date(at).toISOString()}, and has not ended since`
  const why = 'its process died, or its messages could not be stored, and calls that were decided may have run'
  return new ToolloopError('already_resumed', `${what}: ${why}. Resume it with \`again: true\`, or \`release\` the session`)
}

async function placeOf(
  { store }: Sessions,
  { id, claimed }: SessionLease,
  { replaces, isDurable }: { replaces: string | undefined; isDurable: boolean },
): Promise<SessionPlace> {
  const { session, length } = claimed
  const kept = replaces === undefined ? undefined : await store.get(id)
  const found = kept && replaces !== undefined ? await positionOf(store, kept, replaces) : undefined
  const at = found ?? length
  const compaction = claimed.compaction === undefined ? undefined : readCompaction(id, claimed.compaction)
  return {
    id,
    session,
    at,
    ...(compaction === undefined || reachOf(compaction) > at ? {} : { compaction }),
    replaces: found === undefined ? undefined : true,
    ...(isDurable ? { digest: hashOf(await store.read(session, { from: 0, to: at })) } : {}),
  }
}

/** A digest that identifies the pending calls. */
function waitsFor(pending: readonly PendingItem[]): string {
  return hashOf(pending.map(({ fingerprint }) => fingerprint).sort())
}

async function store(run: RunContext, result: RunResult, history: History, isDurable: boolean): Promise<void> {
  const { lease, runId, logger } = run
  if (lease === undefined) return
  const { newMessages, pending } = result
  const at = run.sessionPlace?.replaces ? { at: run.sessionPlace.at } : {}
  try {
    // If the model has said nothing, the session is unchanged and the run can be tried again.
    if (!newMessages.some(({ role }) => role === 'assistant')) return await lease.giveBack()
    const kept =
      result.stopReason === 'paused'
        ? await lease.pause({ waitsFor: waitsFor(pending), value: draftText({ since: Date.now(), pending, messages: newMessages, ...at }) })
        : await lease.commit({ messages: textsOf(newMessages), ...compactionOf(history), ...at })
    if (kept !== 'lost') return
  } catch (error) {
    // The result of a run that continues in another process isn't available here.
    if (!ToolloopError.isInstance(error) || error.code === 'run_taken_over') throw error
    throw new RunError(result, error)
  }
  const words = 'the session was deleted, or taken from the run: its messages were not stored'
  // A recorded run only logs the problem: if the run failed here, the journal would retry it forever.
  if (isDurable) logger.warn({ runId, session: lease.id }, words)
  else throw new RunError(result, new ToolloopError('session_lost', `Session \`${lease.id}\` was deleted, or taken from run \`${runId}\``))
}

/** Returns the compaction to store. Its positions don't count the instructions, which are different in every run. */
function compactionOf(history: History): { compaction?: string } {
  const { from, shortenBefore, ...rest } = history.compaction
  if (from === 0 && shortenBefore === 0) return {}
  const prefix = history.whole.length - history.length
  const kept = { ...rest, from: Math.max(0, from - prefix), shortenBefore: Math.max(0, shortenBefore - prefix) }
  return { compaction: JSON.stringify(kept) }
}

/** Applies the compaction that is stored in the session. */
export function compactAsBefore(history: History, { from, shortenBefore, ...rest }: Compaction): void {
  const prefix = history.whole.length - history.length
  history.compact({ ...rest, from: from + prefix, shortenBefore: shortenBefore + prefix })
}
