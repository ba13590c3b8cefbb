import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { findBaseURL, findPreset } from '../../src/models/presets.ts'
import { send } from './one-request.ts'

const look = { type: 'function' as const, function: { name: 'look', parameters: { type: 'object', properties: {} } } }
const ask = (request: Partial<ModelRequest>, model = 'qwen-plus') => send(request, { provider: 'dashscope', model })

describe('DashScope', () => {
  it('S4-16 is asked at its compatible address, with its own key', () => {
    const preset = findPreset('dashscope')
    expect(preset.apiKeyEnv).toBe('DASHSCOPE_API_KEY')
    expect(findBaseURL({ provider: 'dashscope', model: 'qwen-plus' }, preset)).toBe('https://dashscope.aliyuncs.com/compatible-mode/v1')
  })

  it('Q17 is always asked for a stream, with usage, because most models can only think in one', async () => {
    for (const stream of [true, false]) {
      const { body, response } = await ask({ stream })
      expect(body).toMatchObject({ stream: true, stream_options: { include_usage: true } })
      expect(response.text).toBe('ok')
    }
  })

  it('Q17 has its own fields to turn thinking on and off', async () => {
    expect((await ask({})).body).not.toHaveProperty('enable_thinking')
    expect((await ask({ reasoningEffort: 'none' })).body).toMatchObject({ enable_thinking: false })
    expect((await ask({ reasoningEffort: 'low' })).body).toMatchObject({ enable_thinking: true, thinking_budget: 4096 })
    const { body } = await ask({ reasoningEffort: 'high' })
    expect(body).toMatchObject({ enable_thinking: true })
    expect(body).not.toHaveProperty('thinking_budget')
    expect(body).not.toHaveProperty('reasoning_effort')
  })

  it('Q17 is not asked to change thinking in models that always or never think', async () => {
    for (const model of ['qwq-plus', 'qwen3-235b-a22b-thinking-2507']) {
      const always = await ask({ reasoningEffort: 'high' }, model)
      expect(always.body).not.toHaveProperty('enable_thinking')
      expect(always.response).not.toHaveProperty('warnings')
      expect((await ask({ reasoningEffort: 'none' }, model)).response.warnings).toEqual([expect.stringContaining("'none'")])
    }
    const never = await ask({ reasoningEffort: 'high' }, 'qwen3-coder-plus')
    expect(never.body).not.toHaveProperty('enable_thinking')
    expect(never.response.warnings).toEqual([expect.stringContaining('reasoningEffort')])
  })

  it('Q17 is only sent a forced choice if nothing thinks', async () => {
    const forced = { tools: [look], toolChoice: 'required' as const }
    expect((await ask({ ...forced, reasoningEffort: 'none' })).body.tool_choice).toBe('required')
    expect((await ask(forced, 'qwen2.5-72b-instruct')).body.tool_choice).toBe('required')
    const { body, response } = await ask(forced)
    expect(body).not.toHaveProperty('tool_choice')
    expect(response.warnings).toEqual([expect.stringContaining('"required"')])
  })
})
