import type { RecordingPart } from '../../agent/journal/shown-runs.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { lengthen } from '../../recording/file/recording-file.ts'
import type { RecordedCall, RecordedInput, RecordedResult, RecordedRun, RecordedTurn } from '../../recording/format.ts'
import { ordered } from '../../recording/recorder.ts'

/**
 * What the parts of a recording are called: what the run was given, how it ended, and of each turn, counted from 0, what was asked and
 * answered, what was decided and said, and each call. So a run is written down as it goes on, and nothing of it twice.
 */
export const partName = {
  given: 'given',
  result: 'result',
  turn: (turn: number): string => `${turn}`,
  decided: (turn: number): string => `${turn} decided`,
  call: (turn: number, place: string): string => `${turn} call ${place}`,
}

/** A turn as its part has it: as in the file, without its calls and decisions; and the step of the journal that it was made in. */
export interface TurnPart {
  step: string
  turn: RecordedTurn
}

/** What is known of a run by the parts of its recording. */
export interface RecordingInParts {
  run: RecordedRun
  /** The steps that its turns were made in. */
  steps: string[]
  /** The characters of each part, by its name. */
  sizes: Map<string, number>
}

/** Puts the parts together, in whatever order they are; undefined where nothing is recorded. */
export async function recordingOfParts(parts: readonly RecordingPart[]): Promise<RecordingInParts | undefined> {
  const values = new Map<string, unknown>()
  const sizes = new Map<string, number>()
  for (const { name, value } of parts) {
    if (value === '') continue
    values.set(name, JSON.parse(value))
    sizes.set(name, value.length)
  }
  const given = values.get(partName.given) as RecordedInput | undefined
  if (given === undefined) return undefined
  const turns: RecordedTurn[] = []
  freeze(given.messages)
  const steps: string[] = []
  for (let at = 0; ; at++) {
    const part = values.get(partName.turn(at)) as TurnPart | undefined
    if (part === undefined) break
    freeze(part.turn.request.messages)
    turns.push({ ...part.turn, ...(values.get(partName.decided(at)) as Pick<RecordedTurn, 'decisions' | 'steering'> | undefined) })
    steps.push(part.step)
  }
  for (const [name, value] of values) {
    const [turn, kind] = name.split(' ')
    const { [Number(turn)]: inTurn } = turns
    if (kind !== 'call' || inTurn === undefined) continue
    inTurn.calls ??= []
    inTurn.calls.push(value as RecordedCall)
  }
  const result = values.get(partName.result) as RecordedResult | undefined
  const run = ordered(lengthen({ given, turns, ...(result === undefined ? {} : { result }) }))
  return { run, steps, sizes }
}

/** As in a run: so each is looked through once, in whichever requests it is. */
function freeze(messages: readonly ChatMessage[]): void {
  for (const message of messages) Object.freeze(message)
}
