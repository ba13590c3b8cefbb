import type { RecordingPart } from '../../agent/journal/shown-runs.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { lengthen } from '../../recording/file/recording-file.ts'
import { type RecordedInput, type RecordedResult, type RecordedRun, type RecordedStep, requestsOf } from '../../recording/format.ts'
import { ordered } from '../../recording/recorder.ts'

/** What is known of a run by the parts of its recording. */
export interface RecordingInParts {
  run: RecordedRun
  /** The characters of each part, by its name. */
  sizes: Map<string, number>
}

/**
 * Puts the parts together, in whatever order they are; undefined where nothing is recorded. Each step is a part, as its file has it and by its key;
 * `given` and `result` are two more. So a run is written down as it goes on, and nothing of it twice.
 */
export async function recordingOfParts(parts: readonly RecordingPart[]): Promise<RecordingInParts | undefined> {
  const written = parts.filter(({ value }) => value !== '')
  const values = Object.fromEntries(written.map(({ name, value }) => [name, JSON.parse(value)]))
  const { given, result, ...steps } = values as { given?: RecordedInput; result?: RecordedResult } & { [key: string]: RecordedStep }
  if (given === undefined) return undefined
  freeze(given.messages)
  for (const [, { request }] of requestsOf({ steps })) freeze(request.messages)
  const run = lengthen(ordered({ given, steps, ...(result === undefined ? {} : { result }) }))
  return { run, sizes: new Map(written.map(({ name, value }) => [name, value.length])) }
}

/** As in a run: so each is looked through once, in whichever requests it is. */
function freeze(messages: readonly ChatMessage[]): void {
  for (const message of messages) Object.freeze(message)
}
