import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { ToolAgent } from '../../src/agent/tool-agent.ts'
import { Event } from '../../src/core/events.ts'
import { findDialect } from '../../src/dialects/index.ts'
import type { ModelResponse } from '../../src/models/chat-model.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import { modes, nativeModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { type Stage, stage } from './stage.ts'
import { call, countingTool } from './tools.ts'

type Declined = 'content_filter' | 'refusal'
const both: readonly Declined[] = ['content_filter', 'refusal']

function shownText({ runner }: Stage): () => string {
  let shown = ''
  runner.on(Event.TEXT_DELTA, ({ text }) => {
    shown += text
  })
  return () => shown
}

describe.each(modes)('declined responses: $name', (mode) => {
  const endings = findWire(mode.wire).traits.refusals ? both : both.slice(0, 1)

  it.each(endings)('H56 calls of a response that ended with `%s` never run, nor is approval requested for them', async (finishReason) => {
    for (const watched of [true, false]) {
      const pay = countingTool('pay')
      const look = countingTool('look')
      const reply = { text: 'I pay.', toolCalls: [call('look'), call('pay', { n: 5 })], finishReason }
      await using on = await stage(mode, [reply], { tools: [{ ...pay.tool, approval: true }, look.tool] })
      const shown = watched ? shownText(on) : () => 'I pay.'
      const result = await on.run()
      expect([...pay.calls, ...look.calls]).toEqual([])
      expect(result).toMatchObject({ stopReason: 'refused', error: { code: finishReason }, toolCalls: [], pending: [] })
      expect(result.steps).toMatchObject([{ finishReason, toolCalls: [] }])
      expect(result.steps[0]?.warnings.join()).toContain('2 tool call(s)')
      expect(result.output.trim()).toBe('I pay.')
      expect(shown().trim()).toBe('I pay.')
      expect(on.events.map(({ name }) => name)).toEqual([Event.RUN_START, Event.RUN_END])
      expect(on.provider.requests).toHaveLength(1)
    }
  })

  it('H56 calls of an earlier round keep their results', async () => {
    const look = countingTool('look')
    const [finishReason] = endings
    const script = [{ toolCalls: [call('look')] }, { toolCalls: [call('look')], finishReason: finishReason ?? 'content_filter' }]
    await using on = await stage(mode, script, { tools: [look.tool] })
    const result = await on.run()
    expect(look.calls).toHaveLength(1)
    expect(result).toMatchObject({ stopReason: 'refused', toolCalls: [{ outcome: 'ok' }] })
  })
})

describe.each(nativeModes)('declined responses: $name', (mode) => {
  const words = {
    'chat-completions': [
      'content_filtered',
      'guardrail_intervened',
      'SAFETY',
      'content_filter: PROHIBITED_CONTENT',
      'sensitive',
      'refusal',
    ],
    responses: ['content_filter', 'guardrail_intervened', 'SAFETY'],
    'anthropic-messages': ['refusal', 'content_filter', 'sensitive', 'content-filtered'],
    'gemini-generate-content': ['SAFETY', 'RECITATION', 'PROHIBITED_CONTENT', 'FINISH_REASON_SPII', 'content_filter', 'refusal'],
  }[mode.wire]

  it.each(words)('H56 H42 calls of a response that ended with the reason `%s` never run', async (rawFinishReason) => {
    const pay = countingTool('pay')
    await using on = await stage(mode, [{ toolCalls: [call('pay')], rawFinishReason }], { tools: [pay.tool] })
    expect(await on.run()).toMatchObject({ stopReason: 'refused' })
    expect(pay.calls).toEqual([])
  })

  it('H56 calls that are written as text next to native ones don’t run either', async () => {
    const pay = countingTool('pay')
    const tag = '<tool_action name="pay"><n value="5" /></tool_action>'
    const text = `I pay. ${tag} Done. <tool_call>{"name": "pay", "arguments": {"n": 5}}</tool_call>`
    const settings = { salvageTextCalls: true }
    await using on = await stage(mode, [{ text, finishReason: 'content_filter' }], { tools: [pay.tool], settings })
    const shown = shownText(on)
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'refused', error: { code: 'content_filter' }, toolCalls: [] })
    expect(result.output).toBe('I pay.  Done. ')
    expect(shown()).toBe(result.output)
    expect(pay.calls).toEqual([])
  })

  it.each(['tool-action', 'hermes', 'json'])('H56 calls in the dialect `%s` don’t run either', async (dialect) => {
    const pay = countingTool('pay')
    const text = findDialect(dialect).renderCalls([{ name: 'pay', arguments: { n: 5 } }])
    await using on = await mode.open([{ text, finishReason: 'content_filter' }], { settings: { dialect } })
    const result = await new AgentRunner({ model: on.model, ...on.options, tools: [pay.tool] }).run('go')
    expect(result).toMatchObject({ stopReason: 'refused', error: { code: 'content_filter' }, toolCalls: [], output: '' })
    expect(pay.calls).toEqual([])
  })
})

describe('declined responses of a custom model', () => {
  const { logger } = recordingLogger()
  const declined = (finishReason: Declined): ModelResponse => ({
    text: '',
    toolCalls: [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: '{}' } }],
    finishReason,
  })

  it.each(both)('H56 `%s`: neither the loop nor a single turn has the calls', async (finishReason) => {
    const pay = countingTool('pay')
    const model = { provider: 'own', model: 'm', capabilities: { nativeTools: true }, generate: async () => declined(finishReason) }
    const result = await new AgentRunner({ model, tools: [pay.tool], logger }).run('go')
    expect(result).toMatchObject({ stopReason: 'refused', error: { code: finishReason }, toolCalls: [] })
    expect(await new ToolAgent({ model, tools: [pay.tool] }).generate('go')).toMatchObject({ toolCalls: [], finishReason })
    expect(pay.calls).toEqual([])
  })

  it('H56 an `aroundModel` hook that answers for the model can’t make them run either', async () => {
    const pay = countingTool('pay')
    const model = { provider: 'own', model: 'm', capabilities: { nativeTools: true }, generate: async () => declined('refusal') }
    const hooks = [{ name: 'own', aroundModel: async () => declined('refusal') }]
    const result = await new AgentRunner({ model, tools: [pay.tool], hooks, logger }).run('go')
    expect(result).toMatchObject({ stopReason: 'refused', toolCalls: [] })
    expect(pay.calls).toEqual([])
  })
})
