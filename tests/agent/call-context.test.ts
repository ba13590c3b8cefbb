import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { savedValueOf } from '../../src/agent/journal/kept-values.ts'
import { AgentRunner, defineTool, type Json, type ToolContext } from '../../src/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const { logger } = recordingLogger()
const calling = [{ toolCalls: [{ name: 'job', args: {} }] }, 'Done.']

/** A tool that does what the test wants. */
const jobOf = (execute: (ctx: ToolContext) => unknown, more: object = {}) =>
  defineTool({ name: 'job', description: 'A job.', execute: (_args, ctx: ToolContext) => execute(ctx), ...more })

describe('what a call saves', () => {
  it('is there, in its last version, for `reconcile` and for the function if the call is repeated after a crash', async () => {
    const kept = new MemoryRuns()
    const journal = memoryJournal(kept)
    const saved = Promise.withResolvers<void>()
    const first = jobOf(async ({ save, saved: before }) => {
      expect(before).toBeUndefined()
      await save?.({ id: 1 })
      await save?.({ id: 2 })
      saved.resolve()
      await new Promise(() => {})
    })
    const crashed = new AgentRunner({ model: scriptedModel(calling), tools: [first], journal, logger })
      .run('Go.', { runId: 'r' })
      .catch(() => {})
    await saved.promise
    await journal.close()
    await crashed
    const seen: (Json | undefined)[] = []
    const second = jobOf(
      ({ saved }) => {
        seen.push(saved)
        return 'went on'
      },
      {
        reconcile: (_args: unknown, { saved }: ToolContext) => {
          seen.push(saved)
          return { ran: false }
        },
      },
    )
    const runner = new AgentRunner({ model: scriptedModel(['Done.']), tools: [second], journal: memoryJournal(kept), logger })
    await runner.recover()
    expect(seen).toEqual([{ id: 2 }, { id: 2 }])
    expect((await runner.runs.get('r'))?.result?.toolCalls[0]).toMatchObject({ outcome: 'ok', content: 'went on' })
  })

  it('H9 is not replaced by what an abandoned attempt saves late, which gets an error', async () => {
    const kept = new MemoryRuns()
    const journal = memoryJournal(kept)
    const late = Promise.withResolvers<unknown>()
    const saves: NonNullable<ToolContext['save']>[] = []
    const job = jobOf(
      async ({ save, attempt }) => {
        if (save !== undefined) saves.push(save)
        if (attempt === 2) {
          await save?.('second')
          late.resolve(await saves[0]?.('first, late').catch((error: unknown) => error))
        }
        await new Promise(() => {})
      },
      { retries: 1, timeoutMs: 20, effect: 'idempotent' },
    )
    const crashed = new AgentRunner({ model: scriptedModel(calling), tools: [job], journal, logger }).run('Go.', { runId: 'r' })
    expect(await late.promise).toMatchObject({ code: 'tool_cancelled' })
    expect([...(kept.runs.get('r')?.kept.values() ?? [])]).toMatchObject([{ value: JSON.stringify('"second"') }])
    await crashed
    await journal.close()
  })

  it('H9 is the last saved value, even if the journal takes longer over an earlier one', async () => {
    let kept = ''
    const slow = Promise.withResolvers<void>()
    const keep = async (_name: string, text: string) => {
      if (text === '"first"') await slow.promise
      kept = text
      return true
    }
    const saved = savedValueOf({ keep, kept: async () => kept }, 'key')
    const saves = Promise.all([saved?.write('first'), saved?.write('second')])
    // Whatever could be written by now is.
    await nextTurn()
    slow.resolve()
    await saves
    expect(await saved?.read()).toBe('second')
  })

  it('can’t be larger than a megabyte, and is refused if nothing outlives the process', async () => {
    const large = jobOf(({ save }) => save?.('x'.repeat(2_000_000)))
    const withJournal = new AgentRunner({ model: scriptedModel(calling), tools: [large], journal: memoryJournal(), logger })
    expect((await withJournal.run('Go.')).toolCalls[0]).toMatchObject({
      outcome: 'failed',
      content: expect.stringMatching(/at most 1048576 bytes/),
    })
    const nowhere = jobOf(({ save }) => String(save))
    const { toolCalls } = await new AgentRunner({ model: scriptedModel(calling), tools: [nowhere], logger }).run('Go.')
    expect(toolCalls[0]).toMatchObject({ content: 'undefined' })
  })
})

describe('a tool that asks the model of its run', () => {
  const modelOf = (answer: object | (() => never)) =>
    scriptedModel(({ messages }) => {
      if (messages.some(({ content }) => content === 'Which?')) return (typeof answer === 'function' ? answer() : answer) as never
      return messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'job', args: {} }] }
    })
  const asking = jobOf(async ({ askModel }) => askModel?.({ messages: [{ role: 'user', content: 'Which?' }], maxOutputTokens: 9 }))

  it('gets its answer, and its usage counts for the call', async () => {
    const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 }
    const { toolCalls } = await new AgentRunner({ model: modelOf({ text: 'That.', usage }), tools: [asking], logger }).run('Go.')
    expect(toolCalls[0]).toMatchObject({ value: { text: 'That.', finishReason: 'stop' }, nested: { usage } })
  })

  it('F7 gets the part of an answer that was cut, and the finish reason', async () => {
    const model = modelOf({ text: 'That', finishReason: 'length' })
    const { toolCalls } = await new AgentRunner({ model, tools: [asking], logger }).run('Go.')
    expect(toolCalls[0]).toMatchObject({ outcome: 'ok', value: { text: 'That', finishReason: 'length' } })
  })

  it('gets the reason if there is no answer', async () => {
    const failing = modelOf(() => {
      throw new Error('gone fishing')
    })
    const { toolCalls } = await new AgentRunner({ model: failing, tools: [asking], logger }).run('Go.')
    expect(toolCalls[0]).toMatchObject({ outcome: 'failed' })
    const often = jobOf(async ({ askModel }) => {
      for (;;) await askModel?.({ messages: [{ role: 'user', content: 'Which?' }] })
    })
    const usage = { inputTokens: 60, outputTokens: 40, totalTokens: 100 }
    const bounded = new AgentRunner({ model: modelOf({ text: 'That.', usage }), tools: [often], limits: { tokens: 250 }, logger })
    expect(await bounded.run('Go.')).toMatchObject({ stopReason: 'budget', toolCalls: [{ outcome: 'failed' }] })
  })
})

it('a tool can reset its time limit, to a longer or a shorter one', async () => {
  const otherTimedOut = Promise.withResolvers<void>()
  let wasAborted: boolean | undefined
  const extending = jobOf(async ({ extendTimeout, signal }) => {
    extendTimeout?.(Number.POSITIVE_INFINITY)
    await otherTimedOut.promise
    wasAborted = signal.aborted
    extendTimeout?.(10)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const other = defineTool({
    name: 'other',
    description: 'Never returns.',
    execute: (_args, { signal }) => new Promise(() => signal.addEventListener('abort', () => otherTimedOut.resolve())),
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'job' }, { name: 'other' }] }, 'Done.'])
  const { toolCalls } = await new AgentRunner({ model, tools: [extending, other], toolTimeoutMs: 20, logger }).run('Go.')
  expect(wasAborted).toBe(false)
  expect(toolCalls).toMatchObject([{ outcome: 'timeout' }, { outcome: 'timeout' }])
})
