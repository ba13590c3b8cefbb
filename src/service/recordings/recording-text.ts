import { layOut } from '../../recording/file/layout.ts'
import { firstMessages, shortTurn } from '../../recording/file/recording-file.ts'
import type { RecordedRun } from '../../recording/format.ts'
import { headOf } from '../../recording/recorder.ts'
import { RecordingSecrets } from '../../recording/secrets.ts'
import type { Pauses } from '../../tools/yield-to-event-loop.ts'

/**
 * The text of the file of a recorded run, in pieces: what `recordingToText` makes of it, but a model request at a time, so that others get
 * their turn in between. `known`: texts that are secret.
 */
export async function recordingText(
  { runId, run }: { runId: string; run: RecordedRun },
  known: Iterable<string>,
  pauses: Pauses,
): Promise<string[]> {
  const secrets = new RecordingSecrets(known)
  for (const turn of run.turns) {
    secrets.learn({ given: run.given, turns: [turn] })
    await pauses.take()
  }
  const { given, turns: _, ...rest } = secrets.cleanRun({ ...run, turns: [] })
  await pauses.take()
  const items: string[] = []
  let before = firstMessages(given)
  for (const turn of run.turns) {
    for (const clean of secrets.cleanRun({ given: { ...given, messages: [], tools: [] }, turns: [turn] }).turns) {
      await pauses.take()
      items.push(layOut(shortTurn(given, before, clean), '    ', 4))
      before = clean.request.messages
    }
    await pauses.take()
  }
  const field = ([name, value]: [string, unknown]) => `  "${name}": ${layOut(value, '  ', name.length + 6)}`
  return [
    `{\n${Object.entries({ ...headOf(runId), given })
      .map(field)
      .join(',\n')},\n  "turns": [`,
    ...items.map((item, at) => `${at === 0 ? '' : ','}\n    ${item}`),
    items.length === 0 ? ']' : '\n  ]',
    ...Object.entries(rest).map((entry) => `,\n${field(entry)}`),
    '\n}\n',
  ]
}
