import { InvalidOptionError } from '../../core/errors.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'

/** The session of a run, and what to do if another run is using it. */
export interface SessionOptions {
  id: string
  /**
   * Another run is going on in it: `'wait'` for it to end, in the order in which runs came, or `'refuse'` with `session_busy`. A run that
   * waits for a decision is not waited for: `session_waiting`. Default `'wait'`.
   */
  onBusy?: 'wait' | 'refuse'
  /**
   * The `id` of a user's message in the session: the run begins in front of it, and what it adds replaces that message and all behind it. For a
   * page that regenerates an answer, or edits a message. The session changes when the run is stored, not before. A run that waits for a
   * decision in the replaced part is released; its calls don't run. If the session has no such message, nothing is replaced.
   */
  replaces?: string | undefined
}

const sessionOptionNames: OptionNames<SessionOptions> = { id: true, onBusy: true, replaces: true }

/** Throws `invalid_option`. */
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

/** The longest id, in UTF-16 code units: what every database can index. */
const longestId = 512

/** Throws `invalid_option`. */
export function checkId(id: unknown, option = 'session'): asserts id is string {
  const isId = typeof id === 'string' && id !== '' && id.length <= longestId && id.isWellFormed() && !id.includes('\0')
  if (!isId) throw new InvalidOptionError(option, `a text of 1 to ${longestId} characters, without NUL and lone surrogates`, id)
}

/** Options of every session store. */
export interface ExpiryOptions {
  /**
   * A session that has not changed for so many milliseconds is deleted, but for one that a run has. From then on it is not there; what it
   * took up is freed as others are made, and by `prune`. Default: never.
   */
  expireAfterMs?: number
}

/** Throws `invalid_option`. */
export function expiryOf({ expireAfterMs = Number.POSITIVE_INFINITY }: ExpiryOptions): number {
  if (typeof expireAfterMs !== 'number' || !(expireAfterMs > 0))
    throw new InvalidOptionError('expireAfterMs', 'a number of milliseconds > 0', expireAfterMs)
  return expireAfterMs
}
