import { syncAnswer, syncText } from '../../core/callbacks/callbacks.ts'
import type { RunEvent } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { droppedFrame, gapFrame, type LogReaderOptions } from './log-reader.ts'
import type { RunEnding } from './run-ending.ts'
import { sseFrame } from './sse-stream.ts'

/** How a run is written into responses. To be given to `toResponse`; `toolloop/ui` has those of other protocols. */
export interface ResponseFormat {
  /** Besides those of every event stream. */
  headers?: Readonly<Record<string, string>>
  /**
   * Whether it takes back what it has written of a response that breaks off, when `MODEL_RETRY` comes with `discards`. Default false: the run
   * ends with `model_error` instead of requesting that response again.
   */
  takesBack?: boolean
  /** The client has what the run did before it was resumed: it is not told of events that were recorded then. Default false. */
  continues?: boolean
  /** Called once for each response. */
  open(): ResponseWriter
}

/** Writes one response: frames of server-sent events, or `''` for nothing. Its methods are called in the order of the run, and must not throw. */
export interface ResponseWriter {
  /** `id` is the number of the event in its run. Neighbouring pieces of one text may come as one. */
  event(event: RunEvent, id: number): string
  /** Events with these numbers are gone. Undefined where it can't do without them: the response is broken off. */
  gap(from: number, to: number): string | undefined
  /** The run has ended, and all its events have been written. */
  end(ending: RunEnding): string
  /** The last frame of a response that ends before its run does; `lastId` is the last event in it. */
  broken(reason: string, lastId: number): string
}

/** Our events as they are, each with its number as `id`; behind them a `RESULT`. */
export const eventFormat: ResponseFormat = {
  takesBack: true,
  open: () => ({
    event: (event, id) => sseFrame(event.type, JSON.stringify(event), id),
    gap: gapFrame,
    end: (ending) => sseFrame('RESULT', JSON.stringify(resultOf(ending))),
    broken: droppedFrame,
  }),
}

function resultOf({ output, text, ...ending }: RunEnding): object {
  return { ...ending, ...(output === undefined ? { output: text } : { text, output: toJson(output) }) }
}

/** Has a log read in a format. `ending`: how the run ended; undefined while it continues. */
export function inFormat(
  writer: ResponseWriter,
  ending: () => RunEnding | undefined,
  select?: (event: RunEvent) => RunEvent | undefined,
): LogReaderOptions {
  const broken = (reason: string, lastId: number) => syncText('broken', writer.broken(reason, lastId))
  return {
    event: ({ event, id }) => {
      const selected = select === undefined ? event : (syncAnswer('select', select(event)) ?? takingBack(event))
      return selected === undefined ? '' : syncText('event', writer.event(selected, id))
    },
    gap: (from, to) => {
      const gap = syncAnswer('gap', writer.gap(from, to))
      return gap === undefined ? undefined : syncText('gap', gap)
    },
    end: () => {
      const ended = ending()
      return ended && syncText('end', writer.end(ended))
    },
    broken,
    closed: broken,
  }
}

/** Pieces that were sent have to be taken back, whatever is left out. Why is not told. */
function takingBack(event: RunEvent): RunEvent | undefined {
  return event.type === 'MODEL_RETRY' && event.discards ? { ...event, error: '' } : undefined
}
