import type { CallTrace } from '../../../tool.ts'
import type { McpClientSdk } from '../../sdk/load-sdk.ts'
import type { Connection } from './connection.ts'

/** Sends a request. `isAgain`: whether the request is repeated in a new session. */
export type Send<T> = (connection: Connection, isAgain: boolean) => Promise<T>

export interface Asking {
  readonly method: string
  readonly signal: AbortSignal
  readonly trace?: CallTrace | undefined
  /** Whether sending the request twice is harmless. */
  readonly mayRunTwice: boolean
}

/** A request and the means to send it again in a new session. */
export interface Sending extends Asking {
  readonly sdk: McpClientSdk
  /** The connection over which the request was last sent. */
  connection: Connection
  /** Resolves with the current connection. Waits if a new session is being opened. */
  current(): Promise<Connection>
  /** Replaces a session that the server has forgotten. Concurrent callers share the new session. Undefined if no session can be opened. */
  renew(forgotten: Connection): Promise<Connection | undefined>
}

/** The server refused a request because it no longer knows the session. */
export class ForgottenSessionError extends Error {
  readonly status: number | undefined
  readonly hasRun: 'no' | 'unknown'

  constructor({ status, hasRun, cause }: { status: number | undefined; hasRun: 'no' | 'unknown'; cause: unknown }) {
    super('it has forgotten the session', { cause })
    this.status = status
    this.hasRun = hasRun
  }
}

/**
 * Sends a request. If the server has forgotten the session, sends the request again in a new session. Rejects with the SDK's errors, or
 * with a `ForgottenSessionError`.
 */
export async function inSession<T>(sending: Sending, send: Send<T>): Promise<T> {
  const connection = await sending.current()
  try {
    return await sendOver(sending, connection, send)
  } catch (error) {
    if (!(error instanceof ForgottenSessionError)) throw error
    const next = await sending.renew(connection)
    if (next === undefined || (error.hasRun === 'unknown' && !sending.mayRunTwice)) throw error
    return sendOver(sending, next, (over) => send(over, true))
  }
}

function sendOver<T>(sending: Sending, connection: Connection, send: Send<T>): Promise<T> {
  sending.connection = connection
  return connection.during(async () => {
    try {
      return await send(connection, false)
    } catch (error) {
      throw (await forgottenSession(sending, error)) ?? error
    }
  })
}

/** Time limit for the server's answer to the ping, in milliseconds. */
const pingMs = 5_000

/**
 * Returns an error if the server has forgotten the session. The specification prescribes status 404
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management), but many servers answer 400. A tool can
 * also cause these statuses, so the session is checked with a ping.
 */
async function forgottenSession({ sdk, connection, signal }: Sending, error: unknown): Promise<ForgottenSessionError | undefined> {
  if (signal.aborted) return undefined
  const reason = connection.hasSession ? reasonIn(sdk, error) : undefined
  if (reason === undefined || !(error instanceof sdk.SdkHttpError)) return undefined
  const forgotten = (hasRun: 'no' | 'unknown') => new ForgottenSessionError({ status: error.status, hasRun, cause: error })
  try {
    await connection.client.ping({ signal, timeout: pingMs })
    return undefined
  } catch (refusal) {
    const again = reasonIn(sdk, refusal)
    if (again === undefined) return reason === 'status' ? forgotten('unknown') : undefined
    return forgotten(reason === 'unknown' || again === 'unknown' ? 'unknown' : 'no')
  }
}

/** Returns what suggests that the session is forgotten: the status or the words of the error. `unknown`: there may be another cause. */
function reasonIn(sdk: McpClientSdk, error: unknown): 'status' | 'words' | 'unknown' | undefined {
  if (!(error instanceof sdk.SdkHttpError) || error.status === undefined) return undefined
  const { status, data } = error
  if (status === 404) return 'status'
  const text = typeof data.text === 'string' ? data.text.slice(0, 1_000) : ''
  if (status >= 400 && status < 500 && sessionWords.test(text)) return 'words'
  // The text may be about another session, for example of a database.
  return status === 400 || sessionWords.test(text) ? 'unknown' : undefined
}

/**
 * Matches, for example, "No valid session ID provided", "Mcp-Session-Id header is required", "Session not found", "Server not initialized".
 */
const sessionWords =
  /\bsession[ _-]?id\b|\bsession (was |has |is )?(not found|does not exist|unknown|invalid|expired|terminated|closed)\b|\b(invalid|unknown|expired|no such|no active|no valid) session\b|\bnot (yet )?initialized\b/i
