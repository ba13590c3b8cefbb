import type { RecordedScope, RunRecorder } from '../../agent/observe/recorder.ts'
import { isSteering } from '../../agent/step-keys.ts'
import type { RunResult } from '../../agent/types/result.ts'
import type { Json } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { RecordedRun, RunRecording } from '../../recording/format.ts'
import { RecordingRecorder } from '../../recording/recorder.ts'

type Asked = Parameters<RunRecorder['asks']>[1]
type Calls = Parameters<RunRecorder['calls']>[1]

/** Most characters of one recording, roughly. */
export const longestRecording = 2_000_000
export const tooLong: string = `it is longer than ${longestRecording} characters`
/** What a request or a call takes up besides its texts. */
const ofEach = 500

/** Records one run as long as that is not too long: then what there is of it is kept, and says that it is not the whole. */
export class BoundedRecorder implements RunRecorder {
  readonly #grown: (by: number) => void
  readonly #recorder: RecordingRecorder
  #size = 0
  #isStopped = false

  /** `earlier`: what is recorded of the run already, if anything, and how many characters that has. */
  constructor(grown: (by: number) => void, earlier?: { recording: RunRecording; characters: number }) {
    this.#grown = grown
    this.#recorder = new RecordingRecorder({ earlier: earlier?.recording })
    this.#size = earlier?.characters ?? 0
  }

  /** In characters, roughly. */
  get size(): number {
    return this.#size
  }

  /** Whether nothing more is recorded than how the run ends. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** The run as it was recorded, with its secrets; undefined where it has not begun. */
  get recorded(): { runId: string; run: RecordedRun } | undefined {
    return this.#recorder.recorded()
  }

  /** Records nothing more; the recording says why. */
  stop(why: string): void {
    this.#isStopped = true
    const { given } = this.live ?? {}
    if (given !== undefined) given.partial ??= why
  }

  begins(run: RecordedScope, input: Json): void {
    if (this.#isStopped) return
    const isNew = this.live === undefined
    this.#recorder.begins(run, input)
    if (isNew) this.grow(charactersIn(input) + run.agent.offered.list().length * ofEach)
  }

  asks(run: RecordedScope, call: Asked): ReturnType<RunRecorder['asks']> {
    if (this.#isStopped) return () => {}
    const answered = this.#recorder.asks(run, call)
    return (response) => {
      answered(response)
      this.grow(ofEach + charactersIn([response.text, response.toolCalls]))
    }
  }

  watched(run: RecordedScope, model: ChatModel): ChatModel {
    if (this.#isStopped) return model
    const watched = this.#recorder.watched(run, model)
    const { provider, capabilities } = model
    const generate: ChatModel['generate'] = async (request, sink) => {
      const response = await watched.generate(request, sink)
      // What is said is there twice: as pieces, and whole.
      this.grow(
        ofEach + 2 * charactersIn([response?.text, response?.reasoning, response?.toolCalls]) + charactersIn(response?.providerData),
      )
      return response
    }
    return { provider, model: model.model, capabilities, generate }
  }

  calls(run: RecordedScope, call: Calls): ReturnType<RunRecorder['calls']> {
    if (this.#isStopped) return () => {}
    const ended = this.#recorder.calls(run, call)
    this.grow(ofEach + charactersIn(call.prepared.args))
    return (end) => {
      ended(end)
      // It is in the next request too.
      if ('content' in end) this.grow(charactersIn(end.content))
    }
  }

  step(run: RecordedScope, key: string, value: unknown, about?: object): void {
    if (this.#isStopped) return
    this.#recorder.step(run, key, value, about)
    // Turns and calls are counted where they are recorded.
    if (about !== undefined || isSteering(key)) this.grow(ofEach + charactersIn([value, about]))
  }

  ended(run: RecordedScope, result: RunResult): void {
    this.#recorder.ended(run, result)
    this.grow(ofEach + result.text.length)
  }

  /** The run as it is being recorded. */
  protected get live(): RecordedRun | undefined {
    return this.#recorder.live
  }

  protected grow(by: number): void {
    this.#size += by
    if (this.#size > longestRecording && !this.#isStopped) this.stop(tooLong)
    this.#grown(by)
  }
}

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let characters = 0
  for (const [key, item] of Object.entries(value)) characters += key.length + charactersIn(item)
  return characters
}
