import { syncAnswer, syncText } from '../../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { RunEvent } from '../../core/events.ts'
import { EventLog } from './event-log.ts'
import { LogReader } from './log-reader.ts'
import { eventFormat, inFormat, type ResponseFormat } from './response-format.ts'
import { type EndedRun, toldEnding } from './run-ending.ts'
import { SseStream, sseHeaders } from './sse-stream.ts'
import { userSentence } from './user-sentences.ts'

/** Options for sending a run to a client. */
export interface ResponseOptions {
  /**
   * The format of the response. Default: toolloop's own events as server-sent events, each with its number as `id`, and a `RESULT` at the
   * end.
   */
  format?: ResponseFormat
  /**
   * The number of the last event that the client has read, which it sends as `last-event-id` when it reconnects. The response continues
   * after this event. Default: starts with the first event.
   */
  lastEventId?: string | number | null
  /** What happens to the run if the client disconnects before the run has ended, and no other client reads the run. Default `'abort'`. */
  onDisconnect?: 'abort' | 'continue'
  /** How often to send a comment, in milliseconds, to keep an idle connection open and detect a dead one. Default 15,000. */
  heartbeatMs?: number
  /** How long a client may leave available data unread, in milliseconds. After that it counts as disconnected. Default 30,000. */
  stallMs?: number
  /** Headers to add to those of an event stream. */
  headers?: Readonly<Record<string, string>>
  /**
   * Selects what to send for an event. Return the event, a changed event, or undefined to send nothing. Events contain the unredacted
   * arguments and results of tools. A `MODEL_RETRY` with `discards` is always sent, because it tells the client to remove earlier text. If
   * you return undefined for it, it is sent without its `error`.
   *
   * Contract: synchronous. Must not throw, and must not change the arguments of a call that waits for a decision.
   */
  select?(event: RunEvent): RunEvent | undefined
  /**
   * Returns the text of an error for the client. Default: a description of the error code (see the table of error codes), without the
   * error's message.
   *
   * Contract: synchronous. Must not throw.
   */
  errorText?(error: unknown): string
}

const responseOptionNames: OptionNames<ResponseOptions> = {
  format: true,
  lastEventId: true,
  onDisconnect: true,
  heartbeatMs: true,
  stallMs: true,
  headers: true,
  select: true,
  errorText: true,
}

/** Maximum size of a run's stored events, in characters. Clients that read slowly or reconnect need these events. */
const keptCharacters = 4_000_000

/** The open responses of one run. */
export class RunResponses {
  readonly #log = new EventLog({ characters: keptCharacters })
  #ended: EndedRun | undefined
  readonly #leave: () => void
  #open = 0
  /** The number of open responses that can't remove text that they have already sent. */
  #openForGood = 0

  /** `leave` is called if no client reads the run any more and the run should not continue without one. */
  constructor(leave: () => void) {
    this.#leave = leave
  }

  /** Appends an event that clients may see. */
  append(event: RunEvent): void {
    this.#log.append(event)
  }

  end(ended: EndedRun): void {
    this.#ended = ended
    this.#log.wake()
  }

  /** Whether all open responses can remove text that they have already sent. */
  get takesBack(): boolean {
    return this.#openForGood === 0
  }

  /** Opens a response. Throws `invalid_option` if an option is invalid. */
  respond(options: ResponseOptions = {}): Response {
    checkResponseOptions(options)
    const { format = eventFormat, lastEventId, onDisconnect = 'abort', heartbeatMs = 15_000, stallMs = 30_000, headers } = options
    const { select, errorText = userSentence } = options
    const isKnown = ({ meta }: RunEvent) => format.continues === true && meta.recorded === true
    const told = (event: RunEvent) => (isKnown(event) ? undefined : select === undefined ? event : select(event))
    const writer = syncAnswer('open', format.open())
    const ending = () => this.#ended && toldEnding(this.#ended, (error) => syncText('errorText', errorText(error)))
    const reader = new LogReader(this.#log, { ...inFormat(writer, ending, told), after: placeOf(lastEventId) })
    const stream = new SseStream(reader, (ending) => {
      clearInterval(timer)
      this.#open--
      if (!format.takesBack) this.#openForGood--
      if (ending === 'gone' && onDisconnect === 'abort' && this.#open === 0) this.#leave()
    })
    const timer = setInterval(() => {
      if (stream.isStalledSince(performance.now() - stallMs)) stream.drop('the reader has taken nothing for too long')
      else stream.beat()
    }, heartbeatMs).unref()
    this.#open++
    if (!format.takesBack) this.#openForGood++
    return new Response(stream.body, { headers: { ...sseHeaders, ...format.headers, ...headers } })
  }
}

function checkResponseOptions(options: ResponseOptions): void {
  checkOptionNames(options, responseOptionNames, 'a response')
  const { onDisconnect, heartbeatMs, stallMs } = options
  if (onDisconnect !== undefined && onDisconnect !== 'abort' && onDisconnect !== 'continue')
    throw new InvalidOptionError('onDisconnect', "'abort' or 'continue'", onDisconnect)
  for (const [name, value] of Object.entries({ heartbeatMs, stallMs })) {
    if (value !== undefined && !(value > 0 && value <= 2 ** 31 - 1))
      throw new InvalidOptionError(name, 'milliseconds > 0 and < 2^31', value)
  }
}

/** The value comes from the client. Anything other than a valid event number means "from the start". */
function placeOf(lastEventId: ResponseOptions['lastEventId']): number {
  const id = typeof lastEventId === 'string' && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : lastEventId
  return typeof id === 'number' && id > 0 ? Math.floor(id) : 0
}
