import { type BaseEvent, HttpAgent } from '@ag-ui/client'
import { DefaultChatTransport, type UIMessageChunk } from 'ai'
import { describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunOptions, RunResult } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { createLogger } from '../../src/core/logger.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { inputFromAgUi, toAgUiResponse, toUIMessageResponse } from '../../src/ui/index.ts'
import { serveFetch } from '../fetch-server.ts'
import { turnEventLoop } from '../hazards/waiting.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { readChunks, userMessage } from './chat.ts'

const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
const fault = { cutAfterBytes: 'content' } as const

/** A response breaks off when this resolves: after its pieces have been sent to the client. */
type Sent = Promise<unknown>

/** The second turn breaks off. */
const replies = (sent: Sent): MockReply[] => [
  { reasoning: 'First I look.', text: 'I look.', toolCalls: [{ name: 'look', arguments: { n: 1 } }] },
  { reasoning: 'Hm, wh', chunks: ['The answer is lo', sent], toolCalls: [{ name: 'look', arguments: { n: 2 } }], fault },
  { reasoning: 'Hm.', text: 'The answer is long.' },
]
/** The answer is cut off at a limit, and its continuation breaks off. */
const continued = (sent: Sent): MockReply[] => [
  { text: 'The answer ', finishReason: 'length' },
  { chunks: ['is lo', sent], fault },
  { text: 'is long.' },
]
const once = (sent: Sent): MockReply[] => [{ reasoning: 'Hm, wh', chunks: ['The answer is lo', sent], fault }, 'The answer is long.']

/** A provider that breaks off, and a runner that uses it. */
async function stage(script: (sent: Sent) => MockReply[]) {
  const sent = Promise.withResolvers<void>()
  const provider = await startStrictProvider({ script: script(sent.promise) })
  const runner = runnerOver(provider)
  let said = ''
  runner.on(Event.TEXT_DELTA, ({ text }) => {
    said += text
    if (said.endsWith('is lo')) void turnEventLoop(20).then(sent.resolve)
  })
  return { runner, [Symbol.asyncDispose]: () => provider.close() }
}

function runnerOver({ baseURL }: MockProvider): AgentRunner {
  const model = createModel({ provider: 'custom', model: 'm', baseURL, maxRetries: 1, maxRetryDelayMs: 1 })
  return new AgentRunner({ model, tools: [look], logger: createLogger({ level: 'silent' }) })
}

describe('a response that breaks off, in the AI SDK’s UI message stream', () => {
  async function read(script: (sent: Sent) => MockReply[], options: RunOptions = {}) {
    await using on = await stage(script)
    const { runner } = on
    let ended: Promise<RunResult> | undefined
    await using server = await serveFetch(async () => {
      const run = runner.stream('go', options)
      ended = run.result
      return toUIMessageResponse(run)
    })
    const transport = new DefaultChatTransport({ api: `${server.url}/chat` })
    const request = {
      trigger: 'submit-message' as const,
      chatId: 'c1',
      messageId: undefined,
      messages: [userMessage('go')],
      abortSignal: undefined,
    }
    const { chunks, message, errors } = await readChunks(await transport.sendMessages(request))
    const resets = chunks.filter(({ type }: UIMessageChunk) => type === 'reset-step').length
    return { message, errors, resets, result: await ended }
  }

  it('F21 is removed from the message by `reset-step`, and sent again', async () => {
    const { message, errors, resets, result } = await read(replies)
    expect(result).toMatchObject({ stopReason: 'answered', output: 'The answer is long.' })
    expect([errors, resets]).toEqual([[], 1])
    expect(message?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'First I look.' },
      { type: 'text', text: 'I look.' },
      { type: 'tool-look', state: 'output-available', output: 'seen' },
      { type: 'step-start' },
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'The answer is long.' },
    ])
  })

  it('F21 keeps the text that it continues', async () => {
    const { message, errors, resets } = await read(continued, { onTruncated: 'continue' })
    expect([errors, resets]).toEqual([[], 1])
    expect(message?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'The answer is long.', state: 'done' }])
  })
})

describe('a response that breaks off, over AG-UI', () => {
  async function read(script: (sent: Sent) => MockReply[], { withInput = true, ...options }: RunOptions & { withInput?: boolean } = {}) {
    await using on = await stage(script)
    const { runner } = on
    await using server = await serveFetch(async (request) => {
      const input = inputFromAgUi(await request.json())
      return toAgUiResponse(runner.stream(input.messages, options), withInput ? { input } : {})
    })
    const agent = new HttpAgent({ url: server.url, threadId: 't1' })
    agent.addMessage({ id: 'u1', role: 'user', content: 'go' })
    const events: BaseEvent[] = []
    const warned = vi.spyOn(console, 'warn')
    const failed = vi.spyOn(console, 'error').mockReturnValue(undefined)
    await agent.runAgent({}, { onEvent: ({ event }) => void events.push(event) }).catch(() => {})
    expect(warned.mock.calls).toEqual([])
    warned.mockRestore()
    failed.mockRestore()
    const messages = agent.messages.map(({ role, content, ...more }) => [role, content, 'toolCalls' in more ? more.toolCalls?.length : 0])
    return { messages, types: events.map(({ type }) => type) }
  }

  it('F21 is removed by a snapshot of the other messages, and sent again', async () => {
    const { messages, types } = await read(replies)
    expect(types.filter((type) => type === 'MESSAGES_SNAPSHOT')).toHaveLength(1)
    expect(types.at(-1)).toBe('RUN_FINISHED')
    expect(messages).toEqual([
      ['user', 'go', 0],
      ['reasoning', 'First I look.', 0],
      ['assistant', 'I look.', 1],
      ['tool', 'seen', 0],
      ['reasoning', 'Hm.', 0],
      ['assistant', 'The answer is long.', 0],
    ])
  })

  it('F21 empties the only reasoning there is', async () => {
    const { messages } = await read(once)
    expect(messages).toEqual([
      ['user', 'go', 0],
      ['reasoning', '', 0],
      ['assistant', 'The answer is long.', 0],
    ])
  })

  it('F21 keeps the text that it continues', async () => {
    const { messages } = await read(continued, { onTruncated: 'continue' })
    expect(messages).toEqual([
      ['user', 'go', 0],
      ['assistant', 'The answer is long.', 0],
    ])
  })

  it('F21 ends the run if the client’s other content is unknown', async () => {
    const { messages, types } = await read(once, { withInput: false })
    expect([messages, types.at(-1)]).toEqual([
      [
        ['user', 'go', 0],
        ['reasoning', 'Hm, wh', 0],
        ['assistant', 'The answer is lo', 0],
      ],
      'RUN_ERROR',
    ])
  })
})

describe('a response that breaks off, in our own events', () => {
  it('F21 takes back a cut response even if a `select` excludes retries', async () => {
    await using on = await stage(once)
    const run = on.runner.stream('go')
    const response = run.toResponse({ select: (event) => (event.type === 'TEXT_DELTA' ? event : undefined) })
    const sent = await response.text()
    const retry = sent.split('\n\n').find((frame) => frame.includes('MODEL_RETRY'))
    expect(retry).toContain('"discards":true')
    expect(retry).toContain('"error":""')
    expect(await run.result).toMatchObject({ stopReason: 'answered', output: 'The answer is long.' })
  })

  it('F21 is not sent to later readers', async () => {
    await using on = await stage(once)
    const run = on.runner.stream('go')
    await Promise.all([run.toResponse({ onDisconnect: 'continue' }).text(), run.result])
    const later = await run.toResponse().text()
    const texts = [...later.matchAll(/^data: (\{"type":"TEXT_DELTA".*\})$/gm)].map(([, json]) => JSON.parse(json ?? '').text)
    expect(texts.join('')).toBe('The answer is long.')
  })

  it('F21 ends the run if a format can’t take anything back', async () => {
    await using on = await stage(once)
    const run = on.runner.stream('go')
    const open = () => ({ event: () => '', gap: () => '', end: () => 'end', broken: () => '' })
    expect(await run.toResponse({ format: { open } }).text()).toBe('end')
    expect(await run.result).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_cut' } })
  })
})
