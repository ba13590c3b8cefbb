import { ModelError, show } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'
import { CallIds, checkPieceLength, type Script, takeTurn } from '../script.ts'
import { settlesBeforeAbort } from '../wait.ts'
import { checkFault, chooseFault, type MockFault, type MockFaults, replacesTurn } from './fault.ts'
import type { MockRequest } from './recorder.ts'
import { faultOf, type MockReply, type PreparedResponse, prepareError, prepareFault, prepareJson, prepareReply } from './reply.ts'
import type { MockWire, WireName, WireRequest } from './wires/wire.ts'
import { chooseWire } from './wires.ts'

/** The request that `refuse` and the functions of a script receive. */
export interface MockScriptRequest {
  body: JsonObject
  /** The number of the request, counted from 0. Requests that were answered by a fault are counted, too. */
  index: number
  /** The path of the request, with the query. */
  path: string
  headers: Readonly<Record<string, string>>
  wire: WireName
  /** Converts the body back to messages, tools and tool choice. */
  readRequest(): WireRequest
}

/** A response and the fault that changes it. */
export interface Answer {
  response: PreparedResponse
  fault: MockFault
}

export interface AnswerOptions {
  script: Script<MockScriptRequest, MockReply>
  faults: MockFaults | undefined
  models: readonly string[]
  refuse: ((request: MockScriptRequest) => string | undefined) | undefined
  pieceLength: number
}

/** Decides how a request is answered: it is refused, gets a fault, or gets the script's next turn. */
export class ScriptedAnswers {
  readonly #options: AnswerOptions
  readonly #ids = new CallIds()
  #asked = 0
  #turnsTaken = 0

  constructor(options: AnswerOptions) {
    checkPieceLength(options.pieceLength)
    this.#options = options
  }

  /** Resolves with undefined if `signal` is aborted while the script decides. Rejects if the script or a fault is invalid. */
  async prepare(request: MockRequest, signal: AbortSignal): Promise<Answer | undefined> {
    const { method, body, headers, rawBody } = request
    const { wire, purpose, path } = chooseWire(method, request.path)
    if (purpose === undefined) return refuse(wire, 404, `Expected a path the mock provider serves, got ${method} ${path}`)
    if (purpose === 'models') return { response: prepareJson(200, wire.encodeModels(this.#options.models, path)), fault: {} }

    const index = this.#asked++
    if (Object.keys(body).length === 0) return refuse(wire, 400, `Expected the request's body to be a JSON object, got ${show(rawBody)}`)
    const readRequest = (): WireRequest => wire.readRequest(body)
    const asked: MockScriptRequest = { body, index, path: request.path, headers, wire: wire.name, readRequest }
    const refusal = this.#options.refuse?.(asked)
    if (refusal !== undefined) return refuse(wire, 400, refusal)

    const chosen = chooseFault(this.#options.faults, { index, body, path: request.path })
    checkFault(chosen)
    if (replacesTurn(chosen)) return { response: prepareFault(chosen, wire), fault: chosen }

    const deciding = takeTurn(this.#options.script, this.#turnsTaken++, asked, index)
    if (deciding instanceof Promise && !(await settlesBeforeAbort(deciding, signal))) return undefined
    const reply = await deciding
    const fault = { ...chosen, ...faultOf(reply) }
    checkFault(fault)
    if (replacesTurn(fault)) return { response: prepareFault(fault, wire), fault }
    const model = typeof body.model === 'string' ? body.model : 'mock-model'
    const streamed = wire.streams(body, path)
    const about = { wire, streamed, model, body, id: `mock_${index + 1}`, ids: this.#ids, pieceLength: this.#options.pieceLength }
    return { response: prepareReply(reply, fault, about), fault }
  }
}

function refuse(wire: MockWire, status: number, message: string): Answer {
  const error = new ModelError('provider_error', message, { provider: 'mock', status, retryable: false })
  return { response: prepareError(error, wire, status), fault: {} }
}
