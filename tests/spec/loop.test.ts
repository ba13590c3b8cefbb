import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import { noUsage } from '../../src/core/messages.ts'
import type { ToolChoice } from '../../src/models/chat-model.ts'
import { ToolCallAccumulator } from '../../src/models/streaming/accumulator.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { ToolRunner } from '../../src/tools/tool-runner.ts'
import { nativeModes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { stage } from '../hazards/stage.ts'

const echo = defineTool({
  name: 'echo',
  description: 'Gives back its text.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  effect: 'read',
  execute: ({ text }) => text,
})

const environment = {
  context: undefined,
  signal: new AbortController().signal,
  runId: 'run',
  iteration: 1,
  idempotencyKey: 'run/1.tool.0',
  timeoutMs: 1_000,
  maxResultBytes: 65_536,
  logger: recordingLogger().logger,
}

describe('units', () => {
  it('S3-1 protocol, execution and loop work apart from each other', async () => {
    const calls = new ToolCallAccumulator()
    calls.add({ index: 0, id: 'a', name: 'echo', arguments: '{"text":' })
    calls.add({ index: 0, arguments: '"hi"}' })
    const [call] = calls.finish()
    if (call === undefined) throw new Error('expected a call')
    const { message } = await new ToolRunner(new ToolRegistry([echo])).run(call, environment)
    expect(message).toEqual({ role: 'tool', content: 'hi', toolCallId: 'a', name: 'echo' })
    const model = {
      provider: 'p',
      model: 'm',
      capabilities: { nativeTools: true },
      generate: async () => ({ text: 'ok', toolCalls: [], finishReason: 'stop' as const, usage: noUsage }),
    }
    expect((await new AgentRunner({ model }).run('go')).output).toBe('ok')
  })

  it('S3-15 ToolRunner parses, validates, executes and makes the tool message', async () => {
    const runner = new ToolRunner(new ToolRegistry([echo]))
    const run = async (json: string, name = 'echo') =>
      (await runner.run({ id: 'x', type: 'function', function: { name, arguments: json } }, environment)).message
    expect(await run('{"text":"hi"}')).toMatchObject({ content: 'hi' })
    expect(await run('{"text":')).toMatchObject({ isError: true, content: expect.stringContaining('could not be read') })
    expect(await run('{"text":5}')).toMatchObject({
      isError: true,
      content: expect.stringContaining('`text`: expected string, got number 5'),
    })
    expect(await run('{}', 'nope')).toMatchObject({ isError: true, content: 'Tool not found: nope. Available tools: echo.' })
  })
})

// These rows speak of OpenAI's wire, word for word.
describe.each(nativeModes.filter(({ wire }) => wire === 'chat-completions'))('$name', (mode) => {
  it.each<ToolChoice>(['auto', 'none', 'required', { type: 'function', function: { name: 'echo' } }])(
    'S3-5 tool choice %j is passed on',
    async (toolChoice) => {
      await using set = await stage(mode, ['ok'], { tools: [echo], toolChoice })
      await set.runner.run('go')
      expect(set.provider.requests[0]?.body.tool_choice).toEqual(toolChoice)
    },
  )

  it('S3-6 one assistant message holds all calls; its content is null on the wire only when there is no text', async () => {
    await using set = await stage(
      mode,
      [
        {
          toolCalls: [
            { id: 'a', name: 'echo', arguments: { text: '1' } },
            { id: 'b', name: 'echo', arguments: { text: '2' } },
          ],
        },
        { text: 'with text', toolCalls: [{ id: 'c', name: 'echo', arguments: { text: '3' } }] },
        'done',
      ],
      { tools: [echo] },
    )
    await set.run()
    const messages = set.provider.requests[2]?.body.messages
    expect(messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'a' }, { id: 'b' }] },
      { role: 'tool', tool_call_id: 'a' },
      { role: 'tool', tool_call_id: 'b' },
      { role: 'assistant', content: 'with text', tool_calls: [{ id: 'c' }] },
      { role: 'tool', tool_call_id: 'c' },
    ])
  })
})

describe.each(nativeModes)('$name', (mode) => {
  it('S3-7 S3-8 each call id gets exactly one tool message, and the model is asked until it stops', async () => {
    await using set = await stage(
      mode,
      [
        {
          toolCalls: [
            { id: 'a', name: 'echo', arguments: { text: 'x' } },
            { id: 'b', name: 'nope' },
            { id: 'c', name: 'echo', arguments: '{' },
          ],
        },
        { toolCalls: [{ id: 'd', name: 'echo', arguments: { text: 'y' } }] },
        'done',
      ],
      { tools: [echo] },
    )
    const result = await set.run()
    expect(result.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))).toEqual(['a', 'b', 'c', 'd'])
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 3 })
  })

  it('S3-11 the loop is bounded, and `maxToolRounds` is another name for its bound', async () => {
    let n = 0
    const again = () => ({ toolCalls: [{ id: `c${n++}`, name: 'echo', arguments: { text: String(n) } }] })
    await using set = await stage(mode, again, { tools: [echo], maxToolRounds: 2 })
    expect(await set.runner.run('go')).toMatchObject({ stopReason: 'max_iterations', iterations: 2 })
    expect(await set.runner.run('go', { maxIterations: 3 })).toMatchObject({ iterations: 3 })
    expect(() => new AgentRunner({ model: set.runner.bus as never, maxToolRounds: 0 })).toThrow(
      'Expected `maxToolRounds` to be an integer ≥ 1, got `0`',
    )
  })

  it('S3-12 every tool has a timeout, and the timeout error is fed back as its output', async () => {
    const slow = defineTool({ name: 'slow', description: 'Never ends.', execute: () => new Promise(() => {}) })
    await using set = await stage(mode, [{ toolCalls: [{ id: 'a', name: 'slow' }] }, 'done'], { tools: [slow], toolTimeoutMs: 5 })
    const result = await set.run()
    expect(set.requests()[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: 'Tool `slow` timed out after 5 ms. It may have taken effect.',
    })
    expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ outcome: 'timeout', errorCode: 'tool_timeout' }] })
  })

  it('S3-13 arguments that can’t be parsed are fed back, and the model can correct itself', async () => {
    await using set = await stage(
      mode,
      [
        { toolCalls: [{ id: 'a', name: 'echo', arguments: '{text: "hi"}' }] },
        { toolCalls: [{ id: 'b', name: 'echo', arguments: { text: 'hi' } }] },
        'done',
      ],
      { tools: [echo] },
    )
    const result = await set.run()
    expect(String(result.messages[2]?.content)).toMatch(
      /Arguments of tool `echo` could not be read: not valid JSON.*Received: "\{text: \\"hi\\"\}"/,
    )
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['rejected', 'ok'])
  })

  it('S3-14 cancellation is checked before each model call', async () => {
    await using set = await stage(mode, ['never asked'])
    const result = await set.runner.run('go', { signal: AbortSignal.abort() })
    expect(result.stopReason).toBe('aborted')
    expect(set.provider.requests).toHaveLength(0)
  })

  it('S3-14 cancellation is checked before each tool call, and ends a run even if a tool ignores it', async () => {
    const controller = new AbortController()
    const deaf = defineTool({
      name: 'deaf',
      description: 'Ignores its signal.',
      parallel: false,
      execute: () => {
        controller.abort()
        return new Promise(() => {})
      },
    })
    const started: string[] = []
    await using set = await stage(
      mode,
      [
        {
          toolCalls: [
            { id: 'a', name: 'deaf' },
            { id: 'b', name: 'echo', arguments: { text: 'x' } },
          ],
        },
      ],
      { tools: [deaf, echo] },
    )
    set.runner.on(Event.TOOL_CALL_START, ({ tool }) => started.push(tool))
    const result = await set.run('go', { signal: controller.signal })
    expect(started).toEqual(['deaf'])
    expect(result).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'cancelled' }, { outcome: 'cancelled' }] })
    expect(set.provider.requests).toHaveLength(1)
  })
})

describe.each(nativeModes.filter(({ streaming }) => streaming))('$name', (mode) => {
  it('S3-16 the runner drives the model’s stream and what accumulates its calls: text is out before the call is whole, the call runs whole', async () => {
    const released = Promise.withResolvers<void>()
    await using set = await stage(
      mode,
      [
        {
          chunks: ['early', released.promise],
          toolCalls: [{ id: 'a', name: 'echo', arguments: { text: 'a long argument that comes in many pieces' } }],
        },
        'done',
      ],
      { tools: [echo] },
    )
    // Gemini gives a call's arguments whole.
    const seen: string[] = []
    for await (const event of set.runner.stream('go')) {
      if (event.type === Event.TEXT_DELTA) {
        seen.push(event.text)
        released.resolve()
      }
      if (event.type === Event.TOOL_INPUT_DELTA) seen.push('piece')
      if (event.type === Event.TOOL_CALL_END) seen.push(event.result)
    }
    const pieces = seen.filter((what) => what === 'piece').length
    expect(pieces).toBeGreaterThanOrEqual(mode.wire === 'gemini-generate-content' ? 1 : 2)
    expect(seen.join(' ')).toMatch(/^ear ?ly( piece)+ a long argument that comes in many pieces do ?ne$/)
  })
})
