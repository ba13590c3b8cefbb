import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'

/**
 * The difference between a stream's framing and the usual form, which is `data: {…}` followed by a blank line. `crlf`, `cr`: other line
 * ends; `no-space`: `data:{…}`; `comments`: a comment line before each event; `no-final-blank`: no line end after the last event;
 * `no-done`, `double-done`: the end mark is missing or sent twice; `bom`: the stream starts with a byte order mark; `multi-data`: each
 * payload is spread over several `data:` lines. Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export type Framing = 'crlf' | 'cr' | 'no-space' | 'comments' | 'no-final-blank' | 'no-done' | 'double-done' | 'bom' | 'multi-data'

/**
 * A position in the body of a response. A number is an offset in bytes, after compression. `'content'` is the position after all text and
 * calls but before anything that marks the response as complete. In a response without a stream, `'content'` is the middle of the body. A
 * position beyond the end is never reached.
 */
export type BodyMark = number | 'content'

/** Faults or unusual features of a response. Several fields may be combined. */
export interface MockFault {
  /** Answers with this HTTP status instead of the script. */
  status?: number
  /** The body of a response with `status`. An object is sent as JSON. Default: an error in this provider's format. */
  body?: JsonObject | string
  /** Response headers, such as `{ 'retry-after': '1' }`, with or without `status`. */
  headers?: Readonly<Record<string, string>>
  /**
   * The delay before anything is sent, including headers, in milliseconds. The delay ends if the client disconnects or the server is
   * closed.
   */
  slowFirstByteMs?: number
  /** The position at which the server stops sending and keeps the connection open. With 0, only the headers are sent. */
  stallAfterBytes?: BodyMark
  /** The position at which the response ends as if it were complete. */
  cutAfterBytes?: BodyMark
  /** The position at which the connection is destroyed. With 0, nothing is sent, not even headers. */
  resetAfterBytes?: BodyMark
  /** The position at which the server sends an event that is neither valid JSON nor valid UTF-8, and then ends the response. */
  garbageAfterBytes?: BodyMark
  framing?: Framing | readonly Framing[]
  /** Maximum size of the chunks of the body, in bytes. A chunk may end inside a character. `'random'`: 1 to 16 bytes. */
  splitBytes?: number | 'random'
  /** The seed for `splitBytes: 'random'`. The same seed gives the same chunks. Default: 1. */
  seed?: number
  /** Compresses the body. Each chunk is flushed, so that the response still streams. */
  gzip?: boolean
  /** Answers with a proxy's HTML page instead of the script. `true` uses status 502; a number is the status. */
  htmlError?: boolean | number
  /** Sends an error in the stream (HTTP 200) instead of completing the response. `true` sends a server error; an object is the payload. */
  errorInStream?: true | JsonObject
  /**
   * Answers with HTTP 200 and a JSON error instead of the script, even if a stream was requested. `true` sends a server error; an object is
   * the body.
   */
  jsonErrorWith200?: true | JsonObject
  /** Refuses the conversation as too long instead of using the script. The error has the provider's own wording. */
  contextOverflow?: boolean
  /** Closes the connection after the response although the headers announce keep-alive. */
  closeKeepAlive?: boolean
}

/** The request for which a fault is chosen. `index` counts requests from 0. */
export type FaultRequest = { index: number; body: JsonObject; path: string }

/**
 * One fault for all requests, a list with the fault of each request (`undefined` means no fault), or a function that returns the fault of a
 * request.
 */
export type MockFaults = MockFault | readonly (MockFault | undefined)[] | ((request: FaultRequest) => MockFault | undefined)

export function chooseFault(faults: MockFaults | undefined, request: FaultRequest): MockFault {
  if (typeof faults === 'function') return syncAnswer('faults', faults(request)) ?? {}
  if (isList(faults)) return faults[request.index] ?? {}
  return faults ?? {}
}

function isList(faults: MockFaults | undefined): faults is readonly (MockFault | undefined)[] {
  return Array.isArray(faults)
}

/** Whether the fault replaces the script's answer. The script's turn is then kept for the next request. */
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

/** Throws `invalid_option` if a field of the fault is invalid. */
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
