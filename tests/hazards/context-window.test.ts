import { describe, expect, it } from 'vitest'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { driverModes } from './modes.ts'
import { stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const long = 'long result '.repeat(200)
const rounds = (count: number): MockReply[] => Array.from({ length: count }, (_, n) => ({ toolCalls: [call('look', { n })] }))

describe.each(driverModes)('a conversation that exceeds the context window: $name', (mode) => {
  it('H43 is reported as such, and nothing is lost', async () => {
    await using on = await stage(mode, rounds(1), {
      tools: [countingTool('look').tool],
      faults: ({ index }) => (index === 1 ? { contextOverflow: true } : undefined),
    })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'context_overflow' }, iterations: 2 })
    expect(result.messages).toHaveLength(3)
    expect(on.provider.requests).toHaveLength(2)
  })

  it('H43 H46 is shortened if that is configured; the result has it completely', async () => {
    await using on = await stage(mode, [...rounds(12), 'done'], {
      tools: [countingTool('look', long).tool],
      maxIterations: 20,
      limits: { repeatedCalls: Number.POSITIVE_INFINITY },
      instructions: 'Be brief.',
      compaction: { maxTokens: 3000 },
    })
    const result = await on.run('Look twelve times.')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 13 })
    expect(result.messages).toHaveLength(1 + 12 * 2 + 1)
    const sizes = on.requests().map(({ messages }) => JSON.stringify(messages).length)
    expect(Math.max(...sizes)).toBeLessThan(3000 * 4 * 1.5)
    const last = on.requests().at(-1)?.messages ?? []
    expect(JSON.stringify(last)).toContain('Look twelve times.')
    expect(last[0]).toEqual({ role: 'system', content: 'Be brief.' })
  })

  it('H43 is shortened further and sent once more if the provider still finds it too long', async () => {
    await using on = await stage(mode, [...rounds(4), 'done'], {
      tools: [countingTool('look', long).tool],
      maxIterations: 8,
      limits: { repeatedCalls: Number.POSITIVE_INFINITY },
      compaction: {},
      faults: ({ index }) => (index === 4 ? { contextOverflow: true } : undefined),
    })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 5 })
    const [before, after] = on.provider.requests.slice(-2).map(({ rawBody }) => rawBody.length)
    expect(after).toBeLessThan((before ?? 0) * 0.7)
  })

  it('H43 is sent again only once: model_error if it is still too long', async () => {
    await using on = await stage(mode, rounds(3), {
      tools: [countingTool('look', long).tool],
      compaction: {},
      faults: ({ index }) => (index >= 3 ? { contextOverflow: true } : undefined),
    })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'context_overflow' } })
    expect(on.provider.requests).toHaveLength(5)
    expect(result.messages).toHaveLength(7)
  })

  it('H46 is replaced by a summary, which is summarized in turn; a failed one is left out', async () => {
    let summaries = 0
    const heard: string[] = []
    await using on = await stage(mode, [...rounds(16), 'done'], {
      tools: [countingTool('look', 'y'.repeat(900)).tool],
      maxIterations: 20,
      limits: { repeatedCalls: Number.POSITIVE_INFINITY },
      compaction: {
        maxTokens: 1500,
        summarise: (messages) => {
          heard.push(JSON.stringify(messages))
          if (++summaries === 3) throw new Error('no')
          return `Summary ${summaries}.`
        },
      },
    })
    const result = await on.run()
    expect(result.stopReason).toBe('answered')
    expect(summaries).toBeGreaterThan(2)
    expect(heard[1]).toContain('Summary 1.')
    const sent = on.requests().map(({ messages }) => JSON.stringify(messages))
    expect(sent.some((messages) => messages.includes('Summary 1.'))).toBe(true)
    expect(sent.some((messages) => messages.includes('Summary 2.') && !messages.includes('Summary 1.'))).toBe(true)
    expect(on.log.map(({ message }) => message)).toContain('the summary of earlier messages failed; they are left out without one')
  })
})
