import type { RecordedScope, RecordedVerdict, RunRecorder } from '../../agent/observe/recorder.ts'
import type { RunResult } from '../../agent/run/result.ts'
import type { Json } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { RecordedRun } from '../../recording/format.ts'
import { RecordingRecorder } from '../../recording/recorder.ts'

type Asked = Parameters<RunRecorder['asks']>[1]
type Calls = Parameters<RunRecorder['calls']>[1]
type Steered = Parameters<RunRecorder['steered']>[1]

/** Most characters of one recording, roughly. */
const longestRecording = 1_000_000
/** What a request or a call takes up besides its texts. */
const ofEach = 500

/** Records one run as long as that is not too long: then what there is of it is let go. */
export class BoundedRecorder implements RunRecorder {
  readonly #grown: (by: number) => void
  #recorder: RecordingRecorder | undefined = new RecordingRecorder()
  #size = 0

  constructor(grown: (by: number) => void) {
    this.#grown = grown
  }

  /** In characters, roughly. */
  get size(): number {
    return this.#size
  }

  /** The run as it was recorded, with its secrets; undefined: it was too long, or has not begun. */
  get recorded(): { runId: string; run: RecordedRun } | undefined {
    return this.#recorder?.recorded()
  }

  /** Lets go of all there is; nothing more is recorded. */
  drop(): void {
    this.#recorder = undefined
  }

  begins(run: RecordedScope, input: Json): void {
    if (this.#recorder === undefined) return
    this.#recorder.begins(run, input)
    this.#grow(charactersIn(input) + run.agent.offered.list().length * ofEach)
  }

  asks(run: RecordedScope, call: Asked): ReturnType<RunRecorder['asks']> {
    const answered = this.#recorder?.asks(run, call)
    if (answered === undefined) return () => {}
    return (response) => {
      answered(response)
      this.#grow(ofEach + charactersIn([response.text, response.toolCalls]))
    }
  }

  watched(run: RecordedScope, model: ChatModel): ChatModel {
    const watched = this.#recorder?.watched(run, model)
    if (watched === undefined) return model
    const { provider, capabilities } = model
    const generate: ChatModel['generate'] = async (request, sink) => {
      const response = await watched.generate(request, sink)
      // What is said is there twice: as pieces, and whole.
      this.#grow(
        ofEach + 2 * charactersIn([response?.text, response?.reasoning, response?.toolCalls]) + charactersIn(response?.providerData),
      )
      return response
    }
    return { provider, model: model.model, capabilities, generate }
  }

  calls(run: RecordedScope, call: Calls): ReturnType<RunRecorder['calls']> {
    const ended = this.#recorder?.calls(run, call)
    if (ended === undefined) return () => {}
    this.#grow(ofEach + charactersIn(call.prepared.args))
    return (end) => {
      ended(end)
      // It is in the next request too.
      if ('content' in end) this.#grow(charactersIn(end.content))
    }
  }

  decided(run: RecordedScope, decision: RecordedVerdict): void {
    this.#recorder?.decided(run, decision)
    this.#grow(ofEach + charactersIn([decision.args, decision.verdict]))
  }

  steered(run: RecordedScope, steering: Steered): void {
    this.#recorder?.steered(run, steering)
    this.#grow(charactersIn(steering.messages))
  }

  ended(run: RecordedScope, result: RunResult): void {
    this.#recorder?.ended(run, result)
    this.#grow(ofEach + result.text.length)
  }

  #grow(by: number): void {
    if (this.#recorder === undefined) return
    const isTooLong = this.#size + by > longestRecording
    const change = isTooLong ? -this.#size : by
    if (isTooLong) this.#recorder = undefined
    this.#size += change
    this.#grown(change)
  }
}

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let characters = 0
  for (const [key, item] of Object.entries(value)) characters += key.length + charactersIn(item)
  return characters
}
