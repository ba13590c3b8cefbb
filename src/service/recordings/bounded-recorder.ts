import type { RecordedScope } from '../../agent/observe/recorder.ts'
import type { RecordedPart, RunRecording } from '../../recording/format.ts'
import { RecordingRecorder } from '../../recording/recorder.ts'

/** Most characters of one recording, roughly. */
export const longestRecording = 2_000_000
export const tooLong: string = `it is longer than ${longestRecording} characters`
/** What a part takes up besides its texts. */
const ofEach = 500

/** Records one run as long as that is not too long: then what there is of it is kept, and says that it is not the whole. */
export class BoundedRecorder extends RecordingRecorder {
  readonly #grown: (by: number) => void
  #size = 0

  /** `earlier`: what is recorded of the run already, if anything, and how many characters that has. */
  constructor(grown: (by: number) => void, earlier?: { recording: RunRecording; characters: number }) {
    super({ earlier: earlier?.recording })
    this.#grown = grown
    this.#size = earlier?.characters ?? 0
  }

  /** In characters, roughly. */
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

/** What a part adds to the recording: a request has the messages of those before it, and a run inside a call has parts of its own. */
function sizeOf(part: RecordedPart): number {
  if (Array.isArray(part)) return charactersIn(part.map(({ request: _, ...came }) => came))
  return charactersIn('runs' in part ? { ...part, runs: [] } : part)
}

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let characters = 0
  const isList = Array.isArray(value)
  for (const [key, item] of Object.entries(value)) characters += (isList ? 0 : key.length) + charactersIn(item)
  return characters
}
