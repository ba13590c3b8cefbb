import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import {
  abortedError,
  type ChatModel,
  type ModelCapabilities,
  type ModelRequest,
  type ModelResponse,
  type ModelSink,
} from '../models/chat-model.ts'
import { restartable } from '../models/middleware/retry.ts'
import { CallIds, checkPieceLength, planTurn, type Script, type ScriptedTurn, type TurnPlan, type TurnStep, takeTurn } from './script.ts'
import { settlesBeforeAbort } from './wait.ts'

/** The options of a scripted model. */
export interface ScriptedModelOptions {
  /** The name of the provider. Default: `'scripted'`. */
  provider?: string
  /** The name of the model. Default: `'scripted-model'`. */
  model?: string
  /** The capabilities of the model. Default: `{ nativeTools: true }`. */
  capabilities?: ModelCapabilities
  /** The length of the streamed pieces of texts and arguments, in UTF-16 units. Default: 4. */
  pieceLength?: number
  /** Whether to store the requests in `requests`. Use false for long scripts with large conversations. Default: true. */
  record?: boolean
}

const optionNames: OptionNames<ScriptedModelOptions> = {
  provider: true,
  model: true,
  capabilities: true,
  pieceLength: true,
  record: true,
}

/** A deep copy of a request, without the signal. */
export type ScriptedRequest = Omit<ModelRequest, 'signal'>

/** A model that answers from a script. */
export interface ScriptedModel extends ChatModel {
  /** All requests so far, in order. Excludes requests whose signal was already aborted, because nothing would have been sent. */
  readonly requests: readonly ScriptedRequest[]
}

/**
 * Creates a model that answers from a script, for tests of agents and tools. It needs no network and no key, and always gives the same
 * answers. Each request takes the next turn, in the order of the calls to `generate`. If no turn is left, the request rejects, and the
 * error says how many turns there were. Text, reasoning and arguments are streamed in small pieces, or in one piece if the request says
 * `stream: false`.
 *
 * ```ts
 * const model = scriptedModel([
 *   { toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] },
 *   (request) => `The result is ${textOf(request.messages.at(-1)?.content ?? '')}.`,
 * ])
 * const result = await new AgentRunner({ model, tools: [add] }).run('What is 2 + 3?')
 * ```
 */
export function scriptedModel(turns: Script<ModelRequest, ScriptedTurn | string>, options: ScriptedModelOptions = {}): ScriptedModel {
  checkOptionNames(options, optionNames, '`scriptedModel`')
  const { provider = 'scripted', model = 'scripted-model', capabilities = { nativeTools: true }, record = true } = options
  const pieceLength = checkPieceLength(options.pieceLength ?? 4)
  const requests: ScriptedRequest[] = []
  const ids = new CallIds()
  let asked = 0

  const generate = async (request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> => {
    const { signal, ...rest } = request
    if (signal?.aborted) throw abortedError(provider, signal.reason)
    const index = asked++
    if (record) requests.push(structuredClone(rest))
    const turn = takeTurn(turns, index, request, index)
    if (turn instanceof Promise && !(await settlesBeforeAbort(turn, signal))) throw abortedError(provider, signal?.reason)
    const plan = planTurn(await turn, ids, request.stream === false ? Number.POSITIVE_INFINITY : pieceLength)
    await play(plan, provider, sink && restartable(sink), signal)
    const { before: _before, steps: _steps, end: _end, ...response } = plan
    return { ...response, model }
  }
  return { provider, model, capabilities, requests, generate }
}

/** Sends the pieces of a plan to the sink. Rejects if `signal` is aborted, or if the turn fails. */
async function play(plan: TurnPlan, provider: string, sink: ModelSink | undefined, signal: AbortSignal | undefined): Promise<void> {
  const heeded = plan.end.type === 'hang' && plan.end.deaf ? undefined : signal
  const wait = async (until: PromiseLike<unknown>): Promise<void> => {
    if (!(await settlesBeforeAbort(until, heeded))) throw abortedError(provider, signal?.reason)
  }
  if (plan.before !== undefined) await wait(plan.before)
  for (const step of plan.steps) {
    if (step.type === 'wait') await wait(step.until)
    else if (sink !== undefined) {
      push(step, sink)
      // Lets the reader of the stream react to each piece before the next arrives.
      await undefined
    }
    if (heeded?.aborted) throw abortedError(provider, heeded.reason)
  }
  if (plan.end.type === 'hang') await wait(new Promise(() => {}))
  if (plan.end.type === 'error') throw plan.end.error
}

function push(step: Exclude<TurnStep, { type: 'wait' }>, sink: ModelSink): void {
  switch (step.type) {
    case 'reasoning':
      sink.reasoning?.(step.text)
      break
    case 'text':
      sink.text?.(step.text)
      break
    case 'call':
      sink.toolCallStart?.(step.index, step.id, step.name)
      break
    case 'arguments':
      sink.toolCallDelta?.(step.index, step.json)
  }
}
