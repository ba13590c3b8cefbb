import { resolve } from 'node:path'
import { InvalidOptionError } from '../../core/errors.ts'
import { redact } from '../../core/redaction/redact.ts'
import { version } from '../../core/version.ts'
import { type RunRecording, readRecording } from '../../recording/index.ts'
import { EXIT_OK } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'
import { knownRun, withRuns } from './runs.ts'

/**
 * `toolloop runs export ID`: prints everything in the journal about a run as one JSON object, for storing or sending. `--record FILE` adds
 * the run's recording, which is read from FILE. Removes values whose names suggest secrets, and texts that look like keys. Resolves with
 * the exit code.
 */
export async function exportRun(runId: string, flags: Flags, io: CliIO): Promise<number> {
  return withRuns(flags, io, async (runner) => {
    const run = await knownRun(runner, runId)
    const recording = flags.record === undefined ? {} : { recording: recordingOf(resolve(io.cwd, flags.record), runId) }
    new Terminal(io).print(JSON.stringify({ toolloop: version, run: redact(run), ...recording }))
    return EXIT_OK
  })
}

/** Reads a run's recording. Recordings never contain secrets. */
function recordingOf(file: string, runId: string): RunRecording {
  const recording = readRecording(file)
  if (recording.runId !== runId) throw new InvalidOptionError('--record', `the recording of ${runId}`, recording.runId)
  return recording
}
