import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { ToolloopError } from '../../../src/core/errors.ts'
import { findDialect, openTextToolParser } from '../../../src/dialects/index.ts'
import type { ChatModel, ModelSink } from '../../../src/models/chat-model.ts'
import { fallbackModel } from '../../../src/models/combined/fallback.ts'
import { createModel } from '../../../src/models/create-model.ts'
import { LLMPipeline } from '../../../src/pipeline/index.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Bad } from '../misbehave.ts'
import { endsWell, look, type Probe, quiet, settled, settles, turns, within } from './probe.ts'

const answering = (members: object): ChatModel => ({ ...scriptedModel(turns()), ...members })

/** Runs also reject if a model is not set up. */
const prepared = (bad: Bad): Promise<unknown> => endsWell(settles({ model: answering({ prepare: bad }) }))

const asked = (settings: object): Promise<unknown> =>
  settles({ model: createModel({ provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:1/v1', maxRetries: 0, ...settings }) })

/** A whole answer of the Chat Completions API. */
const answer = () =>
  Promise.resolve(Response.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }] }))

/** A direct call of a model. Its caller gets what the sink throws. */
const heard = (sink: ModelSink): Promise<unknown> =>
  settled(
    scriptedModel([{ reasoning: 'Hm.', text: 'Yes.', toolCalls: [{ name: 'look', args: { a: 1 } }] }]).generate({ messages: [] }, sink),
  )

const hermes = findDialect('hermes')
const called = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
/** A model without native calls that writes them in a dialect. */
const written = (members: object, text = called): Promise<unknown> =>
  settles({
    model: scriptedModel([text, 'Done.'], { capabilities: { nativeTools: false } }),
    toolCalling: { ...hermes, ...members } as never,
  })
const bareCall = (bad: Bad): Promise<unknown> =>
  settles({
    model: scriptedModel(['look(a=1)', 'Done.'], { capabilities: { nativeTools: false } }),
    toolCalling: { ...hermes, envelopes: [], bare: [{ starts: ['l'], read: bad }] } as never,
  })

/** A sink of the caller's own: the caller gets what it throws. */
const parsed = (members: object): Promise<unknown> =>
  settled(
    (async () => {
      const parser = openTextToolParser({ dialect: 'hermes' }, { text() {}, call() {}, reject() {}, ...members })
      parser.push(`Hm. ${called}</tool_call> <tool_call>{"name": 1}</tool_call>`)
      parser.end()
    })(),
  )

class Quiet extends LLMPipeline {}

/** Callbacks of models, dialects and pipelines. */
export const modelProbes: Record<string, Probe> = {
  'ChatModel.generate': (bad) => settles({ model: answering({ generate: bad }) }),
  'ChatModel.prepare': prepared,
  'ChatModel.forTurn': (bad) => settles({ model: answering({ forTurn: bad }) }),
  'ModelSettings.apiKey': (bad) => endsWell(asked({ apiKey: bad, fetch: answer })),
  'ModelSettings.fetch': (bad) => endsWell(asked({ apiKey: 'none', fetch: bad })),
  'RunnerOptions.fallbackOn': (bad) =>
    new AgentRunner({ models: [scriptedModel(['No.']), scriptedModel(['Yes.'])], fallbackOn: bad, logger: quiet }).run('go'),
  'ModelSink.text': (bad) => heard({ text: bad }),
  'ModelSink.reasoning': (bad) => heard({ reasoning: bad }),
  'ModelSink.toolCallStart': (bad) => heard({ toolCallStart: bad }),
  'ModelSink.toolCallDelta': (bad) => heard({ toolCallDelta: bad }),
  'ModelSink.queued': (bad) => {
    const model = createModel({
      provider: 'custom',
      model: 'm',
      baseURL: 'http://127.0.0.1:1/v1',
      apiKey: 'none',
      fetch: answer,
      rateLimits: { concurrency: 1 },
    } as never)
    const ask = () => model.generate({ messages: [{ role: 'user', content: 'x' }], stream: false }, { queued: bad })
    return settled(Promise.all([ask(), ask()]))
  },
  'ModelSink.readRefused': (bad) => {
    const refusal = { error: { message: 'Failed to call a function.', code: 'tool_use_failed', failed_generation: '<function=look>{}' } }
    const model = createModel({
      provider: 'groq',
      model: 'm',
      apiKey: 'none',
      maxRetries: 0,
      fetch: async () => Response.json(refusal, { status: 400 }),
    })
    return within(60, model.generate({ messages: [{ role: 'user', content: 'x' }], stream: false }, { readRefused: bad }))
  },
  'ModelSink.retry': (bad) => {
    const error = new ToolloopError('provider_error', 'no')
    return settled(fallbackModel([scriptedModel([{ error }]), scriptedModel(['Yes.'])]).generate({ messages: [] }, { retry: bad }))
  },
  'ModelSink.restart': (bad) => {
    const error = new ToolloopError('provider_error', 'no')
    return settled(
      fallbackModel([scriptedModel([{ text: 'N', error }]), scriptedModel(['Yes.'])]).generate({ messages: [] }, { restart: bad }),
    )
  },
  'Envelope.read': (bad) => written({ envelopes: [{ open: ['<tool_call>'], read: bad }] }),
  'BareForm.read': bareCall,
  'Dialect.prompt': (bad) => written({ prompt: bad }),
  'Dialect.renderCalls': (bad) => written({ renderCalls: bad }),
  'Dialect.renderResults': (bad) => written({ renderResults: bad }),
  'Dialect.nameTag': (bad) => written({ nameTag: bad }, '<look></look>'),
  'TextToolSink.text': (bad) => parsed({ text: bad }),
  'TextToolSink.call': (bad) => parsed({ call: bad }),
  'TextToolSink.reject': (bad) => parsed({ reject: bad }),
  'TextToolSink.skipped': (bad) => parsed({ skipped: bad }),
  'LLMPipeline.streamsByDefault': (bad) => {
    const pipeline = new Quiet({ model: scriptedModel(['Yes. And no.']), logger: quiet })
    Object.assign(pipeline, { streamsByDefault: bad })
    return settled(pipeline.generate('go'))
  },
  'AnthropicPipeline.streamsByDefault': (bad) => {
    const pipeline = new Quiet({ model: scriptedModel(['Yes. And no.']), logger: quiet, tools: [look] })
    Object.assign(pipeline, { streamsByDefault: bad })
    return settled(pipeline.generate('go'))
  },
  'createPipeline.on(listener)': (bad) => {
    const pipeline = new Quiet({ model: scriptedModel(['Yes. And no.']), logger: quiet })
    pipeline.on('LLM_SENTENCE', bad)
    return pipeline.generate('go')
  },
  'MockProviderOptions.script': (bad) => mocked({ script: bad }),
  'MockProviderOptions.faults': (bad) => mocked({ script: ['Yes.'], faults: bad }),
  'scriptedModel(turns)': (bad) => endsWell(settles({ model: scriptedModel(bad) })),
}

async function mocked(options: object): Promise<void> {
  const { startMockProvider } = await import('../../../src/testing/index.ts')
  const provider = await startMockProvider(options as never)
  await settled(asked({ apiKey: 'none', baseURL: provider.baseURL }))
  await provider.close()
}
