import { ModelError } from '../../core/errors.ts'
import type { ChatModel, ModelRequest, ModelResponse, ModelSink } from '../../models/chat-model.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import type { MockWire } from '../mock/wires/wire.ts'
import { type MockProvider, type MockProviderOptions, startMockProvider } from '../mock-provider.ts'

/**
 * The part of a test runner's `expect` that a contract suite needs: `toBe` for identity, and `toEqual` for deep equality of plain data.
 * Both throw if the values differ.
 */
export type Expect = (actual: unknown) => { toBe(expected: unknown): unknown; toEqual(expected: unknown): unknown }

/** Settings for the model under test. */
export interface ModelTestSettings {
  /** How often the model must retry a failed request. */
  maxRetries: number
}

/**
 * Creates the model under test, which connects to `server` (`server.url`, or `server.baseURL` for OpenAI's formats). If it throws, the case
 * fails.
 */
export type CreateModel = (server: MockProvider, settings: ModelTestSettings) => ChatModel | Promise<ChatModel>

/** A test of one guarantee of the model contract. */
export interface ModelCase {
  /** The guarantee, as a sentence. */
  name: string
  /** Rejects if the model violates the guarantee. */
  run(kit: ModelKit): Promise<void>
}

/** Helpers for the cases. They start servers, which are closed at the end of the case, and create models that connect to these servers. */
export interface ModelKit {
  expect: Expect
  wire: MockWire
  start(options: MockProviderOptions): Promise<MockProvider>
  /** Creates a model that connects to `server`. Default: `maxRetries` is 0, so that the case sees the first failure. */
  connect(server: MockProvider, settings?: Partial<ModelTestSettings>): Promise<ChatModel>
  /** Starts a server, sends one request, and returns everything that the case can check. */
  ask(options: MockProviderOptions, request?: Partial<ModelRequest>, settings?: Partial<ModelTestSettings>): Promise<Answered>
  /** Like `ask`, for a request that must fail. */
  fail(options: MockProviderOptions, request?: Partial<ModelRequest>, settings?: Partial<ModelTestSettings>): Promise<Failed>
}

interface Answered {
  server: MockProvider
  response: ModelResponse
  seen: SeenPieces
}

export interface Failed {
  server: MockProvider
  error: ModelError
  seen: SeenPieces
}

/** Runs `body` with a kit, and closes its servers afterwards. */
export async function withKit(
  { expect, wire, refuse }: Pick<ModelKit, 'expect' | 'wire'> & Pick<MockProviderOptions, 'refuse'>,
  create: CreateModel,
  body: (kit: ModelKit) => Promise<void>,
): Promise<void> {
  const servers: MockProvider[] = []
  const kit: ModelKit = {
    expect,
    wire,
    async start(options) {
      const server = await startMockProvider({ refuse, ...options })
      servers.push(server)
      return server
    },
    connect: async (server, settings) => create(server, { maxRetries: 0, ...settings }),
    async ask(options, request, settings) {
      const { server, seen, generating } = await send(options, request, settings)
      return { server, seen, response: await generating }
    },
    async fail(options, request, settings) {
      const { server, seen, generating } = await send(options, request, settings)
      return { server, seen, error: await failureOf(generating) }
    },
  }
  async function send(options: MockProviderOptions, request?: Partial<ModelRequest>, settings?: Partial<ModelTestSettings>) {
    const server = await kit.start(options)
    const model = await kit.connect(server, settings)
    const seen = new SeenPieces()
    // The promise is returned inside an object, so that it is not awaited here.
    return { server, seen, generating: model.generate({ messages: greeting, ...request }, seen.sink) }
  }
  try {
    await body(kit)
  } finally {
    await Promise.all(servers.map((server) => server.close()))
  }
}

/** A conversation for cases in which its content does not matter. */
export const greeting: ModelRequest['messages'] = [
  { role: 'system', content: 'You are “brief”. \n' },
  { role: 'user', content: 'Hello' },
]

/** Resolves with the `ModelError` of a request that rejects. Rejects if the request resolves, or if it rejects with another error. */
export async function failureOf(generating: Promise<ModelResponse>): Promise<ModelError> {
  let response: ModelResponse
  try {
    response = await generating
  } catch (error) {
    if (isModelError(error)) return error
    throw new Error(`Expected \`generate\` to reject with a ModelError, got ${String(error)}`, { cause: error })
  }
  throw new Error(`Expected \`generate\` to reject, got the response ${JSON.stringify(response)}`)
}

function isModelError(value: unknown): value is ModelError {
  return ModelError.isInstance(value) && 'retryable' in value && 'provider' in value
}

/** Records everything that a sink receives, and the violations of its contract. */
export class SeenPieces {
  text = ''
  reasoning = ''
  readonly calls: { id: string; name: string; json: string }[] = []
  textPieces = 0
  /** Violations of the sink's contract, in words. Empty for a correct driver. */
  readonly breaches: string[] = []

  readonly sink: Required<Pick<ModelSink, 'text' | 'reasoning' | 'toolCallStart' | 'toolCallDelta'>> = {
    text: (delta) => {
      this.text += delta
      this.textPieces++
    },
    reasoning: (delta) => {
      this.reasoning += delta
    },
    toolCallStart: (index, id, name) => {
      if (index !== this.calls.length) this.breaches.push(`Expected toolCallStart for call ${this.calls.length}, got one for ${index}`)
      this.calls[index] = { id, name, json: '' }
    },
    toolCallDelta: (index, json) => {
      const call = this.calls[index]
      if (call === undefined) this.breaches.push(`Expected toolCallStart for call ${index} before its toolCallDelta`)
      else call.json += json
    },
  }
}

export function tool(name: string, properties: Record<string, unknown> = {}): ToolDefinition {
  return { type: 'function', function: { name, description: `Does ${name}.`, parameters: { type: 'object', properties } } }
}
