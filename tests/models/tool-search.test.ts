import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { isJsonObject, type JsonObject } from '../../src/core/messages.ts'
import { anthropicQuirks } from '../../src/models/anthropic/quirks.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { createModel } from '../../src/models/create-model.ts'
import { responsesQuirks } from '../../src/models/openai-responses/quirks.ts'
import { findPreset, presetQuirks } from '../../src/models/presets.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockProvider, MockReply, MockScriptRequest } from '../../src/testing/index.ts'
import { type DeferOptions, deferTools } from '../../src/tools/deferred-tools.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const customer = { type: 'object', properties: { customer: { type: 'string' } }, required: ['customer'] }
const clock = defineTool({ name: 'clock', description: 'The time.', execute: () => '12:00' })
const invoice = (options: { approval?: boolean } = {}) =>
  defineTool({
    name: 'create_invoice',
    description: 'Writes an invoice.',
    parameters: customer,
    ...options,
    execute: ({ customer: to }) => `invoice to ${String(to)}`,
  })
const others = Array.from({ length: 30 }, (_, at) => defineTool({ name: `other_${at}`, description: `Does ${at}.`, execute: () => at }))
const registry = (...tools: ReturnType<typeof invoice>[]) => new ToolRegistry([clock, ...others, ...(tools.length ? tools : [invoice()])])
const deferred = (options: DeferOptions = {}) => deferTools(registry(), { keep: ['clock'], ...options })

/** How a provider reports its search and the call, and what must be sent back. */
interface Wire {
  name: string
  settings: Partial<ModelSettings>
  /** The blocks or items of the search and the call. */
  found: (name: string) => JsonObject[]
  reply: (found: JsonObject[], request: MockScriptRequest) => MockReply
  /** The conversation in a request, flattened. */
  conversation: (body: JsonObject) => JsonObject[]
  baseURL: (server: MockProvider) => string
}

const listOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])

const anthropic: Wire = {
  name: 'anthropic',
  settings: { provider: 'anthropic', model: 'claude-opus-5', apiKey: 'sk-ant-test' },
  found: (name): JsonObject[] => [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_bm25', input: { query: 'invoice' } },
    {
      type: 'tool_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'tool_search_tool_search_result', tool_references: [{ type: 'tool_reference', tool_name: name }] },
    },
    { type: 'tool_use', id: 'toolu_1', name, input: { customer: 'Ada' } },
  ],
  reply: (content, { body }): MockReply => {
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-5',
      usage: { input_tokens: 9, output_tokens: 9 },
    }
    if (body.stream !== true) return { body: { ...message, content, stop_reason: 'tool_use' } }
    const blocks = content.flatMap((block, index): JsonObject[] => {
      const isUse = block.type !== 'tool_search_tool_result'
      const json = JSON.stringify(block.input)
      return [
        { type: 'content_block_start', index, content_block: isUse ? { ...block, input: {} } : block },
        ...(isUse ? [json.slice(0, 5), json.slice(5)] : []).map((piece) => ({
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json: piece },
        })),
        { type: 'content_block_stop', index },
      ]
    })
    return {
      events: [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        ...blocks,
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
        { type: 'message_stop' },
      ],
    }
  },
  conversation: ({ messages }) => listOf(messages).flatMap(({ content }) => listOf(content)),
  baseURL: ({ url }) => url,
}

const responses: Wire = {
  name: 'openai-responses',
  settings: { provider: 'openai-responses', model: 'gpt-5.4', apiKey: 'sk-test' },
  found: (name): JsonObject[] => [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' },
    { type: 'tool_search_call', id: 'tsc_1', call_id: null, execution: 'server', status: 'completed', arguments: { paths: [name] } },
    {
      type: 'tool_search_output',
      id: 'tso_1',
      call_id: null,
      execution: 'server',
      status: 'completed',
      tools: [{ type: 'function', name, description: 'Writes an invoice.', parameters: customer, strict: false, defer_loading: true }],
    },
    {
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      name,
      namespace: name,
      arguments: '{"customer":"Ada"}',
      status: 'completed',
    },
  ],
  reply: (output, { body }): MockReply => {
    const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'gpt-5.4', output, store: false }
    if (body.stream !== true) return { body: response }
    const items = output.flatMap((item, output_index): JsonObject[] => [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, status: 'in_progress', ...(item.arguments ? { arguments: '' } : {}) },
      },
      { type: 'response.output_item.done', output_index, item },
    ])
    return {
      events: [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        ...items,
        { type: 'response.completed', response },
      ],
    }
  },
  conversation: ({ input }) => listOf(input),
  baseURL: ({ baseURL }) => baseURL,
}

const modelOn = (
  wire: Wire,
  server: MockProvider,
  quirks: JsonObject = { toolSearch: true },
  more: Partial<ModelSettings> = {},
): ChatModel => createModel({ provider: '', model: '', ...wire.settings, baseURL: wire.baseURL(server), maxRetries: 0, quirks, ...more })
const toolsOf = (server: MockProvider, at: number) => listOf(server.requests[at]?.body.tools)
const isSearch = ({ type }: JsonObject) => String(type).includes('tool_search') || type === 'server_tool_use'
const names = (tools: JsonObject[]) => tools.map(({ name }) => name)

/** Answers the first request with a search and a call, the others with text. */
const findsThenSays =
  (wire: Wire) =>
  (request: MockScriptRequest): MockReply =>
    request.index === 0 ? wire.reply(wire.found('create_invoice'), request) : 'done'

describe.each([anthropic, responses])('$name: tools that the provider searches', (wire) => {
  it.each([true, false])('are sent deferred; those it finds run, and the search is sent back exactly; streamed: %s', async (stream) => {
    await using server = await startStrictProvider({ script: findsThenSays(wire) })
    const run = await new AgentRunner({ model: modelOn(wire, server), tools: deferred() }).run('An invoice for Ada', { stream })
    expect(run).toMatchObject({
      stopReason: 'answered',
      output: 'done',
      toolCalls: [{ tool: 'create_invoice', content: 'invoice to Ada' }],
    })
    const [first, second] = [toolsOf(server, 0), toolsOf(server, 1)]
    expect(second).toEqual(first)
    expect(first.filter((tool) => tool.defer_loading === true)).toHaveLength(31)
    expect(names(first)).not.toContain('search_tools')
    expect(names(first)[0]).toBe('clock')
    expect(first.at(-1)?.type).toMatch(/^tool_search/)
    const back = wire.conversation(server.requests[1]?.body ?? {})
    expect(back.slice(1, -1)).toEqual(wire.found('create_invoice'))
  })

  it('are still available to a run that waited for an approval, stored as JSON', async () => {
    await using server = await startStrictProvider({ script: findsThenSays(wire) })
    const tools = deferTools(registry(invoice({ approval: true })), { keep: ['clock'] })
    const runner = new AgentRunner({ model: modelOn(wire, server), tools })
    const paused = await runner.run('go')
    expect(paused.pending).toMatchObject([{ tool: 'create_invoice', args: { customer: 'Ada' } }])
    const state = JSON.parse(JSON.stringify(paused.state))
    const run = await runner.resume(state, { decisions: paused.pending.map((item) => ({ ...item, approved: true })) })
    expect(run).toMatchObject({ stopReason: 'answered', toolCalls: [{ tool: 'create_invoice', outcome: 'ok' }] })
    expect(wire.conversation(server.requests[1]?.body ?? {}).filter(isSearch)).toHaveLength(2)
  })

  it('are found by toolloop’s own search if the provider has none or may not search', async () => {
    const own = ['clock', 'search_tools', 'call_tool']
    for (const [quirks, options] of [
      [{ toolSearch: false }, {}],
      // The address is not the provider's.
      [{}, {}],
      [{ toolSearch: true }, { search: 'own' }],
    ] as const) {
      await using server = await startStrictProvider({ script: ['done'] })
      await new AgentRunner({ model: modelOn(wire, server, quirks), tools: deferred(options) }).run('go')
      expect(names(toolsOf(server, 0))).toEqual(own)
    }
    await using server = await startStrictProvider({ script: ['done', 'done'] })
    const runner = new AgentRunner({ model: modelOn(wire, server), tools: deferred() })
    await runner.run('go', { toolChoice: 'required' })
    await runner.run('go', { toolChoice: { type: 'function', function: { name: 'call_tool' } } })
    for (const at of [0, 1]) expect(names(toolsOf(server, at))).toEqual(own)
  })

  it('are found by toolloop’s own search for a model that writes its calls as text', async () => {
    await using server = await startStrictProvider({ script: ['done'] })
    await new AgentRunner({ model: modelOn(wire, server), tools: deferred(), toolCalling: 'json' }).run('go')
    const body = JSON.stringify(server.requests[0]?.body)
    expect(body).toContain('search_tools')
    expect(body).not.toContain('defer_loading')
  })

  it('are left out with the search if they no longer exist, or if no tools are offered', async () => {
    await using server = await startStrictProvider({ script: findsThenSays(wire) })
    const all = registry()
    const runner = new AgentRunner({ model: modelOn(wire, server), tools: deferTools(all) })
    const { messages } = await runner.run('go')
    all.unregister('create_invoice')
    const next = [...messages, { role: 'user' as const, content: 'And now?' }]
    expect((await runner.run(next)).stopReason).toBe('answered')
    expect((await new AgentRunner({ model: modelOn(wire, server) }).run(next)).stopReason).toBe('answered')
    expect((await runner.run(next, { toolChoice: 'required' })).stopReason).toBe('answered')
    for (const at of [2, 3, 4]) {
      const items = wire.conversation(server.requests[at]?.body ?? {})
      expect(items.filter(isSearch)).toEqual([])
      expect(items.filter(({ type }) => type === 'tool_use' || type === 'function_call')).toHaveLength(1)
    }
  })

  it('are found by toolloop’s own search if another provider continues the run, which gets only the call', async () => {
    await using server = await startStrictProvider({ script: findsThenSays(wire), faults: [undefined, { status: 500 }] })
    await using other = await startStrictProvider({ script: ['done'] })
    const { logger } = recordingLogger()
    const second = createModel({ provider: 'custom', model: 'm', apiKey: 'k', baseURL: other.baseURL })
    const model = fallbackModel([modelOn(wire, server), second])
    expect(await new AgentRunner({ model, tools: deferred(), logger }).run('go')).toMatchObject({ output: 'done' })
    const body = JSON.stringify(other.requests[0]?.body)
    expect(body).toContain('create_invoice')
    expect(body).toContain('search_tools')
    expect(body).not.toMatch(/tool_search|tool_reference|defer_loading|namespace/)
  })

  it('are searched by the provider even if toolloop’s own search found one earlier in the conversation', async () => {
    await using before = await startStrictProvider({
      script: [{ toolCalls: [{ name: 'call_tool', args: { name: 'create_invoice', arguments: { customer: 'Ada' } } }] }, 'done'],
    })
    const custom = createModel({ provider: 'custom', model: 'm', apiKey: 'k', baseURL: before.baseURL })
    const { messages } = await new AgentRunner({ model: custom, tools: deferred() }).run('go')
    await using server = await startStrictProvider({ script: ['done'] })
    const run = await new AgentRunner({ model: modelOn(wire, server), tools: deferred() }).run([
      ...messages,
      { role: 'user', content: 'On' },
    ])
    expect(run.stopReason).toBe('answered')
    expect(toolsOf(server, 0).some((tool) => tool.defer_loading === true)).toBe(true)
  })
})

describe('openai-responses: a tool that a search has loaded', () => {
  it('is called in a namespace; if compaction removed the search, the call is sent without one, and the tool is not deferred', async () => {
    const [, , , call = {}] = responses.found('create_invoice')
    const again = { ...call, id: 'fc_2', call_id: 'call_2' }
    await using server = await startStrictProvider({
      script: (request) => (request.index === 1 ? responses.reply([again], request) : findsThenSays(responses)(request)),
    })
    const runner = new AgentRunner({ model: modelOn(responses, server), tools: deferred() })
    const { messages } = await runner.run('go')
    expect(responses.conversation(server.requests[2]?.body ?? {}).filter(({ type }) => type === 'function_call')).toMatchObject([
      call,
      { call_id: 'call_2', namespace: 'create_invoice' },
    ])

    const [user, , , ...rest] = messages
    if (user === undefined) throw new Error('no messages')
    expect((await runner.run([user, ...rest, { role: 'user', content: 'On' }])).stopReason).toBe('answered')
    const body = server.requests[3]?.body ?? {}
    const sent = responses.conversation(body).filter(({ type }) => type === 'function_call')
    expect(sent).toMatchObject([{ call_id: 'call_2', name: 'create_invoice' }])
    expect(sent[0]).not.toHaveProperty('namespace')
    const tools = toolsOf(server, 3)
    expect(tools.find(({ name }) => name === 'create_invoice')).not.toHaveProperty('defer_loading')
    expect(tools.filter((tool) => tool.defer_loading === true)).toHaveLength(30)
  })

  it('is searched by toolloop if there are more than 128, because all names and descriptions would be sent', async () => {
    await using server = await startStrictProvider({ script: ['done', 'done'] })
    const many = new ToolRegistry(
      Array.from({ length: 129 }, (_, at) => defineTool({ name: `t_${at}`, description: 'd', execute: () => at })),
    )
    const runner = new AgentRunner({ model: modelOn(responses, server), tools: deferTools(many) })
    await runner.run('go')
    many.unregister('t_0')
    await runner.run('go')
    expect(names(toolsOf(server, 0))).toEqual(['search_tools', 'call_tool'])
    expect(toolsOf(server, 1)).toHaveLength(129)
  })
})

describe('which models have their own search', () => {
  it.each([
    ['anthropic', 'claude-haiku-4-5-20251001', true],
    ['anthropic', 'claude-sonnet-4-5', true],
    ['anthropic', 'claude-opus-4-5', true],
    ['anthropic', 'claude-opus-5', true],
    ['anthropic', 'claude-opus-4-1-20250805', false],
    ['anthropic', 'claude-sonnet-4-20250514', false],
    ['anthropic', 'claude-3-7-sonnet-latest', false],
    ['openai-responses', 'gpt-5.4', true],
    ['openai-responses', 'gpt-5.4-mini', true],
    ['openai-responses', 'gpt-5.10', true],
    ['openai-responses', 'gpt-6-luna', true],
    ['openai-responses', 'gpt-5.4-nano', false],
    ['openai-responses', 'gpt-5.2', false],
    ['openai-responses', 'gpt-5', false],
    ['openai-responses', 'o4-mini', false],
  ])('%s/%s: %s', (provider, model, has) => {
    const preset = findPreset(provider)
    const quirksOf = provider === 'anthropic' ? anthropicQuirks : responsesQuirks
    expect(quirksOf(...presetQuirks(preset, model)).toolSearch).toBe(has ? null : false)
  })
})
