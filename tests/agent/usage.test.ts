import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { ToolAgent } from '../../src/agent/tool-agent.ts'
import { createAgentRunner } from '../../src/backends/index.ts'
import { ModelError } from '../../src/core/errors.ts'
import type { Usage } from '../../src/core/messages.ts'
import type { ChatModel, ModelResponse } from '../../src/models/chat-model.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const { logger } = recordingLogger()
const look = defineTool({ name: 'look', description: 'looks', execute: () => 'seen' })
const calls = (name: string, args = {}) => ({ toolCalls: [{ name, args }] })
const usage = (tokens: number) => ({ inputTokens: tokens - 10, outputTokens: 10 })

/** A model that reports `usage` as it is. */
function reporting(reported: unknown): ChatModel {
  const model = scriptedModel(() => calls('look'))
  const generate: ChatModel['generate'] = async (request, sink) => {
    const { usage: _, ...response } = await model.generate(request, sink)
    return { ...response, ...(reported === undefined ? {} : { usage: reported }) } as ModelResponse
  }
  return { provider: 'own', model: 'own', capabilities: model.capabilities, generate }
}

describe.each(['native', 'langchain'] as const)('the usage of a run: %s', (backend) => {
  it('the request for a last answer counts in the outer run too', async () => {
    const inner = await createAgentRunner({
      backend,
      model: scriptedModel([
        { ...calls('look'), usage: usage(120) },
        { text: 'So far.', usage: usage(120) },
      ]),
      tools: [look],
      maxIterations: 1,
      onLimit: 'answer',
      logger,
    })
    const tool = asTool(inner, { name: 'ask', description: 'asks' })
    const outer = await createAgentRunner({
      backend,
      model: scriptedModel(
        [calls('ask', { task: 'x' }), 'Never asked.'].map((turn) => (typeof turn === 'string' ? turn : { ...turn, usage: usage(20) })),
      ),
      tools: [tool],
      limits: { tokens: 250 },
      logger,
    })
    const result = await outer.run('go')
    expect(result).toMatchObject({ stopReason: 'budget', usage: { totalTokens: 260 } })
    expect(result.toolCalls[0]?.nested?.usage.totalTokens).toBe(240)
  })

  it.each<[string, unknown, number | undefined]>([
    ['without a sum', { inputTokens: 40, outputTokens: 10 }, 50],
    ['with numbers that are none', { inputTokens: Number.NaN, outputTokens: -5, totalTokens: 50 }, 50],
    ['of no tokens at all', { inputTokens: 'many' }, undefined],
    ['that is not there', undefined, undefined],
  ])('a usage %s: a token limit still applies', async (_what, reported, tokens) => {
    const runner = await createAgentRunner({
      backend,
      model: reporting(reported),
      tools: [look],
      maxIterations: 100,
      limits: { tokens: 120 },
      logger,
    })
    const { stopReason, usage: whole, steps } = await runner.run('go')
    expect(stopReason).toBe('budget')
    expect(Object.values(whole).every((count) => Number.isFinite(count) && count >= 0)).toBe(true)
    if (tokens !== undefined) expect(steps.map((step) => step.usage?.totalTokens)).toEqual([tokens, tokens, tokens])
    for (const { warnings } of steps) expect(warnings).toEqual(tokens === undefined ? [expect.stringContaining('reported no usage')] : [])
  })
})

it('a broken-off response counts by what it had reported, even without a total', async () => {
  const error = new ModelError('stream_cut', 'cut', {
    provider: 'own',
    retryable: false,
    partial: { text: 'half', usage: { inputTokens: 40, outputTokens: 10 } as Usage },
  })
  const { usage: whole } = await new AgentRunner({ model: scriptedModel([{ error }]), logger }).run('go')
  expect(whole.totalTokens).toBe(50)
})

describe('`ToolAgent.generate` uses the agent’s options', () => {
  const own = { temperature: 0.2, maxOutputTokens: 50, providerOptions: { user: 'u' }, streamIdleTimeoutMs: 1_000, stream: false as const }

  it('with its sampling, tool choice and provider options', async () => {
    const model = scriptedModel(['a'])
    const agent = new ToolAgent({ model, tools: [look], logger, ...own, toolChoice: 'required', parallelToolCalls: false })
    await agent.generate('go')
    expect(model.requests[0]).toMatchObject({ ...own, toolChoice: 'required', parallelToolCalls: false })
  })

  it('those of the call win; a tool choice that names a tool that is not sent is left out', async () => {
    const model = scriptedModel(['a'])
    const other = defineTool({ name: 'other', description: 'other', execute: () => '' })
    const toolChoice = { type: 'function' as const, function: { name: 'look' } }
    const agent = new ToolAgent({ model, tools: [look, other], activeTools: ['other'], logger, ...own, toolChoice })
    await agent.generate('go', { temperature: 1, providerOptions: { user: 'v' } })
    const [request] = model.requests
    expect(request).toMatchObject({ ...own, temperature: 1, providerOptions: { user: 'v' } })
    expect(request?.tools?.map(({ function: { name } }) => name)).toEqual(['other'])
    expect(request).not.toHaveProperty('toolChoice')
  })

  it('an invalid response rejects', async () => {
    const broken = { ...reporting(undefined), generate: async () => ({ text: 7 }) as never }
    await expect(new ToolAgent({ model: broken, logger }).generate('go')).rejects.toMatchObject({ code: 'bad_response' })
    const nothing = await new AgentRunner({ model: broken, logger }).run('go')
    expect(nothing.error).toMatchObject({ code: 'bad_response' })
  })
})
