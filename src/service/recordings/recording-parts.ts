import type { RecordingPart } from '../../agent/journal/shown-runs.ts'
import { type ChatMessage, withoutUndefined } from '../../core/messages.ts'
import { lengthen } from '../../recording/file/recording-file.ts'
import { type RecordedInput, type RecordedResult, type RecordedRun, type RecordedStep, requestsOf } from '../../recording/format.ts'
import { ordered } from '../../recording/recorder.ts'

/** A recording that was read from its parts. */
export interface RecordingInParts {
  run: RecordedRun
  /** The size of each part in characters, by name. */
  sizes: Map<string, number>
}

/** Assembles a recording from its parts, in any order. Returns undefined if the part `given` is missing. */
export async function recordingOfParts(parts: readonly RecordingPart[]): Promise<RecordingInParts | undefined> {
  const written = parts.filter(({ value }) => value !== '')
  const values = Object.fromEntries(written.map(({ name, value }) => [name, JSON.parse(value)]))
  const { given, result, ...steps } = values as { given?: RecordedInput; result?: RecordedResult } & { [key: string]: RecordedStep }
  if (given === undefined) return undefined
  freeze(given.messages)
  for (const [, { request }] of requestsOf({ steps })) freeze(request.messages)
  const run = lengthen(ordered({ given, steps, ...withoutUndefined({ result }) }))
  return { run, sizes: new Map(written.map(({ name, value }) => [name, value.length])) }
}

/** Freezes messages, because the search for secrets reads a frozen message only once. */
function freeze(messages: readonly ChatMessage[]): void {
  for (const message of messages) Object.freeze(message)
}
