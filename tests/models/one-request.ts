import { ModelError } from '../../src/core/errors.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import type { ModelRequest, ModelResponse, ModelSink } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { eventStream, type Received, startServer, textEvents } from './local-server.ts'

export const hello: ChatMessage[] = [{ role: 'user', content: 'Hello' }]
export const secret = 'sk-abcdefghijklmnopqrstuv'

/** The error of one request without retries. */
export async function failure(
  baseURL: string,
  request: Partial<ModelRequest> = {},
  settings: Partial<ModelSettings> = {},
  sink?: ModelSink,
): Promise<ModelError> {
  const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: secret, baseURL, maxRetries: 0, ...settings })
  const outcome = await model.generate({ messages: hello, ...request }, sink).then(
    (response) => new Error(`expected a rejection, got ${JSON.stringify(response)}`),
    (error: unknown) => error,
  )
  if (!(outcome instanceof ModelError)) throw outcome
  return outcome
}

/** Sends one request and returns what arrived at the provider. */
export async function send(
  request: Partial<ModelRequest>,
  settings: Partial<ModelSettings> = {},
): Promise<{ sent: Received; body: JsonObject; response: ModelResponse }> {
  await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
  const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'test-key', baseURL: server.baseURL, ...settings })
  const response = await model.generate({ messages: hello, ...request })
  const [sent] = server.requests
  if (sent === undefined || server.requests.length > 1) throw new Error(`expected one request, got ${server.requests.length}`)
  return { sent, body: sent.body, response }
}
