import { isDeepStrictEqual } from 'node:util'
import { type ErrorCode, errorCodes, ModelError, ToolloopError } from '../core/errors.ts'
import { atOnce } from '../core/time/give-way.ts'
import type { ChatModel, ModelCapabilities, ModelRequest, ModelResponse, ModelSink } from '../models/chat-model.ts'
import { describeRequest } from './describe.ts'
import { describeDifference, firstDifference } from './difference.ts'
import type { RecordedError, RecordedModelInfo, RecordedRequest } from './format.ts'
import { playPieces } from './noted-pieces.ts'
import type { RecordingSecrets } from './secrets.ts'

export interface PlayOptions {
  secrets: RecordingSecrets
  /** Ends the replayed run. Called when the replay reaches the point where an abort or a deadline ended the recorded run. */
  interrupt?: (why: 'aborted' | 'deadline') => void
  /** What ended the recorded run: an abort or a deadline. Undefined if it ended in another way. */
  ending?: 'aborted' | 'deadline' | undefined
}

/** A recorded request, and the key of its step. */
type Played = [where: string, request: RecordedRequest]

/** A model that returns recorded responses. Equal requests get their recorded responses in order. */
export class RecordedModel implements ChatModel {
  readonly #info: RecordedModelInfo
  readonly #requests: readonly Played[]
  readonly #left: Played[]
  readonly #options: PlayOptions
  #last: string | undefined

  constructor(requests: readonly Played[], info: RecordedModelInfo, options: PlayOptions) {
    this.#info = info
    this.#requests = requests
    this.#left = [...requests]
    this.#options = options
  }

  get provider(): string {
    return this.#info.provider
  }

  get model(): string {
    return this.#info.model
  }

  get capabilities(): ModelCapabilities {
    return this.#info.capabilities
  }

  /** The step of the request that was replayed last. */
  get last(): string | undefined {
    return this.#last
  }

  /** The request expected next. */
  get next(): RecordedRequest | undefined {
    return this.#left[0]?.[1]
  }

  /** Ends the replayed run after the last recorded request, if an abort or a deadline ended the recorded run. */
  endIfOver(): void {
    const { ending, interrupt } = this.#options
    if (ending !== undefined && this.#left.length === 0) interrupt?.(ending)
  }

  /** Returns a view of this model that has the name and capabilities of the model in the next recorded request. */
  forTurn(): ChatModel {
    const { provider, model, capabilities } = this.next?.request.model ?? this.#info
    return { provider, model, capabilities, generate: (request, sink) => this.generate(request, sink) }
  }

  async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
    const [where, turn] = this.#take(request)
    this.#last = where
    await playPieces(turn.stream ?? [], sink)
    if (turn.interrupted !== undefined) await this.#interrupted(turn.interrupted, turn.error)
    if (turn.error !== undefined) throw errorOf(turn.error, this.#info)
    return structuredClone(turn.response) as ModelResponse
  }

  #take(request: ModelRequest): Played {
    const { secrets, ending, interrupt } = this.#options
    const described = describeRequest(request)
    atOnce(secrets.learnRequest(described))
    const asked = atOnce(secrets.cleanRequest(described))
    const at = this.#left.findIndex(([, one]) => isDeepStrictEqual(requestOf(one), asked))
    const [found] = at < 0 ? [] : this.#left.splice(at, 1)
    if (found !== undefined) return found
    if (this.#left.length === 0 && ending !== undefined) interrupt?.(ending)
    else interrupt?.('aborted')
    throw differs(this.#describe(asked), this.#info)
  }

  /** Describes how a request differs from the most similar recorded request. */
  #describe(asked: object): string {
    const [made] = this.#requests.find(([, one]) => isDeepStrictEqual(requestOf(one), asked)) ?? []
    const again = made === undefined ? '' : `${made}, which has been played already: `
    if (this.#left.length === 0)
      return `${again}all ${this.#requests.length} recorded requests have been made, and the model is asked again`
    if (made !== undefined) return `${again}each request is there as often as it was made. Two runs need two models`
    const [, where, nearest] = this.#left
      .map(([where, one]) => [sameMessages(one, asked), where, one] as const)
      .reduce((a, b) => (b[0] > a[0] ? b : a))
    const difference = firstDifference(requestOf(nearest), asked, 'request')
    return `${where}: ${difference === undefined ? '' : describeDifference(difference)}`
  }

  /**
   * Ends the replayed run. The returned promise never settles, except that it rejects if the recorded request has an error, or if there is
   * no run to end.
   */
  async #interrupted(why: 'aborted' | 'deadline', error: RecordedError | undefined): Promise<void> {
    this.#options.interrupt?.(why)
    if (error === undefined && this.#options.interrupt !== undefined) await new Promise(() => {})
    throw errorOf(error ?? { code: 'aborted', message: 'The recorded run was ended here' }, this.#info)
  }
}

/** Creates the error for a request or a call that is not in the recording. */
export function differs(what: string, { provider, model }: Pick<ChatModel, 'provider' | 'model'>): ModelError {
  return new ModelError('replay_differs', `The run differs from its recording at ${what}`, { provider, model, retryable: false })
}

function requestOf({ request: { model: _model, agent: _agent, ...request } }: RecordedRequest): object {
  return request
}

/** Counts the messages that two requests share at their beginning. */
function sameMessages({ request: { messages } }: RecordedRequest, asked: object): number {
  const others: unknown[] = 'messages' in asked && Array.isArray(asked.messages) ? asked.messages : []
  const differ = messages.findIndex((message, at) => !isDeepStrictEqual(message, others[at]))
  return differ < 0 ? messages.length : differ
}

function errorOf({ code: written, message, provider, retryable, ...fields }: RecordedError, info: RecordedModelInfo): ToolloopError {
  const code = knownCode(written) ?? 'provider_error'
  if (retryable === undefined) return new ToolloopError(code, message)
  return new ModelError(code, message, { ...fields, provider: provider ?? info.provider, retryable })
}

/** Returns the error code. Returns undefined if this version of the package doesn't have the code. */
export function knownCode(written: string | undefined): ErrorCode | undefined {
  return written !== undefined && Object.hasOwn(errorCodes, written) ? (written as ErrorCode) : undefined
}
