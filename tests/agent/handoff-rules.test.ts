import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Guardrail } from '../../src/agent/callbacks/guardrails.ts'
import type { Hooks, ToolTurn } from '../../src/agent/callbacks/hooks.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import type { Journal } from '../../src/agent/journal/journal.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { deafTool } from '../hazards/tools.ts'
import { timersLeft } from '../hazards/waiting.ts'
import { StrictJournal } from './strict-journal.ts'

afterEach(() => {
  vi.useRealTimers()
})

const { logger } = recordingLogger()
type Turns = Parameters<typeof scriptedModel>[0]
const agent = (turns: Turns, options: Omit<RunnerOptions, 'model'> = {}) =>
  new AgentRunner({ model: scriptedModel(turns), logger, ...options })
const over = { toolCalls: [{ name: 'hand_off_to_ops' }] }
const call = (name: string, args = {}) => ({ toolCalls: [{ name, args }] })
const to = (target: Parameters<typeof handoff>[0], name = 'ops') => handoff(target, { name, description: 'x' })

function wiping() {
  const wiped: unknown[] = []
  const tool = defineTool({ name: 'wipe', description: 'Wipes.', parameters: { type: 'object' }, execute: (args) => void wiped.push(args) })
  return { wiped, tool }
}

const denying: Guardrail = { name: 'no wiping', call: ({ tool }) => (tool === 'wipe' ? { refuse: 'never' } : undefined) }

describe('the rules of an agent that takes over the conversation', () => {
  it('P2.5 H58 its `call` guardrails, `beforeTool` hooks and `onToolCall` refuse what they refuse if it is called directly', async () => {
    class Ops extends CustomAgent {
      protected override onToolCall({ tool }: ToolTurn) {
        return tool === 'wipe' ? { refuse: 'not by me' } : undefined
      }
    }
    const hook: Hooks = { beforeTool: ({ tool }) => (tool === 'wipe' ? { refuse: 'hooked' } : undefined) }
    const turns: Turns = [call('wipe'), 'done']
    for (const [make, reason] of [
      [(tools: RunnerOptions['tools']) => agent(turns, { tools, guardrails: [denying] }), 'never'],
      [(tools: RunnerOptions['tools']) => agent(turns, { tools, hooks: [hook] }), 'hooked'],
      [(tools: RunnerOptions['tools']) => new Ops({ model: scriptedModel(turns), tools, logger }), 'not by me'],
    ] as const) {
      const { wiped, tool } = wiping()
      const result = await agent([over], { tools: [to(make([tool]) as AgentRunner)] }).run('go')
      expect(result).toMatchObject({ stopReason: 'answered', agent: 'ops', toolCalls: [{}, { tool: 'wipe', outcome: 'denied' }] })
      expect(result.toolCalls[1]?.content).toContain(reason)
      expect(wiped).toEqual([])
    }
  })

  it('P2.5 the rules of the run wrap them: hooks are outermost, and the run’s output guardrails are last', async () => {
    const told: string[] = []
    const rulesOf = (name: string): Pick<RunnerOptions, 'hooks' | 'guardrails'> => ({
      hooks: [
        {
          beforeTool: ({ tool }) => (tool === 'wipe' ? void told.push(`${name} before`) : undefined),
          afterTool: ({ tool }) => (tool === 'wipe' ? void told.push(`${name} after`) : undefined),
        },
      ],
      guardrails: [
        {
          name,
          call: ({ tool }) => (tool === 'wipe' ? void told.push(`${name} call`) : undefined),
          result: ({ tool }) => (tool === 'wipe' ? void told.push(`${name} result`) : undefined),
          output: ({ text }) => (text === '' ? undefined : { replace: `${text} ${name}` }),
        },
      ],
    })
    const ops = agent([call('wipe'), 'done'], { tools: [wiping().tool], ...rulesOf('own') })
    const result = await agent([over], { tools: [to(ops)], ...rulesOf('run') }).run('go')
    expect(told).toEqual(['run before', 'own before', 'run call', 'own call', 'own after', 'run after', 'own result', 'run result'])
    expect(result.output).toBe('done own run')
  })

  it('P2.5 apply once if a conversation comes back to an agent; those of the previous agent no longer apply', async () => {
    const asked: string[] = []
    const hook = (name: string): Hooks => ({ beforeModel: () => void asked.push(name) })
    const desk = agent([over, 'Back.'], { hooks: [hook('desk')] })
    const ops = agent([call('hand_off_to_desk')], { tools: [to(desk, 'desk')], hooks: [hook('ops')] })
    const result = await desk.run('go', { tools: [to(ops)] })
    expect(result).toMatchObject({ output: 'Back.', agent: 'desk' })
    expect(asked).toEqual(['desk', 'desk', 'ops', 'desk'])
  })

  it('P2.5 its `input` guardrails check the input of the run: if refused, the run ends and nothing is sent to its model', async () => {
    const model = scriptedModel(['never'])
    for (const verdict of [{ refuse: 'not for me' }, { stop: 'not for me' }, { replace: [{ role: 'user' as const, content: 'x' }] }]) {
      const ops = new AgentRunner({ model, logger, guardrails: [{ name: 'gate', input: () => verdict }] })
      const result = await agent([over], { tools: [to(ops)] }).run('the secret')
      expect(result).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' } })
    }
    expect(model.requests).toHaveLength(0)
    const seen: unknown[] = []
    const open = agent(['Fine.'], { guardrails: [{ name: 'gate', input: ({ messages }) => void seen.push(messages) }] })
    expect(await agent([over], { tools: [to(open)] }).run('hello')).toMatchObject({ stopReason: 'answered', output: 'Fine.' })
    expect(seen).toEqual([[{ role: 'user', content: 'hello' }]])
  })

  it('P2.5 `activeTools`, `stopWhen`, `aroundModel` hooks and `output` guardrails of the agent apply', async () => {
    const { wiped, tool } = wiping()
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })
    const model = scriptedModel([call('wipe'), call('look'), 'never'])
    const ops = new AgentRunner({ model, logger, tools: [tool, look], activeTools: ['look'], stopWhen: ({ iteration }) => iteration >= 3 })
    const result = await agent([over], { tools: [to(ops)] }).run('go')
    expect(result).toMatchObject({
      stopReason: 'stopped',
      iterations: 3,
      toolCalls: [{}, { errorCode: 'tool_not_found' }, { outcome: 'ok' }],
    })
    expect(model.requests[0]?.tools?.map(({ function: { name } }) => name)).toEqual(['look'])
    expect(wiped).toEqual([])
    const shown: string[] = []
    const hooks: Hooks[] = [{ aroundModel: async (_request, next) => ({ ...(await next()), text: 'hooked' }) }]
    const quiet = agent(['secret'], { hooks, guardrails: [{ name: 'o', output: ({ text }) => ({ replace: `${text}, checked` }) }] })
    await agent([over], { tools: [to(quiet)] }).run('go', { onText: (text) => shown.push(text) })
    expect(shown.join('')).toBe('hooked, checked')
  })
})

describe('the limits of an agent that takes over the conversation', () => {
  const usage = { inputTokens: 90, outputTokens: 10 }
  const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
  const looking: Turns = (_request, index) => ({ toolCalls: [{ name: 'look', args: { index } }], usage })
  const run = (own: Omit<RunnerOptions, 'model'>, outer: Omit<RunnerOptions, 'model'> = {}) =>
    agent([{ ...over, usage }], { tools: [to(agent(looking, { tools: [look], ...own }))], maxIterations: 20, ...outer }).run('go')

  it('P2.5 `tokens`, `toolCalls` and `maxIterations` count from the handoff; those of the run count everything', async () => {
    expect(await run({ limits: { tokens: 250 } })).toMatchObject({ stopReason: 'budget', iterations: 4, usage: { totalTokens: 400 } })
    expect(await run({ limits: { toolCalls: 2 } })).toMatchObject({ stopReason: 'budget', iterations: 4 })
    expect(await run({ maxIterations: 2 })).toMatchObject({ stopReason: 'max_iterations', iterations: 3 })
    expect(await run({ limits: { tokens: 1_000 } }, { limits: { tokens: 250 } })).toMatchObject({ stopReason: 'budget', iterations: 3 })
    expect(await run({ maxIterations: 50 }, { maxIterations: 4 })).toMatchObject({ stopReason: 'max_iterations', iterations: 4 })
    expect(await run({ limits: { toolCalls: 50 } }, { limits: { toolCalls: 3 } })).toMatchObject({ stopReason: 'budget', iterations: 4 })
  })

  it('P2.5 `repeatedCalls` of the agent applies, and so does that of the run across handoffs back and forth', async () => {
    const same: Turns = () => ({ ...call('look'), usage })
    const ops = agent(same, { tools: [look], limits: { repeatedCalls: 1 } })
    expect(await agent([over], { tools: [to(ops)], maxIterations: 20 }).run('go')).toMatchObject({
      stopReason: 'repeated_calls',
      iterations: 4,
    })
    const tools: ReturnType<typeof handoff>[] = []
    const ping = { model: scriptedModel(() => call('hand_off_to_pong')), tools: tools as never }
    const pong = { model: scriptedModel(() => call('hand_off_to_ping')), tools: tools as never }
    tools.push(to(ping, 'ping'), to(pong, 'pong'))
    expect(await new AgentRunner({ ...ping, logger, maxIterations: 40 }).run('go')).toMatchObject({ stopReason: 'repeated_calls' })
  })

  it('P2.5 `deadlineMs` counts from the handoff, and ends with the agent’s part of the conversation', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const deaf = deafTool()
    const ops = agent([call('deaf')], { tools: [deaf.tool], limits: { deadlineMs: 10_000 } })
    const running = agent([over], { tools: [to(ops)] }).run('go')
    await deaf.called
    vi.advanceTimersByTime(10_000)
    expect((await running).stopReason).toBe('deadline')
    const later = deafTool()
    const last = agent([call('deaf')], { tools: [later.tool] })
    const first = agent([call('hand_off_to_last')], { tools: [to(last, 'last')], limits: { deadlineMs: 5_000 } })
    const free = agent([over], { tools: [to(first)], limits: { deadlineMs: 60_000 }, toolTimeoutMs: Number.POSITIVE_INFINITY }).run('go')
    const signal = await later.called
    vi.advanceTimersByTime(30_000)
    expect(signal.aborted).toBe(false)
    vi.advanceTimersByTime(30_000)
    expect((await free).stopReason).toBe('deadline')
    expect(await timersLeft()).toBe(0)
  })

  it('P2.5 `costUsd` of the agent applies to a model that steering chooses', async () => {
    const capabilities = { nativeTools: true, price: { input: 1, output: 1 } }
    const ops = new AgentRunner({
      model: scriptedModel([call('look'), 'done'], { capabilities }),
      logger,
      tools: [look],
      limits: { costUsd: 5 },
    })
    const stream = agent([over], { tools: [to(ops)] }).stream('go')
    stream.control.useModel(scriptedModel([over], {}))
    const unpriced = scriptedModel(['never'])
    for await (const event of stream) if (event.type === 'HANDOFF') stream.control.useModel(unpriced)
    expect((await stream.result).output).toBe('done')
    expect(unpriced.requests).toHaveLength(0)
  })
})

describe('handoffs across pauses, crashes and other processes', () => {
  const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, approval: true, execute: () => 'paid' })
  const opsTurns: Turns = ({ messages }) => {
    const calls = messages.filter(({ role }) => role === 'assistant').length
    return calls === 1 ? call('pay') : calls < 6 ? call('wipe', { calls }) : 'done'
  }
  const desk = (journal?: Journal) => {
    const { wiped, tool } = wiping()
    const ops = agent(opsTurns, { tools: [pay, tool], guardrails: [denying], limits: { toolCalls: 3 } })
    const deskTurns: Turns = () => over
    return { wiped, runner: agent(deskTurns, { tools: [to(ops)], maxIterations: 20, ...(journal === undefined ? {} : { journal }) }) }
  }
  const journals: [string, (folder: string) => (Journal & { close?(): Promise<void> }) | undefined][] = [
    ['in memory', () => undefined],
    ['memoryJournal', () => memoryJournal()],
    ['sqliteJournal', (folder) => sqliteJournal({ file: join(folder, 'runs.sqlite') })],
  ]

  it.each(journals)('P2.5 H58 resumed by another runner, the agent has its guardrails and limits: %s', async (_name, open) => {
    const folder = await mkdtemp(join(tmpdir(), 'handoff-'))
    const journal = open(folder)
    const paused = await desk(journal).runner.run('go', { runId: 'r' })
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ tool: 'pay' }] })
    const later = desk(journal)
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const state = journal === undefined ? JSON.parse(JSON.stringify(paused.state)) : 'r'
    const done = await later.runner.resume(state, { decisions, claim: () => true })
    // One call to pay, and two to wipe that the guardrail refuses: they count, as they were to run.
    expect(done).toMatchObject({ stopReason: 'budget', agent: 'ops' })
    expect(done.toolCalls.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['hand_off_to_ops', 'ok'],
      ['pay', 'ok'],
      ['wipe', 'denied'],
      ['wipe', 'denied'],
      ['wipe', 'denied'],
    ])
    expect(later.wiped).toEqual([])
    await journal?.close?.()
    await rm(folder, { recursive: true })
  })

  it('P2.5 killed at any moment, a run ends the same, and the rules of the port are kept', async () => {
    const gate = { name: 'gate', input: () => undefined }
    const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', parameters: { type: 'object' }, execute: () => 'seen' })
    const run = async (crashAt: number) => {
      const journal = new StrictJournal(crashAt)
      const opsTurn: Turns = ({ messages }) => call('look', { at: messages.length })
      const { tool } = wiping()
      const ops = agent(opsTurn, { tools: [look, tool], guardrails: [gate, denying], limits: { toolCalls: 2 } })
      const { stopReason, iterations, toolCalls } = await agent(() => over, { tools: [to(ops)], journal, maxIterations: 20 }).run('go', {
        runId: 'r',
      })
      expect(journal.violations).toEqual([])
      return { moments: journal.moments, end: { stopReason, iterations, calls: toolCalls.map(({ tool, outcome }) => [tool, outcome]) } }
    }
    const whole = await run(Number.POSITIVE_INFINITY)
    expect(whole.end).toMatchObject({ stopReason: 'budget', iterations: 4 })
    for (let crashAt = 1; crashAt <= whole.moments; crashAt++) expect((await run(crashAt)).end).toEqual(whole.end)
  })
})
