import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { RunError } from '../../src/agent/run/run-error.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { ToolAgent } from '../../src/agent/tool-agent.ts'
import { createAgentRunner } from '../../src/backends/index.ts'
import { ModelError, ToolloopError } from '../../src/core/errors.ts'
import type { RunEvent } from '../../src/core/events.ts'
import { AIDriver } from '../../src/models/ai-driver.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { switchableModel } from '../../src/models/combined/switchable.ts'
import { createPipeline } from '../../src/pipeline/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'
import { StrictJournal } from './strict-journal.ts'

failOnUnhandledRejections()

const { logger } = recordingLogger()
const look = defineTool({ name: 'look', description: 'looks', execute: () => 'seen' })
const keyless = 'openai/gpt-5.2'
const missingKey = { code: 'missing_api_key', fault: 'programmer', message: expect.stringContaining('OPENAI_API_KEY') }
const down = (provider: string) =>
  scriptedModel(
    () => {
      throw new ModelError('provider_error', `${provider} is down`, { provider, retryable: false })
    },
    { provider },
  )

/** A model whose package is not installed. */
const unpacked: ChatModel = {
  ...scriptedModel([]),
  prepare: () => Promise.reject(new ToolloopError('missing_dependency', 'npm install it')),
}

beforeEach(() => {
  for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY']) vi.stubEnv(name, '')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

class Own extends CustomAgent {}

describe('a model that is not set up rejects before anything is sent', () => {
  it.each<[string, (model: ChatModel | string) => Promise<unknown>]>([
    ['AgentRunner.run', (model) => new AgentRunner({ model, logger }).run('go')],
    ['AgentRunner.stream', (model) => new AgentRunner({ model, logger }).stream('go').result],
    ['CustomAgent.run', (model) => new Own({ model, logger }).run('go')],
    ['ToolAgent.generate', (model) => new ToolAgent({ model, logger }).generate('go')],
    ['AIDriver.query', (model) => new AIDriver(model).query('go')],
    ['AIDriver.stream', (model) => new AIDriver(model).stream('go').result],
    ['LLMPipeline.generate', (model) => createPipeline({ model, logger }).generate('go')],
    ['a LangChain backend', async (model) => (await createAgentRunner({ backend: 'langchain', model, logger })).run('go')],
    ['a switchable model', (model) => new AgentRunner({ model: switchableModel(model), logger }).run('go')],
  ])('%s', async (_what, ask) => {
    await expect(ask(keyless)).rejects.toMatchObject(missingKey)
    await expect(ask('anthropic/claude-x')).rejects.toMatchObject({ code: 'missing_api_key' })
    await expect(ask('google/gemini-x')).rejects.toMatchObject({ code: 'missing_api_key' })
  })

  it('a package that is not installed; the events end with it, and none came before', async () => {
    const runner = new AgentRunner({ model: unpacked, logger })
    await expect(runner.run('go')).rejects.toMatchObject({ code: 'missing_dependency' })
    const stream = runner.stream('go')
    const events: RunEvent[] = []
    const watch = async () => {
      for await (const event of stream) events.push(event)
    }
    await expect(watch()).rejects.toMatchObject({ code: 'missing_dependency' })
    await expect(stream.result).rejects.toMatchObject({ code: 'missing_dependency' })
    expect(events).toEqual([])
  })

  it('a resumed run: its decisions are not carried out, and can be sent again', async () => {
    let ran = 0
    const pay = defineTool({ name: 'pay', description: 'pays', approval: true, execute: () => `paid ${++ran}` })
    const paused = await new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }]), tools: [pay], logger }).run('go')
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const resumed = new AgentRunner({ model: keyless, tools: [pay], logger }).resume(paused.state, { decisions })
    await expect(resumed).rejects.toMatchObject(missingKey)
    expect(ran).toBe(0)
    const mended = new AgentRunner({ model: scriptedModel(['Paid.']), tools: [pay], logger })
    expect(await mended.resume(paused.state, { decisions })).toMatchObject({ stopReason: 'answered', text: 'Paid.' })
  })

  it('under a journal, nothing of the run is recorded', async () => {
    const journal = new StrictJournal(Number.POSITIVE_INFINITY)
    const runner = new AgentRunner({ model: keyless, journal, logger })
    await expect(runner.run('go', { runId: 'r1' })).rejects.toMatchObject(missingKey)
    expect(journal.executions).toEqual([])
  })

  it('not if the run is over before', async () => {
    const result = await new AgentRunner({ model: keyless, logger }).run('go', { signal: AbortSignal.abort() })
    expect(result).toMatchObject({ stopReason: 'aborted' })
  })

  it('not if another model is asked: by a control, or by a hook', async () => {
    const runner = new AgentRunner({ model: keyless, logger })
    const control = new RunControl()
    control.useModel(scriptedModel(['Hello.']))
    expect(await runner.run('go', { control })).toMatchObject({ text: 'Hello.' })
    const hooks = [{ name: 'route', beforeModel: () => ({ model: scriptedModel(['Routed.']) }) }]
    expect(await runner.run('go', { hooks })).toMatchObject({ text: 'Routed.' })
  })
})

describe('one of several models', () => {
  it('the others answer instead, and each response has the reason', async () => {
    const runner = new AgentRunner({ models: [keyless, scriptedModel(['Hello.', 'Bye.'])], logger })
    const { text, steps } = await runner.run('go')
    expect(text).toBe('Hello.')
    expect(steps[0]?.warnings).toContainEqual(expect.stringContaining('OPENAI_API_KEY'))
  })

  it('rejects if none is set up', async () => {
    await expect(new AgentRunner({ models: [keyless, unpacked], logger }).run('go')).rejects.toMatchObject(missingKey)
    await expect(new AIDriver(fallbackModel([keyless, keyless])).query('go')).rejects.toMatchObject(missingKey)
  })

  it.each([
    ['before', [keyless, down('second')]],
    ['behind', [down('first'), keyless]],
  ])('%s one that fails: the run ends with its error', async (_where, models) => {
    const { stopReason, error } = await new AgentRunner({ models, logger }).run('go')
    expect(stopReason).toBe('model_error')
    expect(error).toMatchObject({ code: 'provider_error', message: expect.stringMatching(/is down.*OPENAI_API_KEY/s) })
  })
})

it('a model that turns out not to be set up during a run: a RunError with everything that happened', async () => {
  const control = new RunControl()
  const change = defineTool({ name: 'change', description: 'changes', execute: () => control.useModel(keyless) })
  const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'change' }] }]), tools: [change], logger })
  const error = await runner.run('go', { control }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RunError)
  expect(error).toMatchObject({ ...missingKey, result: { stopReason: 'model_error', toolCalls: [{ tool: 'change', outcome: 'ok' }] } })
})

describe('`throwOnError`', () => {
  const refusing = () => scriptedModel([{ text: 'No.', finishReason: 'refusal' }])
  it.each<[string, () => Promise<unknown>, object]>([
    [
      'a model that fails',
      () => new AgentRunner({ model: down('a'), logger, throwOnError: true }).run('go'),
      { stopReason: 'model_error' },
    ],
    ['a refusal', () => new AgentRunner({ model: refusing(), logger }).run('go', { throwOnError: true }), { stopReason: 'refused' }],
    ['of a stream', () => new AgentRunner({ model: refusing(), logger }).stream('go', { throwOnError: true }).result, { text: 'No.' }],
    ['of a CustomAgent', () => new Own({ model: refusing(), logger }).run('go', { throwOnError: true }), { text: 'No.' }],
    ['of a pipeline', () => createPipeline({ model: refusing(), logger }).generate('go', { throwOnError: true }), { text: 'No.' }],
    [
      'an abort',
      () => new AgentRunner({ model: scriptedModel([]), logger }).run('go', { throwOnError: true, signal: AbortSignal.abort() }),
      { stopReason: 'aborted' },
    ],
    [
      'a run under a journal',
      () =>
        new AgentRunner({ model: down('a'), logger, journal: new StrictJournal(Number.POSITIVE_INFINITY) }).run('go', {
          throwOnError: true,
        }),
      { stopReason: 'model_error' },
    ],
  ])('%s rejects with the result', async (_what, ask, result) => {
    const error = await ask().catch((thrown: unknown) => thrown)
    if (!(error instanceof RunError)) throw new Error('expected a RunError')
    expect(error.result).toMatchObject({ ...result, messages: [{ role: 'user', content: 'go' }, ...error.result.messages.slice(1)] })
    expect(error.cause).toBe(error.result.error)
    expect(error).toMatchObject({ code: error.result.error?.code, fault: error.result.error?.fault })
    // A log of the error does not hold the conversation.
    expect(JSON.stringify(error)).not.toContain('"messages"')
  })

  it('limits and answers are not errors', async () => {
    const endless = () => scriptedModel(() => ({ toolCalls: [{ name: 'look' }] }))
    const limited = await new AgentRunner({ model: endless(), tools: [look], maxIterations: 1, logger }).run('go', { throwOnError: true })
    expect(limited.stopReason).toBe('max_iterations')
    const answered = await new AgentRunner({ model: scriptedModel(['Hello.']), logger }).run('go', { throwOnError: true })
    expect(answered.text).toBe('Hello.')
    expect(() => new AgentRunner({ model: endless(), throwOnError: 'yes' as never })).toThrow('throwOnError')
  })

  it('is kept across a pause', async () => {
    const pay = defineTool({ name: 'pay', description: 'pays', approval: true, execute: () => 'paid' })
    const model = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, { text: 'No.', finishReason: 'refusal' }])
    const runner = new AgentRunner({ model, tools: [pay], logger })
    const paused = await runner.run('go', { throwOnError: true })
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    await expect(runner.resume(paused.state, { decisions })).rejects.toBeInstanceOf(RunError)
  })
})

it('a sub-agent that is not set up ends the outer run too, and no model is told about keys', async () => {
  vi.stubEnv('OPENAI_API_KEY', '')
  const inner = asTool(new AgentRunner({ model: 'openai/gpt-5.2', logger }), { name: 'research', description: 'Finds things out.' })
  const model = scriptedModel([{ toolCalls: [{ name: 'research', args: { task: 'x' } }] }, 'Never.'])
  const error = await new AgentRunner({ model, tools: [inner], logger }).run('go').catch((thrown: unknown) => thrown)
  if (!(error instanceof RunError)) throw new Error('expected a RunError')
  expect(error).toMatchObject({ code: 'missing_api_key', result: { toolCalls: [{ tool: 'research', outcome: 'cancelled' }] } })
  expect(model.requests).toHaveLength(1)
  expect(JSON.stringify(error.result.messages)).not.toContain('OPENAI_API_KEY')
})
