import { replaceFile } from '../../core/files/replace-file.ts'
import { type InParts, inTurns } from '../../core/time/give-way.ts'
import type { RecordedRun } from '../format.ts'
import { headOf } from '../recorder.ts'
import type { RecordingSecrets } from '../secrets.ts'
import { layOut, width } from './layout.ts'
import { firstMessages, lastMessages, pathOf, shortStep } from './recording-file.ts'

/** A recorded run that is not redacted. */
interface Recorded {
  runId: string
  run: RecordedRun
}

/** Redacts a recorded run and writes its file. Unlike `writeRecording`, yields to the event loop meanwhile. */
export async function writeRecorded(file: string | URL, recorded: Recorded, secrets: RecordingSecrets): Promise<void> {
  await replaceFile(pathOf(file), await recordingText(recorded, secrets))
}

/**
 * Redacts a recorded run and formats it as `recordingToText` does. Adds the secrets that it finds to `secrets`. Yields to the event loop
 * meanwhile.
 */
export function recordingText(recorded: Recorded, secrets: RecordingSecrets): Promise<string[]> {
  return inTurns(textInParts(recorded, secrets))
}

function* textInParts({ runId, run }: Recorded, secrets: RecordingSecrets): InParts<string[]> {
  yield* secrets.learn(run)
  const { given, steps: _, ...rest } = yield* secrets.cleanRun({ ...run, steps: {} })
  const fields: string[] = []
  let before = firstMessages(given)
  for (const [key, step] of Object.entries(run.steps)) {
    const clean = yield* secrets.cleanStep(step)
    yield
    fields.push(...layOutFields({ [key]: shortStep(given, before, clean) }, '    '))
    before = lastMessages(clean) ?? before
  }
  return [
    `{\n${layOutFields({ ...headOf(runId), given }).join(',\n')},\n`,
    ...layOutSteps(fields),
    ...layOutFields(rest).map((field) => `,\n${field}`),
    '\n}\n',
  ]
}

function layOutSteps(fields: readonly string[]): string[] {
  const few = fields.length < 3 ? `  "steps": {${fields.map((field) => ` ${field.trim()}`).join()} }` : '\n'
  if (fields.length === 0) return ['  "steps": {}']
  if (few.length <= width && !few.includes('\n')) return [few]
  return ['  "steps": {', ...fields.map((field, at) => `${at === 0 ? '' : ','}\n${field}`), '\n  }']
}

function layOutFields(fields: object, indent = '  '): string[] {
  return Object.entries(fields).map(([name, value]) => {
    const key = `${indent}${JSON.stringify(name)}: `
    return key + layOut(value, indent, key.length)
  })
}
