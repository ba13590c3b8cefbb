import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { ModelError } from '../../src/core/errors.ts'
import type { ChatModel, ModelRequest, ModelResponse, ModelSink } from '../../src/models/chat-model.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { withRetry } from '../../src/models/middleware/retry.ts'
import { recordingLogger } from './recording-logger.ts'

type Generate = (request: ModelRequest, sink?: ModelSink) => Promise<ModelResponse>

function modelOf(...tries: Generate[]): ChatModel {
  let at = 0
  const generate: Generate = (request, sink) => (tries[at++] ?? (() => Promise.reject(new Error('no more tries'))))(request, sink)
  return { provider: 'test', model: 'broken', capabilities: { nativeTools: true }, generate }
}

const usage = { inputTokens: 10, outputTokens: 0, totalTokens: 10 }
const failure = (fields: object = {}) => new ModelError('provider_error', 'no', { provider: 'test', retryable: true, ...fields })
/** Fails immediately, and reports its usage. */
const costly: Generate = () => Promise.reject(failure({ partial: { text: '', usage } }))
/** Sends some text, and breaks off with an error that does not report usage. */
const broken =
  (error: unknown): Generate =>
  async (_request, sink) => {
    sink?.text?.('Hello wor')
    throw error
  }

const models: [string, () => ChatModel][] = [
  ['a fallback', () => fallbackModel([modelOf(costly), modelOf(broken(new Error('gone')))])],
  ['a retry', () => withRetry(modelOf(costly, broken(failure({ retryable: false }))), { firstDelayMs: 0 })],
]

describe('a response that breaks off after a failed attempt with usage', () => {
  it.each(models)('H40 of %s: its text and its usage are kept, with and without a listener', async (_what, model) => {
    for (const onText of [undefined, () => {}]) {
      const runner = new AgentRunner({ model: model(), logger: recordingLogger().logger })
      const result = await runner.run('go', onText === undefined ? {} : { onText })
      expect(result).toMatchObject({ stopReason: 'model_error', output: 'Hello wor', usage: { totalTokens: 10 } })
      expect(result.messages.at(-1)).toEqual({ role: 'assistant', content: 'Hello wor' })
    }
  })

  it('H8 H30 an abort before the next attempt: the usage of the failed one counts', async () => {
    const controller = new AbortController()
    const first: Generate = async () => {
      setImmediate(() => controller.abort())
      throw failure({ partial: { text: '', usage } })
    }
    const runner = new AgentRunner({ model: withRetry(modelOf(first), { firstDelayMs: 60_000 }), logger: recordingLogger().logger })
    expect(await runner.run('go', { signal: controller.signal })).toMatchObject({ stopReason: 'aborted', usage: { totalTokens: 10 } })
  })
})
