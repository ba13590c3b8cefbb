import type { RunRecorder } from '../agent/observe/recorder.ts'
import { RunStream } from '../agent/runner/run-stream.ts'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, messageOf } from '../core/errors.ts'
import { recordingAt } from './file/recording-file.ts'
import { writeRecorded } from './file/recording-text.ts'
import { RecordingRecorder } from './recorder.ts'
import { RecordingSecrets, secretsOf } from './secrets.ts'

/** Options of `recordRun`. */
export interface RecordOptions {
  /** Texts to redact wherever they occur. Texts that look like a key, and values under names that suggest a secret, are always redacted. */
  secrets?: Iterable<string>
}

const optionNames: OptionNames<RecordOptions> = { secrets: true }

/** Run options that pass a recorder to the run. Pass them to `run`, `stream` or `resume`. */
export interface RecordedRunOptions {
  recorder: RunRecorder
}

/**
 * Records a run and the runs inside it to a file, for `replayModel`, `replayTools` and `toolloop replay`.
 *
 * Contract: `start` is called once. It must pass its argument as options to the run that it starts, and return the result or the stream.
 * `recordRun` then resolves with that value, or rejects with the error of `start`.
 *
 * The file is written atomically when the run has ended, whatever the outcome. Only the owner of the file can read it. If a run is resumed
 * and the file contains the beginning of that run, the recording is continued. Any other run replaces the file.
 *
 * Rejects with `invalid_option` if the existing file is not a recording. In this case, `start` is not called. Also rejects with
 * `invalid_option` if `start` has started no run, several runs, or a run that has not ended. If the file can't be written, rejects with the
 * system's error; if `start` has rejected as well, rejects with an `AggregateError` of both.
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
  const secrets = new RecordingSecrets(secretsOf(options.secrets))
  const recorder = new RecordingRecorder({ earlier: await recordingAt(file) })
  const write = async () => {
    const recorded = recorder.recorded()
    if (recorded !== undefined) await writeRecorded(file, recorded, secrets)
  }
  let result: Result
  try {
    result = await start({ recorder })
    if (result instanceof RunStream) await result.result
  } catch (error) {
    await write().catch((failure: unknown) => {
      const message = `${messageOf(error)}; and the recording could not be written: ${messageOf(failure)}`
      throw new AggregateError([error, failure], message)
    })
    throw error
  }
  await write()
  checkWhole(recorder)
  return result
}

function checkWhole(recorder: RecordingRecorder): void {
  if (recorder.live === undefined)
    throw new InvalidOptionError('start', 'a function that gives the run its options, and resolves when it has ended: no run was recorded')
  if (recorder.strangers > 0) throw new InvalidOptionError('start', `a function that starts one run, not ${recorder.strangers + 1}`)
  if (recorder.isUnderWay)
    throw new InvalidOptionError(
      'start',
      'a function that resolves when the run has ended: it was still going on, and is recorded as far as it went',
    )
}
