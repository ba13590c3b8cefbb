import { replaceFile } from '../../core/files/replace-file.ts'
import { type InParts, inTurns } from '../../core/time/give-way.ts'
import type { RecordedRun } from '../format.ts'
import { headOf } from '../recorder.ts'
import type { RecordingSecrets } from '../secrets.ts'
import { layOut, width } from './layout.ts'
import { firstMessages, pathOf, shortTurn } from './recording-file.ts'

/** A run as it was recorded, with its secrets. */
interface Recorded {
  runId: string
  run: RecordedRun
}

/** Writes the file of a recorded run without its secrets, as `writeRecording` does, but lets others get their turn. */
export async function writeRecorded(file: string | URL, recorded: Recorded, secrets: RecordingSecrets): Promise<void> {
  await replaceFile(pathOf(file), await recordingText(recorded, secrets))
}

/**
 * The text of the file of a recorded run, in pieces: what `recordingToText` makes of the run without its secrets. `secrets`: those that are known
 * before the run is looked through. Gives way to others meanwhile.
 */
export function recordingText(recorded: Recorded, secrets: RecordingSecrets): Promise<string[]> {
  return inTurns(textInParts(recorded, secrets))
}

function* textInParts({ runId, run }: Recorded, secrets: RecordingSecrets): InParts<string[]> {
  yield* secrets.learn(run)
  const { given, turns: _, ...rest } = yield* secrets.cleanRun({ ...run, turns: [] })
  const items: string[] = []
  let before = firstMessages(given)
  for (const turn of run.turns) {
    const clean = yield* secrets.cleanTurn(turn)
    yield
    items.push(layOut(shortTurn(given, before, clean), '    ', 4))
    before = clean.request.messages
  }
  return [
    `{\n${layOutFields({ ...headOf(runId), given }).join(',\n')},\n`,
    ...layOutTurns(items),
    ...layOutFields(rest).map((field) => `,\n${field}`),
    '\n}\n',
  ]
}

function layOutTurns(items: readonly string[]): string[] {
  const few = items.length < 3 ? `  "turns": [${items.join(', ')}]` : '\n'
  if (few.length <= width && !few.includes('\n')) return [few]
  return ['  "turns": [', ...items.map((item, at) => `${at === 0 ? '' : ','}\n    ${item}`), '\n  ]']
}

function layOutFields(fields: object): string[] {
  return Object.entries(fields).map(([name, value]) => `  "${name}": ${layOut(value, '  ', name.length + 6)}`)
}
