import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { createModel } from '../../src/models/create-model.ts'
import { findPreset, providerNames } from '../../src/models/presets.ts'
import type { MockProvider } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { startServer } from './local-server.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

/** The address of the mock for each driver. */
const addresses: Record<string, (server: MockProvider) => string> = {
  openai: ({ baseURL }) => baseURL,
  'openai-responses': ({ baseURL }) => baseURL,
  anthropic: ({ url }) => url,
  google: ({ url }) => url,
}

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }: JsonObject) => Number(a) + Number(b),
})

describe('every provider of config/providers.yaml', () => {
  const providers = providerNames().filter((name) => findPreset(name).driver !== 'demo')

  it.each(providers.flatMap((name) => [[name, true] as const, [name, false] as const]))(
    'S4-16 S4-17 S4-18 %s runs the tool loop when tools are bound (streaming: %s)',
    async (provider, stream) => {
      const address = addresses[findPreset(provider).driver]
      if (address === undefined) throw new Error(`No address for the driver of ${provider}`)
      await using server = await startStrictProvider({
        script: [{ text: 'I add. ', toolCalls: [{ id: 'call_1', name: 'add', arguments: { a: 2, b: 3 } }] }, 'It is 5.'],
      })
      const model = createModel({ provider, model: 'some-model', apiKey: 'sk-ant-test-key', baseURL: address(server), maxRetries: 0 })
      const result = await new AgentRunner({ model, tools: [add], stream }).run('2 + 3?')
      expect(result.error).toBeUndefined()
      expect(result).toMatchObject({ stopReason: 'answered', output: 'It is 5.', iterations: 2 })
      expect(result.messages).toMatchObject([
        { role: 'user', content: '2 + 3?' },
        { role: 'assistant', content: 'I add. ', toolCalls: [{ function: { name: 'add' } }] },
        { role: 'tool', content: '5' },
        { role: 'assistant', content: 'It is 5.' },
      ])
    },
  )
})

describe('a model that was asked before', () => {
  it.each(Object.keys(addresses))('%s: sends each request to the same address and with the same headers as a new one', async (provider) => {
    await using server = await startServer((response) => response.writeHead(400).end())
    const make = () =>
      createModel({ provider, model: 'm', apiKey: 'sk-ant-test-key', baseURL: server.baseURL, headers: { 'x-own': '1' }, maxRetries: 0 })
    const known = make()
    for (const stream of [true, false, true, false]) {
      for (const model of [known, make()]) {
        await model.generate({ messages: [{ role: 'user', content: `${server.requests.length >> 1}` }], stream }).catch(() => {})
      }
    }
    expect(server.requests).toHaveLength(8)
    const told = server.requests.map(({ url, headers, text }) => ({ url, headers, text }))
    const byNew = told.filter((_, at) => at % 2 === 1)
    expect(told.filter((_, at) => at % 2 === 0)).toEqual(byNew)
    expect(new Set(byNew.map(({ text }) => text)).size).toBe(4)
  })
})
