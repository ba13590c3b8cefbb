import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunError } from '../../src/agent/run/run-error.ts'
import type { RunStream } from '../../src/agent/runner/run-stream.ts'
import type { RunOptions } from '../../src/agent/types/options.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { toAgUiResponse } from '../../src/ui/ag-ui/ag-ui-response.ts'
import { toUIMessageResponse } from '../../src/ui/message-stream/ui-message-response.ts'
import { nativeModes } from './modes.ts'
import { stage } from './stage.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** The three ways to iterate a run. */
const ways = {
  events: (stream: RunStream<unknown, unknown, unknown>): AsyncIterable<unknown> => stream,
  text: (stream: RunStream<unknown, unknown, unknown>): AsyncIterable<unknown> => stream.text,
  partialOutput: (stream: RunStream<unknown, unknown, unknown>): AsyncIterable<unknown> => stream.partialOutput,
}
const wayNames = Object.keys(ways) as (keyof typeof ways)[]

/** What an iteration yielded, and what it threw at the end. */
async function readToEnd(items: AsyncIterable<unknown>): Promise<{ items: unknown[]; thrown?: unknown }> {
  const taken: unknown[] = []
  try {
    for await (const item of items) taken.push(item)
  } catch (thrown) {
    return { items: taken, thrown }
  }
  return { items: taken }
}

failOnUnhandledRejections()

describe.each(nativeModes)('a stream of a run that failed: $name', (mode) => {
  it('P3.9 H57 a refused key: text, partial output and events throw the RunError at the end', async () => {
    for (const way of wayNames) {
      await using on = await stage(mode, ['never'], { faults: [{ status: 401 }], settings: { maxRetries: 0 } })
      const stream = on.runner.stream('go', { output: schema })
      const { items, thrown } = await readToEnd(ways[way](stream))
      const result = await stream.result
      expect(result.stopReason, way).toBe('model_error')
      expect(thrown, way).toBeInstanceOf(RunError)
      expect(thrown, way).toMatchObject({ code: 'unauthorized', result: { runId: result.runId }, cause: result.error })
      expect(items.at(-1), way).toEqual(
        way === 'events' ? expect.objectContaining({ type: 'RUN_END', stopReason: 'model_error' }) : undefined,
      )
    }
  })

  it('P3.9 H57 a filtered answer: the text that arrived, then the RunError', async () => {
    await using on = await stage(mode, [{ text: 'I can', finishReason: 'content_filter' }])
    const stream = on.runner.stream('go')
    const { items, thrown } = await readToEnd(stream.text)
    const { stopReason } = await stream.result
    expect(stopReason).toBe('refused')
    expect(items.join('')).toBe('I can')
    expect(thrown).toBeInstanceOf(RunError)
    expect(thrown).toMatchObject({ result: { stopReason: 'refused' } })
  })
})

describe('a stream of a run that did not end well', () => {
  const hanging = () => new AgentRunner({ model: scriptedModel([{ text: 'Once', hang: true }]), logger: quiet })

  it('P3.9 H57 only throws for model_error, refused and aborted', async () => {
    const look = { toolCalls: [{ name: 'nothing' }] }
    const endings: [string, ConstructorParameters<typeof AgentRunner>[0], RunOptions][] = [
      ['answered', { model: scriptedModel(['Yes.']) }, {}],
      ['max_iterations', { model: scriptedModel([look, look]) }, { maxIterations: 1 }],
      ['deadline', { model: scriptedModel([{ hang: true }]) }, { limits: { deadlineMs: 5 } }],
      ['budget', { model: scriptedModel([{ ...look, usage: { inputTokens: 50, outputTokens: 1 } }, 'x']) }, { limits: { tokens: 10 } }],
    ]
    for (const [stopReason, options, given] of endings) {
      const stream = new AgentRunner({ ...options, logger: quiet }).stream('go', given)
      const { thrown } = await readToEnd(stream.text)
      expect((await stream.result).stopReason).toBe(stopReason)
      expect(thrown, stopReason).toBeUndefined()
    }
  })

  it.each(wayNames)('P3.9 H57 aborted by the caller’s own signal: %s ends without an error', async (way) => {
    for (const isEarly of [true, false]) {
      const controller = new AbortController()
      const reason = new Error('the user pressed stop')
      if (isEarly) controller.abort(reason)
      const stream = hanging().stream('go', { output: schema, signal: controller.signal, onText: () => controller.abort(reason) })
      const { thrown } = await readToEnd(ways[way](stream))
      expect(thrown).toBeUndefined()
      expect(await stream.result).toMatchObject({ stopReason: 'aborted', error: { cause: reason } })
    }
  })

  it.each(wayNames)('P3.9 H57 aborted because the runner was closed: %s throws', async (way) => {
    const runner = hanging()
    const { signal } = new AbortController()
    const stream = runner.stream('go', { output: schema, signal, onText: () => void runner.close({ drainMs: 0 }) })
    const { thrown } = await readToEnd(ways[way](stream))
    expect(thrown).toBeInstanceOf(RunError)
    expect(thrown).toMatchObject({ code: 'aborted', result: { stopReason: 'aborted' } })
  })

  it('P3.9 H57 throws nothing to a consumer that leaves', async () => {
    const stream = hanging().stream('go')
    const taken: string[] = []
    for await (const piece of stream.text) {
      taken.push(piece)
      break
    }
    expect(taken).toEqual(['Once'])
    expect(await stream.result).toMatchObject({ stopReason: 'aborted' })
  })

  it('P3.9 H57 throws once even if it is read after its run has ended', async () => {
    const stream = new AgentRunner({ model: scriptedModel([]), logger: quiet }).stream('go')
    await stream.result
    const iterator = stream.text[Symbol.asyncIterator]()
    await expect(iterator.next()).rejects.toBeInstanceOf(RunError)
    expect(await iterator.next()).toEqual({ value: undefined, done: true })
  })

  it('P3.9 H57 breaks off a response made of the text instead of ending it', async () => {
    const stream = new AgentRunner({ model: scriptedModel([]), logger: quiet }).stream('go')
    const body = ReadableStream.from(stream.text).pipeThrough(new TextEncoderStream())
    await expect(new Response(body).text()).rejects.toBeInstanceOf(RunError)
  })

  it('P3.9 H57 reports the error in every response format', async () => {
    const failing = () => new AgentRunner({ model: scriptedModel([]), logger: quiet }).stream('go')
    const input = { threadId: 't', runId: 'r', messages: [], tools: [] } as never
    expect(await failing().toResponse().text()).toMatch(
      /event: RESULT\ndata: .*"stopReason":"model_error".*"error":\{"code":"provider_error"/,
    )
    expect(await toUIMessageResponse(failing()).text()).toContain('"type":"error"')
    expect(await toAgUiResponse(failing(), { input }).text()).toMatch(/"type":"RUN_ERROR".*"code":"provider_error"/)
  })
})
