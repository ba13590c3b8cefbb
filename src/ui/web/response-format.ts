import { syncAnswer, syncText } from '../../core/callbacks/callbacks.ts'
import type { RunEvent } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { droppedFrame, gapFrame, type LogReaderOptions } from './log-reader.ts'
import type { RunEnding } from './run-ending.ts'
import { sseFrame } from './sse-stream.ts'

/** Defines how a run is written into responses. Pass it to `toResponse`; `toolloop/ui` has formats of other protocols. */
export interface ResponseFormat {
  /** Headers to add to those of an event stream. */
  headers?: Readonly<Record<string, string>>
  /**
   * Whether a writer can remove text that it has already sent, when it gets a `MODEL_RETRY` with `discards`. Default false: if a model's
   * response is cut off, the run ends with `model_error` instead of requesting that response again.
   */
  takesBack?: boolean
  /**
   * Whether the client already has the events that the run emitted before it was resumed. If true, these events are not sent again. Default
   * false.
   */
  continues?: boolean
  /**
   * Returns the writer of a response.
   *
   * Contract: called once per response, synchronously. If it throws, so does `toResponse`.
   */
  open(): ResponseWriter
}

/**
 * Writes one response. Each method returns frames of server-sent events, or `''` to send nothing.
 *
 * Contract: the methods are synchronous, are called in the order of the run, and must not throw.
 */
export interface ResponseWriter {
  /** Writes an event. `id` is the number of the event in its run. Adjacent pieces of a text may be joined. */
  event(event: RunEvent, id: number): string
  /**
   * Called if the events with the numbers `from` to `to` are no longer stored. Returns undefined if the response can't continue without
   * them. The response then breaks off.
   */
  gap(from: number, to: number): string | undefined
  /** Called when the run has ended and all its events have been written. Returns the last frame. */
  end(ending: RunEnding): string
  /** Returns the last frame of a response that ends before its run has ended. `lastId` is the number of the last event in the response. */
  broken(reason: string, lastId: number): string
}

/** The format of toolloop's own events, each with its number as `id`, and a `RESULT` at the end. */
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

/** Converts a format to options of a log reader. `ending` returns how the run ended, or undefined while the run continues. */
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

/**
 * Returns the event to send if `select` omits an event. For a retry that discards text, it is a copy without the error. For any other
 * event, it is undefined.
 */
function takingBack(event: RunEvent): RunEvent | undefined {
  return event.type === 'MODEL_RETRY' && event.discards ? { ...event, error: '' } : undefined
}
