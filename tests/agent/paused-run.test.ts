import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Claim, ResumeClaim } from '../../src/agent/decisions/resume-claim.ts'
import type { RunResult, RunSettings } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import type { Json } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { call, countingTool } from '../hazards/tools.ts'
import { durableOver, goneJournal } from './gone-journal.ts'

afterEach(() => {
  vi.useRealTimers()
})

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const approved = ({ pending }: RunResult) => pending.map((item) => ({ ...item, approved: true as const }))

async function pausedRun(settings: RunSettings = {}) {
  const [pay, look] = [countingTool('pay'), countingTool('look')]
  // Each process has its own model, which continues from the state of the conversation.
  const model = scriptedModel([
    { toolCalls: [call('pay', { n: 1 })] },
    ...Array.from({ length: 4 }, () => ({ toolCalls: [call('look')] })),
    'done',
  ])
  const { logger } = recordingLogger()
  const runner = new AgentRunner({ model, logger, tools: [{ ...pay.tool, approval: true }, look.tool], ...settings })
  return { runner, pay, look }
}

describe('limits of a paused run', () => {
  const none = Number.POSITIVE_INFINITY

  it('H34 stay infinite when it is resumed, whatever the runner’s are', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    const { runner } = await pausedRun({
      decisionTimeoutMs: 1,
      maxIterations: 10,
      limits: { tokens: 1, toolCalls: 1, repeatedCalls: 1 },
      compaction: { maxTokens: 1 },
    })
    const paused = await runner.run('go', {
      decisionTimeoutMs: none,
      toolTimeoutMs: none,
      streamIdleTimeoutMs: none,
      limits: { deadlineMs: none, tokens: none, toolCalls: none, repeatedCalls: none },
      compaction: { maxTokens: none },
    })
    vi.advanceTimersByTime(1e9)
    const result = await runner.resume(stored(paused.state), { decisions: approved(paused) })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 6 })
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
  })

  it('H34 stay finite', async () => {
    const { runner } = await pausedRun({ maxIterations: 10 })
    const paused = await runner.run('go', { limits: { toolCalls: 2 } })
    expect(await runner.resume(stored(paused.state), { decisions: approved(paused) })).toMatchObject({ stopReason: 'budget' })
  })

  it('H8 waits for a deadline beyond the 24 days of a timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const day = 86_400_000
    const runner = new AgentRunner({ model: scriptedModel([{ text: 'On', hang: true }]), limits: { deadlineMs: 60 * day } })
    const run = runner.run('go')
    let isOver = false
    void run.then(() => {
      isOver = true
    })
    await vi.advanceTimersByTimeAsync(59 * day)
    expect(isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(2 * day)
    expect(await run).toMatchObject({ stopReason: 'deadline' })
  })

  it.each([{}, { messages: [] }, { settings: {} }, { messages: 'x', settings: {} }, { messages: [], settings: [] }])(
    'H34 a state without what the run was started with is refused: %j',
    async (input) => {
      const { runner } = await pausedRun()
      const { state } = await runner.run('go')
      await expect(runner.resume(state && { ...state, input: input as Json })).rejects.toMatchObject({ code: 'invalid_option' })
    },
  )
})

describe('a decision that names no pending item', () => {
  it.each(['toolCallId', 'fingerprint'])('H34 without `%s` is refused with where to get it, and nothing happens', async (missing) => {
    const { runner, pay } = await pausedRun()
    const { state, pending } = await runner.run('go')
    const decisions = pending.map((item) => ({ ...item, approved: true as const, [missing]: undefined }))
    const expected = `Expected \`decisions[0].${missing}\` to be the \`${missing}\` of an item in \`pending\`: make the decision of the item, \`{ ...item, approved: true }\`, got \`undefined\``
    await expect(runner.resume(state, { decisions })).rejects.toMatchObject({ code: 'invalid_option', message: expected })
    expect(pay.calls).toEqual([])
  })
})

describe('one state resumed by several processes', () => {
  it('H34 twice at once in one process: one continues, the other is rejected, and the call runs once', async () => {
    const { runner, pay } = await pausedRun({ maxIterations: 10 })
    const paused = await runner.run('go')
    const options = () => ({ decisions: approved(paused) })
    const other = new AgentRunner({ model: runner.model, tools: runner.tools })
    const ends = await Promise.allSettled([
      runner.resume(stored(paused.state), options()),
      other.resume(stored(paused.state), options()),
      runner.resumeStream(stored(paused.state), options()).result,
    ])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(ends[1]).toMatchObject({ reason: { code: 'already_resumed' } })
    expect(pay.calls).toHaveLength(1)
  })

  it('H34 with a `claim`, the host decides which process continues; the other has done nothing', async () => {
    const { runner, pay } = await pausedRun({ maxIterations: 10 })
    const paused = await runner.run('go')
    const asked: ResumeClaim[] = []
    const first = new Set<string>()
    const claim: Claim = async (one) => {
      asked.push(one)
      return first.size < first.add(one.key).size
    }
    expect(await runner.resume(stored(paused.state), { decisions: approved(paused), claim })).toMatchObject({ stopReason: 'answered' })
    await expect(runner.resume(stored(paused.state), { decisions: approved(paused), claim })).rejects.toMatchObject({
      code: 'already_resumed',
    })
    expect(pay.calls).toHaveLength(1)
    expect(asked.map(({ runId }) => runId)).toEqual([paused.runId, paused.runId])
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1)
  })

  it('H34 rejects if `claim` throws, and the state can be resumed again', async () => {
    const { runner, pay } = await pausedRun({ maxIterations: 10 })
    const paused = await runner.run('go')
    const decisions = approved(paused)
    const claim = () => Promise.reject(new Error('no database'))
    await expect(runner.resume(paused.state, { decisions, claim })).rejects.toThrow('no database')
    expect(pay.calls).toHaveLength(0)
    expect(await runner.resume(paused.state, { decisions, claim: () => true })).toMatchObject({ stopReason: 'answered' })
  })

  it('H34 reading a state claims nothing; each later pause has its own claim', async () => {
    const [first, second] = [countingTool('first'), countingTool('second')]
    const model = scriptedModel([{ toolCalls: [call('first'), call('second')] }, { toolCalls: [call('first')] }, 'done'])
    const tools = [first, second].map(({ tool }) => ({ ...tool, approval: true as const }))
    const runner = new AgentRunner({ model, tools, logger: recordingLogger().logger })
    const keys: string[] = []
    const claim: Claim = ({ key }) => keys.push(key) > 0
    const paused = await runner.run('go')
    const looked = await runner.resume(paused.state, { claim })
    expect(keys).toEqual([])
    const partly = await runner.resume(looked.state, { decisions: approved(paused).slice(0, 1), claim })
    const again = await runner.resume(partly.state, { decisions: approved(partly), claim })
    expect(again).toMatchObject({ stopReason: 'paused' })
    expect(await runner.resume(again.state, { decisions: approved(again), claim })).toMatchObject({ stopReason: 'answered' })
    expect(new Set(keys).size).toBe(3)
    expect([first.calls.length, second.calls.length]).toEqual([2, 1])
  })

  it('H34 an `approve` given to `resume` decides on later calls, and on none that was decided or is pending', async () => {
    const first = countingTool('first')
    const model = scriptedModel([{ toolCalls: [call('first', { n: 1 })] }, { toolCalls: [call('first', { n: 2 })] }, 'done'])
    const runner = new AgentRunner({ model, tools: [{ ...first.tool, approval: true }], logger: recordingLogger().logger })
    const asked: unknown[] = []
    const approve = ({ args }: { args: object }) => asked.push(args) > 0
    const paused = await runner.run('go')
    expect(await runner.resume(paused.state, { approve })).toMatchObject({ stopReason: 'paused', pending: paused.pending })
    expect(await runner.resume(paused.state, { approve, decisions: approved(paused) })).toMatchObject({ stopReason: 'answered' })
    expect(asked).toEqual([{ n: 2 }])
    expect(first.calls).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('H30 an abort or the deadline ends the wait for a `claim` that never answers; the state can be resumed again', async () => {
    const { runner, pay } = await pausedRun({ maxIterations: 10 })
    const paused = await runner.run('go')
    const decisions = approved(paused)
    const controller = new AbortController()
    const claim: Claim = () => {
      queueMicrotask(() => controller.abort(new Error('shutting down')))
      return new Promise(() => {})
    }
    await expect(runner.resume(paused.state, { decisions, claim, signal: controller.signal })).rejects.toMatchObject({
      code: 'aborted',
      message: 'The run was aborted: shutting down',
    })
    await expect(runner.resume(paused.state, { decisions, claim, limits: { deadlineMs: 5 } })).rejects.toMatchObject({ code: 'deadline' })
    expect(pay.calls).toEqual([])
    expect(await runner.resume(paused.state, { decisions })).toMatchObject({ stopReason: 'answered' })
  })

  it('H34 expiry is judged once: nothing is carried out without a claim if its time ends meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { runner, pay } = await pausedRun({ maxIterations: 10, decisionTimeoutMs: 30_000 })
    const paused = await runner.run('go')
    let claims = 0
    const claim: Claim = () => ++claims > 0
    // Between the claim and the call that waits.
    const off = runner.on(Event.RUN_START, () => vi.setSystemTime(Date.now() + 60_000))
    expect(await runner.resume(paused.state, { claim })).toMatchObject({ stopReason: 'paused' })
    off()
    expect(claims).toBe(0)
    expect(await runner.resume(paused.state, { claim })).toMatchObject({
      stopReason: 'answered',
      toolCalls: [{ outcome: 'denied' }, {}, {}, {}, {}],
    })
    expect([claims, pay.calls.length]).toEqual([1, 0])
  })

  it('H35 a run whose `approve` is gone with its process waits for a decision, and is not refused', async () => {
    const { journal, bodies, inputs } = goneJournal()
    const pay = countingTool('pay')
    const model = scriptedModel([{ toolCalls: [call('pay')] }, 'Paid.'])
    const options = { model, tools: [{ ...pay.tool, approval: true }], journal, logger: recordingLogger().logger }
    await expect(new AgentRunner({ ...options, approve: () => true }).run('go')).rejects.toThrow('the process is gone')
    new AgentRunner(options)
    // As the process had recorded it before it went.
    expect(await bodies[1]?.(durableOver({ '1.approver': true }), inputs[0] ?? null)).toMatchObject({
      stopReason: 'paused',
      pending: [{ kind: 'approval', tool: 'pay' }],
    })
    expect(pay.calls).toEqual([])
  })
})

describe('a state that is resumed with `again`', () => {
  it('runs a call that may have run only if that does no harm, and later calls normally', async () => {
    const reconciled: string[] = []
    const tools = (['read', 'idempotent', 'unsafe'] as const).map((effect) => ({ ...countingTool(effect).tool, effect, approval: true }))
    const found = (name: string, ran: boolean) => ({
      ...countingTool(name).tool,
      approval: true,
      reconcile: () => {
        reconciled.push(name)
        return ran ? { ran: true as const, value: 'had run' } : { ran: false as const }
      },
    })
    const later = countingTool('later')
    const all = [...tools, found('ran', true), found('not', false)]
    const model = scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === 'user') return { toolCalls: all.map(({ name }) => call(name)) }
      return messages.filter(({ role }) => role === 'assistant').length === 1 ? { toolCalls: [call('later')] } : 'done'
    })
    const runner = new AgentRunner({ model, tools: [...all, later.tool], logger: recordingLogger().logger })
    const paused = await runner.run('go')
    const result = await runner.resume(stored(paused.state), { decisions: approved(paused), again: true })
    expect(result.toolCalls.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['read', 'ok'],
      ['idempotent', 'ok'],
      ['unsafe', 'uncertain'],
      ['ran', 'ok'],
      ['not', 'ok'],
      ['later', 'ok'],
    ])
    expect(reconciled).toEqual(['ran', 'not'])
    await expect(runner.resume(stored(paused.state), { again: 1 } as never)).rejects.toMatchObject({ code: 'invalid_option' })
  })
})
