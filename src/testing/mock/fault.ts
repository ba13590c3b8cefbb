import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'

/**
 * How a stream's framing departs from the usual `data: {…}` + blank line:
 * `crlf`, `cr`: line ends; `no-space`: `data:{…}`; `comments`: a comment line before each event; `no-final-blank`: no line end after the
 * last event; `no-done`, `double-done`: the end mark left out or sent twice; `bom`: a byte order mark first; `multi-data`: each payload
 * spread over several `data:` lines. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export type Framing = 'crlf' | 'cr' | 'no-space' | 'comments' | 'no-final-blank' | 'no-done' | 'double-done' | 'bom' | 'multi-data'

/**
 * A place in a response's body: how many bytes of it come before (as sent, after compression), or `'content'`: after all text and calls,
 * before anything that says the response is complete; for a response that isn't streamed, the middle of its body.
 * An offset past the end of the body is never reached.
 */
export type BodyMark = number | 'content'

/** What goes wrong with a response, or is unusual about it. Several may be combined. */
export interface MockFault {
  /** Answers with this HTTP status instead of the script. */
  status?: number
  /** The body for `status`. An object is sent as JSON. Default: an error as this provider words it. */
  body?: JsonObject | string
  /** Response headers, such as `{ 'retry-after': '1' }`; with or without `status`. */
  headers?: Readonly<Record<string, string>>
  /** Milliseconds before anything is sent, headers included. Cleared when the client goes away or the server is closed. */
  slowFirstByteMs?: number
  /** Stops sending here and keeps the connection open. With 0, the headers are sent. */
  stallAfterBytes?: BodyMark
  /** Ends the response here in good order, as a proxy does that knows no better. */
  cutAfterBytes?: BodyMark
  /** Destroys the connection here. With 0, before any byte, headers included. */
  resetAfterBytes?: BodyMark
  /** Sends an event here that is neither JSON nor UTF-8, and ends the response. */
  garbageAfterBytes?: BodyMark
  framing?: Framing | readonly Framing[]
  /** Sends the body in chunks of at most so many bytes, cutting also inside characters; `'random'`: of 1 to 16 bytes. */
  splitBytes?: number | 'random'
  /** For `splitBytes: 'random'`. Default 1. The same seed gives the same cuts. */
  seed?: number
  /** Compresses the body, flushed piece by piece so that it still streams. */
  gzip?: boolean
  /** Answers with a proxy's HTML page instead of the script: true for status 502, or the status. */
  htmlError?: boolean | number
  /** Puts an error into the stream (HTTP 200) where the response should have been completed: true for a server error, or the payload. */
  errorInStream?: true | JsonObject
  /** Answers with HTTP 200 and a JSON error body instead of the script, also to a request for a stream: true for a server error, or the body. */
  jsonErrorWith200?: true | JsonObject
  /** Refuses the conversation as too long, in this provider's words, instead of the script. */
  contextOverflow?: boolean
  /** Closes the connection after the response although it was announced to stay open. */
  closeKeepAlive?: boolean
}

/** The request a fault may be chosen by. `index` counts the requests for an answer from 0. */
export type FaultRequest = { index: number; body: JsonObject; path: string }

/** One fault for every request; or one for each request by its index, `undefined` for none; or a function that chooses. */
export type MockFaults = MockFault | readonly (MockFault | undefined)[] | ((request: FaultRequest) => MockFault | undefined)

export function chooseFault(faults: MockFaults | undefined, request: FaultRequest): MockFault {
  if (typeof faults === 'function') return syncAnswer('faults', faults(request)) ?? {}
  if (isList(faults)) return faults[request.index] ?? {}
  return faults ?? {}
}

function isList(faults: MockFaults | undefined): faults is readonly (MockFault | undefined)[] {
  return Array.isArray(faults)
}

/** Whether the fault answers in the script's place, so that the turn is left for the next request. */
export function replacesTurn(fault: MockFault): boolean {
  return (
    fault.status !== undefined ||
    fault.jsonErrorWith200 !== undefined ||
    fault.contextOverflow === true ||
    fault.resetAfterBytes === 0 ||
    (fault.htmlError !== undefined && fault.htmlError !== false)
  )
}

const framings: readonly Framing[] = ['crlf', 'cr', 'no-space', 'comments', 'no-final-blank', 'no-done', 'double-done', 'bom', 'multi-data']
const marks = ['stallAfterBytes', 'cutAfterBytes', 'resetAfterBytes', 'garbageAfterBytes'] as const

/** Throws `invalid_option` for a fault that would silently do nothing. */
export function checkFault(fault: MockFault): void {
  for (const name of framingsOf(fault)) {
    if (!framings.includes(name)) throw new InvalidOptionError('framing', `one of ${framings.join(', ')}`, name)
  }
  for (const key of marks) {
    const mark = fault[key]
    if (mark !== undefined && mark !== 'content' && !(Number.isInteger(mark) && mark >= 0)) {
      throw new InvalidOptionError(key, "an integer ≥ 0 or 'content'", mark)
    }
  }
  const { splitBytes, slowFirstByteMs, body, status } = fault
  if (splitBytes !== undefined && splitBytes !== 'random' && !(Number.isInteger(splitBytes) && splitBytes >= 1)) {
    throw new InvalidOptionError('splitBytes', "an integer ≥ 1 or 'random'", splitBytes)
  }
  if (slowFirstByteMs !== undefined && !(slowFirstByteMs >= 0)) {
    throw new InvalidOptionError('slowFirstByteMs', 'a number of milliseconds ≥ 0', slowFirstByteMs)
  }
  if (body !== undefined && status === undefined)
    throw new InvalidOptionError('fault', 'an object with a `status` if it has a `body`', fault)
}

export function framingsOf({ framing }: MockFault): readonly Framing[] {
  if (framing === undefined) return []
  return typeof framing === 'string' ? [framing] : framing
}
