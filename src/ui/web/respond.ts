import { syncAnswer, syncText } from '../../core/callbacks/callbacks.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { RunEvent } from '../../core/events.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { EventLog } from './event-log.ts'
import { LogReader } from './log-reader.ts'
import { eventFormat, inFormat, type ResponseFormat } from './response-format.ts'
import { type EndedRun, toldEnding } from './run-ending.ts'
import { SseStream, sseHeaders } from './sse-stream.ts'
import { userSentence } from './user-sentences.ts'

/** How a run is sent to a client. */
export interface ResponseOptions {
  /** Default: our own events as server-sent events, each with its number as `id`, and at the end a `RESULT`. */
  format?: ResponseFormat
  /** Goes on behind the event of this number: what a client that comes again sends as `last-event-id`. Default: from the first event. */
  lastEventId?: string | number | null
  /** What becomes of the run when the client goes before it has ended, and no other one reads it. Default `'abort'`. */
  onDisconnect?: 'abort' | 'continue'
  /** How often a comment is sent, in milliseconds, so that a connection that is idle stays open, and a dead one is found out. Default 15 000. */
  heartbeatMs?: number
  /** How long a client may take nothing of what is there for it, in milliseconds; then it counts as gone. Default 30 000. */
  stallMs?: number
  /** Headers besides those of an event stream. */
  headers?: Readonly<Record<string, string>>
  /**
   * What of an event is sent: the event, another in its place, or undefined for nothing. Events hold the arguments and results of tools as they
   * are. Must not throw, and must not change the arguments of a call that waits for a decision. A `MODEL_RETRY` with `discards` is sent
   * in any case, without its `error` if you leave it out: what was sent before has to be taken back.
   */
  select?(event: RunEvent): RunEvent | undefined
  /** What a client is told of an error. Default: what its code means (see the table of error codes), and nothing of its message. */
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

/** What is kept of a run for clients that read slowly, or come again, in characters. */
const keptCharacters = 4_000_000

/** The responses that one run is sent in. */
export class RunResponses {
  readonly #log = new EventLog({ characters: keptCharacters })
  #ended: EndedRun | undefined
  readonly #leave: () => void
  #open = 0
  /** Responses under way in formats that take nothing back. */
  #openForGood = 0

  /** `leave`: nobody reads the run any more, and it is not to go on. */
  constructor(leave: () => void) {
    this.#leave = leave
  }

  /** Appends an event as it may be shown. */
  append(event: RunEvent): void {
    this.#log.append(event)
  }

  /** Nothing follows. */
  end(ended: EndedRun): void {
    this.#ended = ended
    this.#log.wake()
  }

  /** Whether each response under way can take back what it was sent. */
  get takesBack(): boolean {
    return this.#openForGood === 0
  }

  /** Throws `invalid_option`. */
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

/** A client says it: what is no number of an event is no place. */
function placeOf(lastEventId: ResponseOptions['lastEventId']): number {
  const id = typeof lastEventId === 'string' && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : lastEventId
  return typeof id === 'number' && id > 0 ? Math.floor(id) : 0
}
