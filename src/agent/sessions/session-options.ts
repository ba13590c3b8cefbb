import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'

/** The session of a run, and the behavior if another run is using the session. */
export interface SessionOptions {
  id: string
  /**
   * The behavior if another run is running in the session. `'wait'`: waits until that run ends; runs of one process wait in order of
   * arrival. `'refuse'`: rejects with `session_busy`. If a run in the session waits for a decision, the new run rejects with
   * `session_waiting`. Default `'wait'`.
   */
  onBusy?: 'wait' | 'refuse'
  /**
   * The `id` of a user's message in the session. The run starts before that message and replaces it and all messages after it. A page uses
   * this to regenerate an answer or to edit a message. The session changes only when the run's messages are stored. If a run in the
   * replaced part waits for a decision, it is released without running its calls. If the session has no such message, nothing is replaced.
   */
  replaces?: string | undefined
}

const sessionOptionNames: OptionNames<SessionOptions> = { id: true, onBusy: true, replaces: true }

/** Checks the `session` option of a run. Throws `invalid_option`. */
export function sessionOptions(given: string | SessionOptions): SessionOptions {
  const options = typeof given === 'string' ? { id: given } : given
  checkOptionNames(options, sessionOptionNames, 'a session', 'session')
  const { id, onBusy, replaces } = options
  checkId(id)
  if (replaces !== undefined && typeof replaces !== 'string')
    throw new InvalidOptionError('session.replaces', 'the id of a message', replaces)
  if (onBusy !== undefined && onBusy !== 'wait' && onBusy !== 'refuse')
    throw new InvalidOptionError('session.onBusy', "'wait' or 'refuse'", onBusy)
  return options
}

/** Maximum length of an id, in UTF-16 code units. Every database can index an id of this length. */
const longestId = 512

/** Checks the id of a session or a run. Throws `invalid_option`. */
export function checkId(id: unknown, option = 'session'): asserts id is string {
  const isId = typeof id === 'string' && id !== '' && id.length <= longestId && id.isWellFormed() && !id.includes('\0')
  if (!isId) throw new InvalidOptionError(option, `a text of 1 to ${longestId} characters, without NUL and lone surrogates`, id)
}

/** Options of every session store. */
export interface ExpiryOptions {
  /**
   * How long an unchanged session is kept, in milliseconds. After this time, the session no longer exists, unless a run has it. The space
   * is freed when other sessions are created, and by `prune`. Default: never.
   */
  expireAfterMs?: number
}

/** Checks `expireAfterMs` and fills in the default. Throws `invalid_option`. */
export function expiryOf({ expireAfterMs = Number.POSITIVE_INFINITY }: ExpiryOptions): number {
  if (typeof expireAfterMs !== 'number' || !(expireAfterMs > 0))
    throw new InvalidOptionError('expireAfterMs', 'a number of milliseconds > 0', expireAfterMs)
  return expireAfterMs
}
