import type { RecordedScope } from '../../agent/observe/recorder.ts'
import { sizeUpTo } from '../../core/json.ts'
import type { RecordedPart, RunRecording } from '../../recording/format.ts'
import { RecordingRecorder } from '../../recording/recorder.ts'

/** The approximate maximum size of one recording, in characters. */
export const longestRecording = 2_000_000
export const tooLong: string = `it is longer than ${longestRecording} characters`
/** The approximate size of a recorded part without its texts, in characters. */
const ofEach = 500

/** Records one run up to a size limit. If the limit is reached, recording stops, and the recording is marked as incomplete. */
export class BoundedRecorder extends RecordingRecorder {
  readonly #grown: (by: number) => void
  #size = 0

  /** `earlier` is the existing recording of the run, with its size in characters. */
  constructor(grown: (by: number) => void, earlier?: { recording: RunRecording; characters: number }) {
    super({ earlier: earlier?.recording })
    this.#grown = grown
    this.#size = earlier?.characters ?? 0
  }

  /** The approximate size of the recording, in characters. */
  get size(): number {
    return this.#size
  }

  protected override noted(_run: RecordedScope, _part: string, value: RecordedPart | undefined): void {
    if (value === undefined) return
    const by = ofEach + sizeOf(value)
    this.#size += by
    if (this.#size > longestRecording && !this.isStopped) this.stop(tooLong)
    this.#grown(by)
  }
}

/**
 * Returns the size that a part adds to the recording. Requests repeat earlier messages, and nested runs are counted separately, so neither
 * counts here.
 */
function sizeOf(part: RecordedPart): number {
  const own = Array.isArray(part) ? part.map(({ request: _, ...came }) => came) : 'runs' in part ? { ...part, runs: [] } : part
  return sizeUpTo(longestRecording, own)
}
