import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { type Mode, nativeModes } from '../hazards/modes.ts'
import { stage } from '../hazards/stage.ts'
import { call, countingTool } from '../hazards/tools.ts'
import { hello } from './one-request.ts'

const usage = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens })

async function ask(mode: Mode, reply: MockReply, settings: { providerOptions?: JsonObject } = {}) {
  await using open = await mode.open([reply], { settings: { contextWindow: 1000, ...settings } })
  return await open.model.generate({ messages: hello })
}

describe.each(nativeModes)('a conversation too long, reported without an error: $name', (mode) => {
  it('F19 reports `context_overflow` for more input than fits into the window', async () => {
    await expect(ask(mode, { text: 'Who are you?', usage: usage(1001, 4) })).rejects.toMatchObject({
      code: 'context_overflow',
      retryable: false,
      message: expect.stringContaining('got 1001 input tokens, more than the `contextWindow` of 1000'),
      partial: { text: 'Who are you?', usage: { totalTokens: 1005 } },
    })
    expect(await ask(mode, { text: 'It is noon.', usage: usage(1000, 4) })).toMatchObject({ text: 'It is noon.' })
  })

  it('F19 reports it for a response that ends by its length before it starts, if the window is full', async () => {
    const cut = { text: '', finishReason: 'length' as const }
    await expect(ask(mode, { ...cut, usage: usage(990, 0) })).rejects.toMatchObject({
      code: 'context_overflow',
      message: expect.stringContaining('which leave no room for a response'),
    })
    expect(await ask(mode, { ...cut, usage: usage(900, 0) })).toMatchObject({ finishReason: 'length' })
    expect(await ask(mode, { ...cut, text: 'It is', usage: usage(995, 5) })).toMatchObject({ text: 'It is' })
  })

  it('F19 ignores a sum over several requests, as providers with tools of their own report it', async () => {
    const settings = { providerOptions: {} }
    expect(await ask(mode, { text: 'It is noon.', usage: usage(5000, 4) }, settings)).toMatchObject({ text: 'It is noon.' })
  })

  it('F19 shortens the conversation and asks again', async () => {
    const long = 'long result '.repeat(50)
    const rounds = Array.from({ length: 4 }, (_, n): MockReply => ({ toolCalls: [call('look', { n })], usage: usage(200 * n, 10) }))
    await using on = await stage(
      mode,
      [...rounds, { text: 'Who are you?', usage: usage(1100, 3) }, { text: 'Done.', usage: usage(700, 2) }],
      {
        tools: [countingTool('look', long).tool],
        maxIterations: 8,
        limits: { repeatedCalls: Number.POSITIVE_INFINITY },
        compaction: { maxTokens: 100_000 },
        settings: { contextWindow: 1000 },
      },
    )
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Done.', iterations: 5 })
    const [before, after] = on.provider.requests.slice(-2).map(({ rawBody }) => rawBody.length)
    expect(after).toBeLessThan((before ?? 0) * 0.8)
    expect(result.usage.inputTokens).toBe(200 + 400 + 600 + 1100 + 700)
  })
})
