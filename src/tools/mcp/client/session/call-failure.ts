import type { ToolloopError } from '../../../../core/errors.ts'
import type { McpClientSdk } from '../../sdk/load-sdk.ts'
import type { ServerWords } from '../server-words.ts'
import type { Connection } from './connection.ts'
import { ForgottenSessionError } from './in-session.ts'

interface FailedCall {
  sdk: McpClientSdk
  error: unknown
  connection: Connection
  words: ServerWords
  /** A sentence for the model that says whether the server is being restarted. */
  outlook: string
}

/** Returns the error that a model sees for a failed call. `lost`: why the connection can't be used any longer. */
export function callFailure({ sdk, error, connection, words, outlook }: FailedCall): { failure: ToolloopError; lost?: string } {
  const { InsufficientScopeError, ProtocolError, SdkHttpError, SdkError, SdkErrorCode } = sdk
  const unknown = 'Whether the call took effect is not known.'
  const isUnauthorized = error instanceof SdkHttpError && error.status === 401
  if (error instanceof ProtocolError || error instanceof InsufficientScopeError || isUnauthorized) {
    return { failure: words.failed(`refused the call: ${words.of(error)}`, error) }
  }
  if (error instanceof ForgottenSessionError) {
    const { status, hasRun, message: lost } = error
    const ran = hasRun === 'no' ? '' : ` ${unknown}`
    return { failure: words.failed(`answered with HTTP status ${status}${words.pageOf(error.cause)}.${ran} ${outlook}`, error), lost }
  }
  if (error instanceof SdkHttpError) {
    const { status = 'unknown' } = error
    const again = status === 404 || Number(status) >= 500 ? ` ${outlook}` : ''
    const failure = words.failed(`answered with HTTP status ${status}${words.pageOf(error)}.${again}`, error)
    return status === 404 && !connection.hasSession ? { failure, lost: 'it was not found' } : { failure }
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult) {
    return { failure: words.failed('answered with something other than a tool result.', error) }
  }
  const { problem } = connection
  if (problem !== undefined) {
    return { failure: words.failed(`stopped during the call (${words.clean(problem)}). ${unknown} ${outlook}`, error) }
  }
  const said = words.of(error)
  const failure = words.failed(`did not answer (${said}). ${unknown} ${outlook}`, error)
  // A failed HTTP request means that the connection is lost.
  return connection.isHttp && !(error instanceof SdkError) ? { failure, lost: said } : { failure }
}
