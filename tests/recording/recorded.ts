import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { recordingToText } from '../../src/recording/file/recording-file.ts'
import type { RunRecording } from '../../src/recording/format.ts'
import type { RecordedRunOptions } from '../../src/recording/index.ts'
import { describeDifference, readRecording, recordRun, replayRun } from '../../src/recording/index.ts'
import { tempFolder } from '../cli/temp-folder.ts'

/** A path in a new folder. */
export async function newFile(name = 'run.json'): Promise<string> {
  return join(await tempFolder({}), name)
}

type Start = (record: RecordedRunOptions) => unknown

/** Records a run; with further starts, its resumptions, each as a process of its own would. */
export async function recorded(...starts: Start[]): Promise<{ file: string; text: string; recording: RunRecording }> {
  const file = await newFile()
  for (const start of starts) await recordRun(start, file)
  return { file, text: await readFile(file, 'utf8'), recording: readRecording(file) }
}

/** Records a run, plays it with all that is in the file, and expects the recording of that to be the same, byte by byte. */
export async function playsByteEqual(...starts: Start[]): Promise<{ file: string; text: string; recording: RunRecording }> {
  const run = await recorded(...starts)
  const { difference, recording } = await replayRun(run.recording)
  if (difference !== undefined) expect.fail(describeDifference(difference))
  expect(recordingToText(recording)).toBe(run.text)
  return run
}
