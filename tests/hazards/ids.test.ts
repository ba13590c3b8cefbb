import { beforeEach, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import { type ChatMessage, hasToolCalls, type JsonObject } from '../../src/core/messages.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { modes, nativeModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { resultTexts, shape, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool } from './tools.ts'

const chatModes = nativeModes.filter(({ wire }) => wire === 'chat-completions')
const idsOf = (messages: readonly ChatMessage[]) =>
  messages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map(({ id }) => id) : []))
const echo = () => countingTool('echo', ({ n }: { n: number }) => `echo ${n}`)

describe.each(modes)('ids and lookup: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it('H17 an unknown tool: an error with the valid names; known siblings run; the run continues', async () => {
    const look = countingTool('look')
    const script: MockReply[] = [{ toolCalls: [call('loook', { a: 1 }), call('look'), call('search.web/v2 ✨', {})] }, 'done']
    await using on = await stage(mode, script, { tools: [look.tool, countingTool('other').tool] })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(resultTexts(result)).toEqual([
      'Tool not found: loook. Available tools: look, other.',
      'look done',
      'Tool not found: search.web/v2 ✨. Available tools: look, other.',
    ])
    expect(on.events.find(({ name }) => name === Event.TOOL_CALL_REJECTED)?.payload).toMatchObject({ tool: 'loook', args: '{"a":1}' })
    // A name that every provider accepts is kept in the history.
    expect(on.requests()[1]?.messages[1]).toMatchObject({
      toolCalls: [{ function: { name: 'loook' } }, {}, { function: { name: expect.stringMatching(/^[\w-]{1,64}$/) } }],
    })
  })

  it('H17 a call without any tools, and a name of ten thousand characters', async () => {
    await using on = await stage(mode, [{ toolCalls: [call('look'), call('x'.repeat(10_000)), call('')] }, 'done'])
    const result = await on.run()
    expect(result.stopReason).toBe('answered')
    expect(resultTexts(result)[0]).toBe('Tool not found: look. No tools are available.')
    for (const told of resultTexts(result)) expect(told.length).toBeLessThan(500)
  })

  const odd: Record<string, string[]> = {
    missing: ['', '', ''],
    duplicate: ['same', 'same', 'same'],
    'missing beside what would be made for them': ['', 'call_1_0', ''],
    'duplicates of a made one': ['a', 'a', 'a_2'],
    'much too long': ['x'.repeat(300), `${'x'.repeat(300)}y`, 'z'],
    'with odd characters': ['functions.echo:0', 'ä/✨ "quoted"', '../../etc'],
    'of names every object inherits': ['__proto__', 'constructor', 'toString'],
  }
  it.each(Object.entries(odd))('H18 ids that are %s: every call keeps its own result; ids are unique and stable', async (_what, ids) => {
    const tool = echo()
    const turn = (base: number): MockReply => ({ toolCalls: ids.map((id, index) => call('echo', { n: base + index }, id)) })
    await using on = await stage(mode, [turn(0), turn(10), 'done'], { tools: [tool.tool] })
    const result = await on.run()
    expect(resultTexts(result)).toEqual(['echo 0', 'echo 1', 'echo 2', 'echo 10', 'echo 11', 'echo 12'])
    expect(new Set(idsOf(result.messages)).size).toBe(6)
    expect(result.toolCalls.map(({ id }) => id)).toEqual(idsOf(result.messages))
    const [, second, third] = on.requests()
    // What was sent once is sent the same again, so that the provider's cache works and nothing is renamed.
    expect(third?.messages.slice(0, second?.messages.length)).toEqual(second?.messages)
    expect(shape(third?.messages ?? [], mode)).toEqual(shape(result.messages.slice(0, -1), mode))
    const again = await on.runner.run('again', { messages: result.messages }).catch((error) => error)
    expect(idsOf(again.messages)).toEqual(idsOf(result.messages))
  })

  it('H18 an id that was used earlier in the conversation', async () => {
    const tool = echo()
    const turn: MockReply = { toolCalls: [call('echo', { n: 1 }, 'call_0')] }
    await using on = await stage(mode, [turn, 'one', turn, 'two'], { tools: [tool.tool] })
    const first = await on.run()
    const second = await on.run('more', { messages: first.messages })
    expect(new Set(idsOf(second.messages)).size).toBe(2)
    expect(idsOf(second.messages)[0]).toBe('call_0')
  })

  it('H19 two tools with one name, or a name no provider accepts: refused when they are registered', async () => {
    const named = (name: string) => ({ name, description: 'a tool', parameters: { type: 'object' }, execute: () => 'ok' })
    const wrong = [['twin', 'twin'], [''], ['two words'], ['dotted.name'], ['ümlaut'], ['x'.repeat(65)], ['new\nline'], ['ok', 'slash/']]
    await using on = await stage(mode, ['never asked'])
    for (const names of wrong) {
      const tools = names.map(named)
      await expect(stage(mode, [], { tools }), names.join()).rejects.toMatchObject({ code: 'invalid_tool' })
      await expect(on.runner.run('go', { tools }), names.join()).rejects.toMatchObject({ code: 'invalid_tool' })
    }
    expect(() => defineTool(named('dotted.name'))).toThrow(/1 to 64 characters of a-z A-Z 0-9 _ -/)
    expect(on.requests()).toEqual([])
  })

  it('H19 names that differ only in case are two tools, each called by its own', async () => {
    const [lower, upper] = [countingTool('look', 'lower'), countingTool('LOOK', 'upper')]
    const script: MockReply[] = [{ toolCalls: [call('look'), call('LOOK'), call('Look')] }, 'done']
    await using on = await stage(mode, script, { tools: [lower.tool, upper.tool] })
    expect(resultTexts(await on.run())).toEqual(['lower', 'upper', 'Tool not found: Look. Available tools: look, LOOK.'])
  })
})

describe.each(chatModes)('ids on the wire: $name', (mode) => {
  const base = { id: 'x', object: mode.streaming ? 'chat.completion.chunk' : 'chat.completion', created: 1, model: 'mock' }
  const respond = (fields: JsonObject, finish: string): MockReply => {
    if (!mode.streaming)
      return { body: { ...base, choices: [{ index: 0, message: { role: 'assistant', ...fields }, finish_reason: finish }] } }
    const chunk = (delta: JsonObject, reason: string | null): JsonObject => ({
      ...base,
      choices: [{ index: 0, delta, finish_reason: reason }],
    })
    return { events: [chunk(fields, null), chunk({}, finish), 'data: [DONE]\n\n'] }
  }

  it('H18 numeric, null and absent ids', async () => {
    const tool = echo()
    const ids: JsonObject[] = [{ id: 7 }, { id: 7.5 }, { id: null }, {}, { id: 0 }]
    const calls = ids.map((id, index) => ({
      ...id,
      index,
      type: 'function',
      function: { name: 'echo', arguments: `{"n":${index}}` },
    }))
    await using on = await stage(mode, [respond({ tool_calls: calls }, 'tool_calls'), 'done'], { tools: [tool.tool] })
    const result = await on.run()
    expect(resultTexts(result)).toEqual([0, 1, 2, 3, 4].map((n) => `echo ${n}`))
    expect(new Set(idsOf(result.messages)).size).toBe(5)
  })

  it('H20 tools the provider has run itself are neither run here nor answered', async () => {
    const search = countingTool('web_search')
    // Groq's built-in tools, and the citations of OpenAI's web search: https://console.groq.com/docs/agentic-tooling
    const fields = {
      content: 'It rains.',
      executed_tools: [{ index: 0, type: 'search', name: 'web_search', arguments: '{"query":"rain"}', output: 'rain everywhere' }],
      annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com', title: 'Rain', start_index: 0, end_index: 2 } }],
    }
    await using on = await stage(mode, [respond(fields, 'stop'), 'never asked'], { tools: [search.tool] })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'It rains.', toolCalls: [] })
    expect(search.calls).toEqual([])
    expect(on.requests()).toHaveLength(1)
  })
})

describe('ids of a custom model', () => {
  it('H18 ids that are not texts: the response is refused, nothing runs', async () => {
    const tool = echo()
    const model = scriptedModel([])
    const generate = async () =>
      ({
        text: '',
        toolCalls: [{ id: 7, type: 'function', function: { name: 'echo', arguments: '{"n":1}' } }],
        finishReason: 'tool_calls',
      }) as never
    const { logger } = recordingLogger()
    const result = await new AgentRunner({ model: { ...model, generate }, tools: [tool.tool], logger }).run('go')
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'bad_response' }, toolCalls: [] })
    expect(tool.calls).toEqual([])
  })
})

describe('ids in events', () => {
  it('H18 the events of an unfinished call have its final id', async () => {
    const model = scriptedModel([
      { toolCalls: [call('echo', { n: 1 }, 'call_0'), call('echo', { n: 2 }, ''), call('echo', { n: 3 }, 'call_0')] },
      { toolCalls: [call('echo', { n: 4 }, 'call_0')] },
      'done',
    ])
    const runner = new AgentRunner({ model, tools: [echo().tool] })
    const written: string[] = []
    runner.on(Event.TOOL_INPUT_START, ({ id }) => written.push(id))
    const { toolCalls } = await runner.run('go')
    expect(written).toEqual(toolCalls.map(({ id }) => id))
    expect(new Set(written).size).toBe(4)
  })
})
