import type { RunRecorder } from '../agent/observe/recorder.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { checkOptionNames, type OptionNames } from '../core/option-names.ts'
import { RecordingRecorder } from './recorder.ts'
import { recordingAt, writeRecording } from './recording-file.ts'

/** How a run is recorded. */
export interface RecordOptions {
  /** Texts that must not be in the file, wherever they occur. What looks like a key, or has the name of a secret, is never in it. */
  secrets?: Iterable<string>
}

const optionNames: OptionNames<RecordOptions> = { secrets: true }

/** What a run is to be given, so that it is recorded. */
export interface RecordedRunOptions {
  recorder: RunRecorder
}

/**
 * Records a run, with the runs inside it, in a file that `replayModel`, `replayTools` and `toolloop replay` play. `start` starts the run with
 * the options it is given, and resolves when that has ended. However it ended, the file is written then: whole or not at all, for its owner
 * alone. A run that is resumed goes on in the file that has its beginning; any other takes the file's place. Resolves and rejects as `start`
 * does; rejects with `invalid_option` where the file can't be gone on with or `start` has started several runs, and with the system's error
 * where it can't be written.
 *
 * ```ts
 * const result = await recordRun((record) => runner.run('What is 2 + 3?', record), 'runs/sum.json')
 * ```
 */
export async function recordRun<Result>(
  start: (record: RecordedRunOptions) => Result | PromiseLike<Result>,
  file: string | URL,
  options: RecordOptions = {},
): Promise<Result> {
  if (typeof start !== 'function')
    throw new InvalidOptionError('start', 'a function that starts the run with the options it is given', start)
  checkOptionNames(options, optionNames, '`recordRun`')
  const recorder = new RecordingRecorder({ secrets: options.secrets ?? [], earlier: await recordingAt(file) })
  let result: Result
  try {
    result = await start({ recorder })
  } finally {
    const recording = recorder.recording()
    if (recording !== undefined) await writeRecording(file, recording)
  }
  if (recorder.strangers > 0) throw new InvalidOptionError('start', `a function that starts one run, not ${recorder.strangers + 1}`)
  return result
}
