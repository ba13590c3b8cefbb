import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../src/agent/agent-runner.ts'
import { CustomAgent } from '../src/agent/custom-agent.ts'
import { handoff } from '../src/agent/sub-agents/handoff.ts'
import { asTool } from '../src/agent/sub-agents/sub-agent.ts'
import { ToolAgent } from '../src/agent/tool-agent.ts'
import type { RunnerOptions } from '../src/agent/types/options.ts'
import { createAgentRunner } from '../src/backends/index.ts'
import { InvalidOptionError } from '../src/core/errors.ts'
import { createLogger } from '../src/core/logger.ts'
import { createTextToolParser } from '../src/dialects/index.ts'
import { AIDriver } from '../src/models/ai-driver.ts'
import { fallbackModel } from '../src/models/combined/fallback.ts'
import { createModel } from '../src/models/create-model.ts'
import { AnthropicPipeline, createPipeline, LLMPipeline, type PipelineOptions, SentenceSplitter } from '../src/pipeline/index.ts'
import { createService } from '../src/service/index.ts'
import { scriptedModel, startMockProvider } from '../src/testing/index.ts'
import { builtinTools, fetchUrlTool } from '../src/tools/builtin/index.ts'
import { deferTools } from '../src/tools/deferred-tools.ts'
import { ToolDispatcher } from '../src/tools/dispatcher.ts'
import { connectMcpServers, serveMcp } from '../src/tools/mcp/index.ts'
import { openApiTools } from '../src/tools/openapi/index.ts'
import { ToolRegistry } from '../src/tools/registry.ts'
import { Skills, SkillsSandboxExecutor } from '../src/tools/skills/index.ts'
import { type AnyTool, BaseTool, defineTool } from '../src/tools/tool.ts'

const model = () => scriptedModel(['never'])
const runner = () => new AgentRunner({ model: model() })
const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })

/** Options as code without types may pass them. */
const loose = (fields: object): never => fields as never

class Plain extends CustomAgent {}

async function errorOf(act: () => unknown): Promise<unknown> {
  try {
    await act()
  } catch (error) {
    return error
  }
  return undefined
}

describe('a mistyped option is refused, and the error suggests the right name', () => {
  it.each<[string, () => unknown, string]>([
    [
      'AgentRunner',
      () => new AgentRunner(loose({ model: model(), maxIteration: 3 })),
      '`maxIteration` to be an option of `AgentRunner`; did you mean `maxIterations`?',
    ],
    [
      'its limits',
      () => new AgentRunner(loose({ model: model(), limits: { deadline: 5 } })),
      '`limits.deadline` to be an option of a run; did you mean `limits.deadlineMs`?',
    ],
    [
      'its compaction',
      () => new AgentRunner(loose({ model: model(), compaction: { maxToken: 5 } })),
      '`compaction.maxToken` to be an option of a run; did you mean `compaction.maxTokens`?',
    ],
    ['its sampling', () => new AgentRunner(loose({ model: model(), temprature: 0 })), 'did you mean `temperature`?'],
    [
      'its hooks',
      () => new AgentRunner({ model: model(), hooks: [{}, loose({ beforeTol: () => {} })] }),
      '`hooks[1].beforeTol` to be an option of a hook; did you mean `hooks[1].beforeTool`?',
    ],
    [
      'its guardrails',
      () => new AgentRunner({ model: model(), guardrails: [loose({ name: 'no', inputs: () => {} })] }),
      '`guardrails[0].inputs` to be an option of a guardrail; did you mean `guardrails[0].input`?',
    ],
    [
      'a hook of another library',
      () => new AgentRunner({ model: model(), hooks: [loose({ onTokenUsage: () => {} })] }),
      '`hooks[0].onTokenUsage` to be an option of a hook, which are name, onFailure, beforeModel, ',
    ],
    ['run', () => runner().run('go', loose({ maxIteration: 3 })), '`maxIteration` to be an option of a run; did you mean `maxIterations`?'],
    [
      'the limits of a run',
      () => runner().run('go', loose({ limits: { token: 5 } })),
      '`limits.token` to be an option of a run; did you mean `limits.tokens`?',
    ],
    ['the hooks of a run', () => runner().run('go', loose({ hooks: [{ aftertool: () => {} }] })), 'did you mean `hooks[0].afterTool`?'],
    ['stream', () => runner().stream('go', loose({ onTxt: () => {} })).result, '`onTxt` to be an option of a run; did you mean `onText`?'],
    [
      'resume',
      () => runner().resume(undefined, loose({ decision: [] })),
      '`decision` to be an option of `resume`; did you mean `decisions`?',
    ],
    [
      'resume, which takes no messages',
      () => runner().resume(undefined, loose({ messages: [] })),
      '`messages` to be an option of `resume`, which are ',
    ],
    [
      'resumeStream',
      () => runner().resumeStream(undefined, loose({ signl: null })).result,
      '`signl` to be an option of `resume`; did you mean `signal`?',
    ],
    ['createAgentRunner', () => createAgentRunner(loose({ model: model(), backed: 'langchain' })), 'did you mean `backend`?'],
    ['ToolAgent', () => new ToolAgent(loose({ model: model(), tool: [] })), '`tool` to be an option of `ToolAgent`; did you mean `tools`?'],
    [
      'generate',
      () => new ToolAgent({ model: model() }).generate('go', loose({ toolchoice: 'none' })),
      '`toolchoice` to be an option of `generate`; did you mean `toolChoice`?',
    ],
    ['a subclass of CustomAgent', () => new Plain(loose({ model: model(), maxIteration: 3 })), 'did you mean `maxIterations`?'],
    ['its run', () => new Plain({ model: model() }).run('go', loose({ maxIteration: 3 })), 'did you mean `maxIterations`?'],
    [
      'LLMPipeline',
      () => new LLMPipeline(loose({ model: model(), speakinterim: true })),
      '`speakinterim` to be an option of `LLMPipeline`; did you mean `speakInterim`?',
    ],
    [
      'AnthropicPipeline',
      () => new AnthropicPipeline(loose({ model: model(), voice: true })),
      '`voice` to be an option of `LLMPipeline`, which are ',
    ],
    ['createPipeline', () => createPipeline(loose({ model: model(), sentence: {} })), 'did you mean `sentences`?'],
    [
      'its generate',
      () => new LLMPipeline({ model: model() }).generate('go', loose({ pitch: 2 })),
      '`pitch` to be an option of `generate`, which are ',
    ],
    ['SentenceSplitter', () => new SentenceSplitter(loose({ language: ['en'] })), 'did you mean `languages`?'],
    [
      'createModel',
      () => createModel(loose({ provider: 'openai', model: 'm', apikey: 'sk-secret' })),
      '`apikey` to be an option of `createModel`; did you mean `apiKey`?',
    ],
    ['what createModel takes besides', () => createModel('demo', loose({ provider: {} })), 'did you mean `providers`?'],
    [
      'a provider of one’s own',
      () => createModel('mine/m', { providers: { mine: loose({ driver: 'openai', baseUrl: 'http://127.0.0.1:9' }) } }),
      '`providers.mine.baseUrl` to be an option of a provider; did you mean `providers.mine.baseURL`?',
    ],
    ['fallbackModel', () => fallbackModel([model()], loose({ cooldown: 5 })), 'did you mean `cooldownMs`?'],
    [
      'AIDriver.query',
      () => new AIDriver(model()).query('go', loose({ tool: [] })),
      '`tool` to be an option of a query; did you mean `tools`?',
    ],
    ['AIDriver.stream', () => new AIDriver(model()).stream('go', loose({ maxOutputToken: 5 })).result, 'did you mean `maxOutputTokens`?'],
    [
      'defineTool',
      () => defineTool(loose({ name: 't', descripton: 'd' })),
      '`descripton` to be an option of `defineTool`; did you mean `description`?',
    ],
    [
      'a tool that is a plain object',
      () => new ToolRegistry([loose({ name: 't', description: 'd', parameters: {}, aproval: true })]),
      '`t.aproval` to be an option of a tool; did you mean `t.approval`?',
    ],
    [
      'asTool',
      () => asTool(runner(), loose({ name: 'n', description: 'd', timeout: 5 })),
      '`timeout` to be an option of `asTool`; did you mean `timeoutMs`?',
    ],
    [
      'the options of its run',
      () => asTool(runner(), { name: 'n', description: 'd', options: loose({ limits: { tokn: 5 } }) }),
      '`options.limits.tokn` to be an option of a run; did you mean `options.limits.tokens`?',
    ],
    ['handoff', () => handoff(runner(), loose({ name: 'n', desription: 'd' })), 'did you mean `description`?'],
    ['deferTools', () => deferTools(new ToolRegistry(), loose({ mostfound: 5 })), 'did you mean `maxFound`?'],
    ['ToolDispatcher', () => new ToolDispatcher([], loose({ loger: null })), 'did you mean `logger`?'],
    [
      'its sources',
      () => new ToolDispatcher([loose({ kind: 'mcp', tool: [] })]),
      '`sources[0].tool` to be an option of a source; did you mean `sources[0].tools`?',
    ],
    ['createTextToolParser', () => createTextToolParser(loose({ dialct: 'hermes' })), 'did you mean `dialect`?'],
    ['createLogger', () => createLogger(loose({ levl: 'info' })), 'did you mean `level`?'],
    ['builtinTools', () => builtinTools(loose({ workSpaces: '.' })), 'did you mean `workspace`?'],
    ['fetchUrlTool', () => fetchUrlTool(loose({ allowPrivateAdresses: true })), 'did you mean `allowPrivateAddresses`?'],
    ['connectMcpServers', () => connectMcpServers({}, loose({ unknowntool: 'ask' })), 'did you mean `unknownTools`?'],
    [
      'an MCP server',
      () => connectMcpServers({ a: loose({ command: 'a', aproval: true }) }),
      '`servers.a.aproval` to be an option of an MCP server with a `command`; did you mean `servers.a.approval`?',
    ],
    [
      'serveMcp',
      () => serveMcp(new ToolRegistry(), loose({ input: new PassThrough(), concurrency: 1 })),
      '`concurrency` to be an option of `serveMcp`, which are ',
    ],
    ['openApiTools', () => openApiTools({}, loose({ aproval: true })), 'did you mean `approval`?'],
    ['Skills', () => new Skills(loose({ trusted: true })), 'did you mean `trust`?'],
    [
      'SkillsSandboxExecutor',
      () => new SkillsSandboxExecutor(loose({ limits: { memory: 5 } })),
      '`limits.memory` to be an option of `SkillsSandboxExecutor`, which are ',
    ],
    ['createService', () => createService(loose({ toekn: 'x' })), 'did you mean `token`?'],
    [
      'its agent',
      () => createService({ agent: loose({ maxIteration: 3 }) }),
      "`agent.maxIteration` to be an option of a service's agent; did you mean `agent.maxIterations`?",
    ],
    ['scriptedModel', () => scriptedModel([], loose({ capability: {} })), 'did you mean `capabilities`?'],
    ['startMockProvider', () => startMockProvider(loose({ scripts: [] })), 'did you mean `script`?'],
  ])('%s', async (_where, act, words) => {
    const error = await errorOf(act)
    expect(error).toBeInstanceOf(InvalidOptionError)
    expect(error).toMatchObject({ code: 'invalid_option', message: expect.stringContaining(words) })
    expect(String(error)).not.toContain('sk-secret')
  })

  it('a refused run sends nothing', async () => {
    const asked = model()
    await errorOf(() => new AgentRunner({ model: asked }).run('go', loose({ maxIteration: 3 })))
    expect(asked.requests).toEqual([])
  })
})

describe('an option with its name in another library is refused, and the error suggests its name here', () => {
  const inRunner = (name: string) => new AgentRunner(loose({ model: model(), [name]: {} }))
  const inRun = (name: string) => runner().run('go', loose({ [name]: {} }))
  const inLimits = (name: string) => new AgentRunner({ model: model(), limits: loose({ [name]: 1 }) })
  const inTool = (name: string) => defineTool(loose({ name: 't', description: 'd', [name]: {} }))
  const inHook = (name: string) => new AgentRunner({ model: model(), hooks: [loose({ [name]: () => {} })] })
  const inModel = (name: string) => createModel(loose({ provider: 'openai', model: 'm', [name]: {} }))

  it.each<[string, (name: string) => unknown, Record<string, string>]>([
    [
      'AI SDK',
      inRunner,
      {
        maxSteps: 'maxIterations',
        system: 'instructions',
        maxRetries: 'model: { provider, model, maxRetries }',
        prepareStep: 'hooks: [{ beforeModel }]',
        stopSequences: 'stop',
        onStepFinish: 'hooks: [{ afterModel }]',
        experimental_telemetry: 'telemetry',
        abortSignal: 'signal` of `run',
      },
    ],
    [
      'AI SDK',
      inRun,
      { abortSignal: 'signal', experimental_context: 'context', experimental_output: 'output', timeout: 'limits: { deadlineMs }' },
    ],
    ['AI SDK', inTool, { inputSchema: 'parameters', needsApproval: 'approval', toModelOutput: 'toContent' }],
    [
      'OpenAI Agents',
      inRunner,
      {
        handoffs: 'tools: [handoff(agent, { name, description })]',
        modelSettings: 'temperature, topP, …',
        mcpServers: 'tools: await connectMcpServers(…)',
        inputGuardrails: 'guardrails',
        outputType: 'output` of `run',
      },
    ],
    ['OpenAI Agents', inRun, { maxTurns: 'maxIterations', conversationId: 'session' }],
    [
      'LangChain',
      inRunner,
      {
        systemPrompt: 'instructions',
        prompt: 'instructions',
        llm: 'model',
        middleware: 'hooks',
        checkpointer: 'journal',
        verbose: 'logger',
        fallbacks: 'models: [model, fallback]',
        fallback: 'models: [model, fallback]',
      },
    ],
    [
      'LangChain',
      inRun,
      { recursionLimit: 'maxIterations', recursion_limit: 'maxIterations', configurable: 'context', callbacks: 'hooks' },
    ],
    ['LangChain', inTool, { args_schema: 'parameters', func: 'execute', returnDirect: 'final' }],
    ['LangChain', inHook, { wrapModelCall: 'hooks[0].aroundModel', wrapToolCall: 'hooks[0].aroundTool' }],
    ['LangChain', inModel, { modelName: 'model', defaultHeaders: 'headers' }],
    ['Mastra', inRunner, { memory: 'sessions', inputProcessors: 'guardrails' }],
    ['Mastra', inRun, { maxSteps: 'maxIterations', runtimeContext: 'context', structuredOutput: 'output', requireToolApproval: 'approve' }],
    ['Mastra', inTool, { requireApproval: 'approval' }],
    ['pi', inRunner, { systemPrompt: 'instructions', thinkingLevel: 'reasoningEffort', transformContext: 'hooks: [{ beforeModel }]' }],
    ['pi', inHook, { beforeToolCall: 'hooks[0].beforeTool', afterToolCall: 'hooks[0].afterTool' }],
    ['Strands', inRunner, { systemPrompt: 'instructions', conversationManager: 'compaction', structuredOutputSchema: 'output` of `run' }],
    ['Strands', inTool, { callback: 'execute' }],
    [
      'ADK',
      inRunner,
      { instruction: 'instructions', subAgents: 'tools: [asTool(agent, { name, description })]', outputSchema: 'output` of `run' },
    ],
    ['ADK', inRun, { maxLlmCalls: 'maxIterations' }],
    ['ADK', inHook, { beforeModelCallback: 'hooks[0].beforeModel', afterToolCallback: 'hooks[0].afterTool' }],
    ['Claude Agent SDK', inRunner, { allowedTools: 'activeTools', canUseTool: 'approve', maxBudgetUsd: 'limits: { costUsd }' }],
    ['Claude Agent SDK', inLimits, { maxBudgetUsd: 'limits.costUsd', maxToolCalls: 'limits.toolCalls', timeout: 'limits.deadlineMs' }],
    ['MCP SDK', inTool, { handler: 'execute' }],
    [
      'Chat Completions',
      inRun,
      { max_tokens: 'maxOutputTokens', max_completion_tokens: 'maxOutputTokens', response_format: 'output', functions: 'tools' },
    ],
    ['OpenAI SDK', inModel, { timeout: 'streamIdleTimeoutMs' }],
  ])('E4.5 %s, %o', async (_library, act, names) => {
    for (const [name, ours] of Object.entries(names)) {
      const error = await errorOf(() => act(name))
      expect(error).toMatchObject({
        code: 'invalid_option',
        message: expect.stringMatching(new RegExp(`\\b${name}\` to be .*; did you mean \``)),
      })
      expect(String(error)).toContain(`did you mean \`${ours}\``)
    }
  })

  it('E4.5 is refused even on a tool that is a plain object, because its approval would not be requested', async () => {
    const tool = { name: 't', description: 'd', parameters: {}, needsApproval: true, execute: () => 'ran' }
    expect(await errorOf(() => new ToolRegistry([tool]))).toMatchObject({ message: expect.stringContaining('did you mean `t.approval`?') })
    const foreign = { name: 't', description: 'd', inputSchema: {}, execute: () => 'ran' }
    expect(await errorOf(() => new ToolRegistry([loose(foreign)]))).toMatchObject({
      message: expect.stringContaining('did you mean `t.parameters`?'),
    })
  })

  it('E4.5 distinguishes an option of the runner from one of a run', async () => {
    expect(String(await errorOf(() => inRunner('signal')))).toContain('did you mean `signal` of `run`?')
    expect(String(await errorOf(() => inRun('journal')))).toContain('did you mean `journal` of the runner?')
    expect(String(await errorOf(() => runner().resume(undefined, loose({ sessions: {} }))))).toContain(
      'did you mean `sessions` of the runner?',
    )
  })

  it.each<[string, () => unknown, string]>([
    ['tools by their names', () => new AgentRunner({ model: model(), tools: loose({ look }) }), 'did you mean `Object.values(tools)`?'],
    ['one tool', () => new AgentRunner({ model: model(), tools: loose(look) }), 'did you mean `[tool]`?'],
    ['several conditions', () => new AgentRunner({ model: model(), stopWhen: loose([() => true]) }), 'did you mean `maxIterations`?'],
    ['a prompt among the options', () => runner().run(loose({ prompt: 'go' })), 'did you mean `run(prompt, options)`?'],
    ['messages among the options', () => runner().run(loose({ messages: [] })), 'did you mean `run(messages, options)`?'],
  ])('E4.5 %s', async (_what, act, words) => {
    expect(await errorOf(act)).toMatchObject({ code: 'invalid_option', message: expect.stringContaining(words) })
  })
})

describe('names that are accepted', () => {
  it('an undefined option counts as absent', async () => {
    const absent = { maxIteration: undefined }
    const one = new AgentRunner({ model: scriptedModel(['Hello.']), limits: loose({ deadline: undefined }), ...absent })
    expect((await one.run('go', loose(absent))).output).toBe('Hello.')
    expect(() => createModel(loose({ provider: 'demo', model: 'demo', apikey: undefined }))).not.toThrow()
    expect(() => defineTool(loose({ name: 't', description: 'd', descripton: undefined }))).not.toThrow()
  })

  it('fields for the provider and names of variables and headers may be anything', async () => {
    const providerOptions = { temprature: 1, anything: { goes: true } }
    const asked = scriptedModel(['Hello.'])
    await new AgentRunner({ model: asked }).run('go', { providerOptions })
    expect(asked.requests[0]?.providerOptions).toEqual(providerOptions)
    expect(() => createModel({ provider: 'openai', model: 'm', headers: { modle: 'x' }, providerOptions, quirks: {} })).not.toThrow()
  })

  it('a tool may be defined from another, and custom objects may have more fields', () => {
    expect(defineTool({ ...look, name: 'look_again' }).name).toBe('look_again')
    expect(new ToolRegistry([{ ...look, tags: ['eyes'] } as AnyTool]).size).toBe(1)
    class Timed extends BaseTool {
      readonly name = 'timed'
      readonly description = ''
      readonly parameters = {}
      readonly timeout = 5
      override execute() {
        return this.timeout
      }
    }
    expect(new ToolRegistry([new Timed()]).size).toBe(1)
  })

  it('hooks and guardrails may have state, and those of a class further methods', () => {
    class Counting {
      readonly name = 'counting'
      calls = 0
      results: string[] = []
      call() {
        this.count()
        return undefined
      }
      count() {
        this.calls++
      }
    }
    expect(
      () => new AgentRunner({ model: model(), guardrails: [new Counting()], hooks: [loose({ seen: 0, beforeTool() {} })] }),
    ).not.toThrow()
    class Mistyped {
      readonly name = 'mistyped'
      imput() {}
    }
    expect(() => new AgentRunner({ model: model(), guardrails: [new Mistyped()] })).toThrow('did you mean `guardrails[0].input`?')
  })

  it('a subclass may have its own options, and receives them', async () => {
    interface ShopOptions extends RunnerOptions {
      shelves: string[]
    }
    class Shop extends CustomAgent {
      readonly shelves: string[]
      constructor(options: ShopOptions) {
        super(options)
        this.shelves = (this.options as ShopOptions).shelves
      }
    }
    const shop = new Shop({ model: scriptedModel(['Hello.']), shelves: ['a'] })
    expect(shop.shelves).toEqual(['a'])
    expect((await shop.run('go')).output).toBe('Hello.')
    class Voice extends LLMPipeline {
      readonly pitch: number
      constructor(options: PipelineOptions & { pitch: number }) {
        super(options)
        this.pitch = options.pitch
      }
    }
    const voice = new Voice({ model: scriptedModel(['Hello.']), pitch: 2 })
    expect([voice.pitch, (await voice.generate('go')).output]).toEqual([2, 'Hello.'])
  })
})
