import { ModelError } from '../../core/errors.ts'
import type { ChatModel, ModelRequest, ModelResponse, ModelSink } from '../../models/chat-model.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import type { MockWire } from '../mock/wires/wire.ts'
import { type MockProvider, type MockProviderOptions, startMockProvider } from '../mock-provider.ts'

/** What a contract suite needs of a test runner's `expect`: identity, and deep equality of plain data. Both throw when it doesn't hold. */
export type Expect = (actual: unknown) => { toBe(expected: unknown): unknown; toEqual(expected: unknown): unknown }

/** What a test case asks the model under test to be made with. */
export interface ModelTestSettings {
  /** How often a failed request has to be made again. */
  maxRetries: number
}

/** Makes the model under test, speaking to `server` (`server.url`, or `server.baseURL` for OpenAI's wire). May throw: the case then fails. */
export type CreateModel = (server: MockProvider, settings: ModelTestSettings) => ChatModel | Promise<ChatModel>

/** One promise of the model contract, as a test. */
export interface ModelCase {
  /** Says the promise. */
  name: string
  /** Rejects when the model doesn't keep it. */
  run(kit: ModelKit): Promise<void>
}

/** What the cases work with: servers that are closed when the case is over, and models that speak to them. */
export interface ModelKit {
  expect: Expect
  wire: MockWire
  start(options: MockProviderOptions): Promise<MockProvider>
  /** Default: `maxRetries` 0, so that a failure is seen as it is. */
  connect(server: MockProvider, settings?: Partial<ModelTestSettings>): Promise<ChatModel>
  /** Starts a server, makes one request, and gives back everything there was to see. */
  ask(options: MockProviderOptions, request?: Partial<ModelRequest>, settings?: Partial<ModelTestSettings>): Promise<Answered>
  /** The same for a request that has to fail. */
  fail(options: MockProviderOptions, request?: Partial<ModelRequest>, settings?: Partial<ModelTestSettings>): Promise<Failed>
}

interface Answered {
  server: MockProvider
  response: ModelResponse
  seen: SeenPieces
}

interface Failed {
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
    // In an object: it is not to be awaited here.
    return { server, seen, generating: model.generate({ messages: greeting, ...request }, seen.sink) }
  }
  try {
    await body(kit)
  } finally {
    await Promise.all(servers.map((server) => server.close()))
  }
}

/** The conversation of a request that is about something else. */
export const greeting: ModelRequest['messages'] = [
  { role: 'system', content: 'You are “brief”. \n' },
  { role: 'user', content: 'Hello' },
]

/** The `ModelError` a request rejects with. Rejects when it resolves, or rejects with anything else. */
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

/** What came through a sink, and what of it the contract forbids. */
export class SeenPieces {
  text = ''
  reasoning = ''
  readonly calls: { id: string; name: string; json: string }[] = []
  /** Number of text pieces. */
  textPieces = 0
  /** Breaches of the sink's contract, in words; empty for a good driver. */
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
