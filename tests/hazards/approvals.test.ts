import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Decision } from '../../src/agent/decisions/decisions.ts'
import type { RunResult, RunState } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { isToolResult, type JsonObject } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, ask, askAll, defineTool } from '../../src/tools/tool.ts'
import { quickModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { expectValidHistory, resultTexts, stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()
afterEach(() => {
  vi.useRealTimers()
})

const approve = (result: RunResult, more: object = {}): Decision[] =>
  result.pending.map((item) => ({ ...item, approved: true as const, ...more }))

/** As another process reads it from a database. */
const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))

describe.each(quickModes)('approvals: $name', (mode) => {
  it('H33 H34 a call that needs approval waits while others run; resumed elsewhere it runs once, and only then is the model asked', async () => {
    const [pay, look] = [countingTool('pay'), countingTool('look')]
    await using on = await stage(mode, [{ text: 'Both.', toolCalls: [call('pay', { n: 1 }), call('look')] }, 'done'], {
      tools: [{ ...pay.tool, approval: true }, look.tool],
    })
    const paused = await on.runner.run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', output: 'Both.', pending: [{ kind: 'approval', tool: 'pay', args: { n: 1 } }] })
    expect(stored(paused.pending)).toEqual(paused.pending)
    expect([pay.calls.length, look.calls.length]).toEqual([0, 1])

    const undecided = await on.runner.resume(stored(paused.state))
    expect(undecided).toMatchObject({ stopReason: 'paused', pending: paused.pending })
    expect(on.provider.requests).toHaveLength(1)

    const result = await on.runner.resume(stored(undecided.state), { decisions: stored(approve(paused)) })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 2, runId: paused.runId })
    expect([pay.calls.length, look.calls.length]).toEqual([1, 1])
    expectValidHistory(result.messages)
    expect(resultTexts(result)).toEqual(['pay done', 'look done'])
    expect(result.newMessages).toEqual(result.messages)
  })

  it('H34 a refusal is reported to the model, and nothing of the call runs', async () => {
    const pay = countingTool('pay')
    await using on = await stage(mode, [{ toolCalls: [call('pay')] }, 'done'], { tools: [{ ...pay.tool, approval: true }] })
    const paused = await on.runner.run('go')
    const decisions = paused.pending.map((item) => ({ ...item, approved: false as const, reason: 'too dear' }))
    const result = await on.runner.resume(stored(paused.state), { decisions })
    expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ outcome: 'denied', errorCode: 'tool_denied' }] })
    expect(resultTexts(result)).toEqual(['The call to `pay` was refused: too dear'])
    expect(pay.calls).toEqual([])
  })
})

function tools(ran: string[]): AnyTool[] {
  const parameters = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const execute = (name: string) => (args: JsonObject) => {
    ran.push(`${name} ${String(args.n)}`)
    return `${name} ${String(args.n)} done`
  }
  const make = (name: string, more: object = {}) =>
    defineTool({ name, description: name, parameters, effect: 'read', execute: execute(name), ...more })
  return [
    make('free'),
    make('guarded', { approval: true }),
    make('theirs', { execute: undefined }),
    make('curious', {
      execute: (args: JsonObject, { answer }: { answer?: unknown }) => {
        if (answer === undefined) return ask({ about: { question: args.n ?? 0 } })
        ran.push(`curious ${String(args.n)}`)
        return `heard ${String(answer)}`
      },
    }),
  ]
}

describe('what waits for a decision', () => {
  it('combines several questions into one, with an answer for each', async () => {
    const order = defineTool({
      name: 'order',
      description: 'Orders.',
      execute: (_args, { answer }) =>
        answer === undefined
          ? askAll({ size: ask({ about: 'Which size?', schema: { type: 'integer' } }), colour: ask({ about: 'Which colour?' }) })
          : { answer },
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'order', args: {} }] }, 'done'])
    const runner = new AgentRunner({ model, tools: [order] })
    const paused = await runner.run('go')
    const properties = { size: { type: 'integer' }, colour: { type: 'string' } }
    expect(paused.pending).toMatchObject([
      {
        kind: 'question',
        about: { questions: { size: 'Which size?', colour: 'Which colour?' } },
        schema: { type: 'object', properties, required: ['size', 'colour'] },
      },
    ])
    const answer = { size: 42, colour: 'red' }
    const { stopReason, toolCalls } = await runner.resume(stored(paused.state), {
      decisions: paused.pending.map((item) => ({ ...item, answer })),
    })
    expect([stopReason, toolCalls[0]?.value]).toEqual(['answered', { answer }])
  })

  it('H34 is decided in any order, in part, twice, across restarts: each approved call runs once, a refused one never', async () => {
    const kind = fc.constantFrom('free', 'guarded', 'theirs', 'curious')
    const verdicts = fc.infiniteStream(fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(kind, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
        verdicts,
        async (plan, choices) => {
          const ran: string[] = []
          let asked = 0
          const model = scriptedModel(({ messages }) => {
            asked++
            // No request is made while a call has no result.
            expectValidHistory(messages)
            const turn = messages.filter(({ role }) => role === 'assistant').length
            const calls = plan[turn]?.map((name, n) => ({ id: `c${turn}_${n}`, name, args: { n: turn * 10 + n } }))
            return calls === undefined ? 'done' : { toolCalls: calls }
          })
          // A runner for each process.
          const open = () => new AgentRunner({ model, tools: tools(ran), maxIterations: 10, logger: recordingLogger().logger })
          let result = await open().run('go')
          const expected: string[] = []
          for (const [turn, names] of plan.entries()) {
            for (const [n, name] of names.entries()) if (name === 'free') expected.push(`free ${turn * 10 + n}`)
          }
          const early: Decision[] = []
          for (let rounds = 0; result.stopReason === 'paused' && rounds < 60; rounds++) {
            const decisions = result.pending.flatMap((item): Decision[] => {
              const [decides = true, agrees = true, twice = false] = choices.next().value ?? []
              if (!decides && rounds < 40) return []
              if (!agrees) return [{ ...item, approved: false }]
              if (item.tool !== 'theirs') expected.push(`${item.tool} ${String(item.args.n)}`)
              const yes: Decision =
                item.kind === 'approval'
                  ? { ...item, approved: true }
                  : item.kind === 'question'
                    ? { ...item, answer: 'yes' }
                    : { ...item, result: { theirs: item.args.n ?? null } }
              // The second of two decisions on one call does not count, nor does one made earlier.
              return twice ? [yes, { ...item, approved: false }] : [yes]
            })
            const stale: Decision[] = [...early, { toolCallId: 'nobody', fingerprint: '', approved: true }]
            result = await open().resume(stored(result.state), { decisions: stored([...decisions, ...stale]) })
            early.push(...decisions)
          }
          expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
          expect(ran.toSorted()).toEqual(expected.toSorted())
          expect(asked).toBe(plan.length + 1)
          expectValidHistory(result.messages)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('H34 is continued by another process after the first was killed, with JSON alone', async () => {
    const { startStrictProvider } = await import('../models/rules/strict-provider.ts')
    await using server = await startStrictProvider({ script: [{ toolCalls: [{ id: 'c', name: 'pay', arguments: { n: 1 } }] }, 'done'] })
    const { createModel } = await import('../../src/models/create-model.ts')
    const pay = countingTool('pay')
    const model = createModel({ provider: 'custom', model: 'mock', baseURL: server.baseURL, apiKey: 'k' })
    const paused = await new AgentRunner({ model, tools: [{ ...pay.tool, approval: true }] }).run('go')
    const child = spawn(process.execPath, [fileURLToPath(new URL('resume-process.ts', import.meta.url))], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.end(JSON.stringify({ baseURL: server.baseURL, state: paused.state, decisions: approve(paused) }))
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(code).toBe(0)
    const { result, ran } = JSON.parse(out)
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', runId: paused.runId, iterations: 2 })
    expect(ran).toEqual([{ n: 1 }])
    expect(pay.calls).toEqual([])
  })

  const open = (more: object = {}, log = recordingLogger()) => {
    const ran: string[] = []
    const model = scriptedModel(({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length
      return turn < 2 ? { toolCalls: [{ id: `c${turn}`, name: 'guarded', args: { n: 5 } }] } : 'done'
    })
    return { runner: new AgentRunner({ model, tools: tools(ran), logger: log.logger, ...more }), ran, log }
  }

  it('H34 has edited arguments validated before anything happens, and the model sees them', async () => {
    const { runner, ran } = open()
    const paused = await runner.run('go')
    const wrong = runner.resume(paused.state, { decisions: approve(paused, { args: { n: 'many' } }) })
    await expect(wrong).rejects.toThrow(/Expected `decisions\[0\]\.args` to be arguments of `guarded` \(.*n.*integer/s)
    expect(ran).toEqual([])
    const result = await runner.resume(paused.state, { decisions: approve(paused, { args: { n: 7 } }) })
    expect(ran).toEqual(['guarded 7'])
    expect(resultTexts(result)).toEqual(['guarded 7 done\n\nNote: the call was run with other arguments: {"n":7}'])
    expect(result.toolCalls[0]).toMatchObject({ args: { n: 7 }, repairs: ['arguments changed by whoever approved the call'] })
  })

  it('H34 only accepts a decision for one call of one run with its arguments, and ignores others', async () => {
    const { runner, ran, log } = open()
    const [one, two] = [await runner.run('go'), await runner.run('go')]
    expect(one.pending[0]?.toolCallId).toBe(two.pending[0]?.toolCallId)
    const still = await runner.resume(one.state, { decisions: approve(two) })
    expect(still).toMatchObject({ stopReason: 'paused', pending: one.pending })
    expect(ran).toEqual([])
    expect(log.records.at(-1)?.message).toBe('a decision was skipped: no call waits for it')
    // A decision does not approve arguments that were changed in the state.
    const forged = stored(one.state)
    if (forged?.pending[0]) forged.pending[0].args = { n: 1000 }
    expect(await runner.resume(forged, { decisions: approve(one) })).toMatchObject({ stopReason: 'paused' })
    expect(ran).toEqual([])
  })

  it('ignores a late decision: the call is refused and the run continues', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { runner, ran } = open({ decisionTimeoutMs: 1000 })
    const paused = await runner.run('go')
    vi.advanceTimersByTime(999)
    expect(await runner.resume(paused.state)).toMatchObject({ stopReason: 'paused' })
    vi.advanceTimersByTime(1)
    const next = await runner.resume(paused.state, { decisions: approve(paused) })
    expect(resultTexts(next)).toEqual(['The call to `guarded` was refused: nobody decided in time'])
    expect(next).toMatchObject({ stopReason: 'paused', iterations: 2 })
    expect(ran).toEqual([])
  })

  it('asks once for a remembered approval, in this run and in others', async () => {
    const { runner, ran } = open()
    const paused = await runner.run('go')
    const result = await runner.resume(stored(paused.state), { decisions: approve(paused, { remember: true }) })
    expect(result).toMatchObject({ stopReason: 'answered', iterations: 3, remembered: [expect.any(String)] })
    expect(ran).toEqual(['guarded 5', 'guarded 5'])
    const { remembered = [] } = stored(result)
    expect(await runner.run('go', { remembered })).toMatchObject({ stopReason: 'answered', iterations: 3 })
    expect(ran).toHaveLength(4)
  })

  it('H36 publishes START and END for what the caller ran; H30 a resumed run can be aborted', async () => {
    const ran: string[] = []
    const model = scriptedModel([
      {
        toolCalls: [
          { id: 'a', name: 'theirs', args: { n: 1 } },
          { id: 'b', name: 'guarded', args: { n: 2 } },
        ],
      },
      'done',
    ])
    const runner = new AgentRunner({ model, tools: tools(ran) })
    const paused = await runner.run('go')
    expect(paused.pending.map(({ kind }) => kind)).toEqual(['client_tool', 'approval'])
    const seen: string[] = []
    runner.bus.onAny((name, _payload, { toolCallId = '' }) => seen.push(`${name} ${toolCallId}`))
    const [theirs, guarded] = paused.pending
    if (theirs === undefined || guarded === undefined) throw new Error('nothing is pending')
    const half = await runner.resume(paused.state, { decisions: [{ ...theirs, result: 'no luck', isError: true }] })
    expect(half).toMatchObject({
      stopReason: 'paused',
      pending: [guarded],
      toolCalls: [{ id: 'a', outcome: 'failed', content: 'no luck' }],
    })
    expect(seen).toEqual(['RUN_START ', 'DECISION_MADE a', 'TOOL_CALL_START a', 'TOOL_CALL_END a', 'RUN_END '])
    const aborted = await runner.resume(half.state, { signal: AbortSignal.abort() })
    expect(aborted).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'failed' }, { outcome: 'cancelled' }] })
    expect(aborted.messages.filter(isToolResult)).toHaveLength(2)
    expect(seen.filter((name) => name.startsWith(Event.TOOL_CALL_REJECTED))).toEqual(['TOOL_CALL_REJECTED b'])
  })

  it.each<[string, (state: RunState, result: RunResult) => unknown, string]>([
    ['nothing', () => undefined, "Expected `state` to be the `state` of a paused run's result, got `undefined`"],
    ['an empty object', () => ({}), "Expected `state.version` to be 1, as in the `state` of a paused run's result, got `undefined`"],
    ['another version', () => ({ version: 2 }), 'Expected `state.version` to be 1'],
    ['a part of one', () => ({ version: 1, runId: 'r', steps: {} }), 'Expected `state.input` to be an object'],
    ['a state without its run', (state) => ({ ...state, runId: undefined }), 'Expected `state.runId` to be a string'],
    ['a list of steps', (state) => ({ ...state, steps: [] }), 'Expected `state.steps` to be an object'],
    ['no pending items', ({ pending, ...state }) => state, 'Expected `state.pending` to be an array of items'],
    ['pending items without a place', (state) => ({ ...state, pending: [{ toolCallId: 'a', fingerprint: 'f' }] }), 'state.pending'],
    ['kept results that are no text', (state) => ({ ...state, kept: { a: 1 } }), 'Expected `state.kept` to be an object of strings'],
    ['the whole result', (_state, result) => result, 'pass `result.state`'],
    ['the result of a run that answered', () => ({ stopReason: 'answered' }), 'which only a paused run has'],
  ])('E4.6 refuses %s as a state', async (_what, given, message) => {
    const { runner, ran } = open()
    const paused = await runner.run('go')
    const refused = runner.resume(given(paused.state as RunState, paused) as never, {
      decisions: paused.pending.map((item) => ({ ...item, approved: true })),
    })
    await expect(refused).rejects.toThrow(message)
    expect(ran).toEqual([])
  })

  it('refuses decisions that are empty, or don’t match the question', async () => {
    const { runner, ran } = open()
    const paused = await runner.run('go')
    const [item] = paused.pending
    const given = (decision: object) => runner.resume(paused.state, { decisions: [{ ...item, ...decision } as never] })
    await expect(given({})).rejects.toThrow('Expected `decisions[0].approved` to be true or false')
    await expect(given({ approved: 'yes' })).rejects.toThrow('got `"yes"`')
    await expect(given({ approved: false, reason: 5 })).rejects.toThrow('decisions[0].reason')
    await expect(runner.resume(paused.state, { decisions: 'all' as never })).rejects.toThrow('Expected `decisions` to be an array')
    expect(ran).toEqual([])
  })

  it('H35 does not ask whether invalid arguments need approval, and treats an error as yes', async () => {
    const asked: unknown[] = []
    const guarded = defineTool({
      name: 'guarded',
      description: 'Guarded.',
      parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      approval: (args) => {
        asked.push(args)
        throw new Error('no idea')
      },
      execute: () => 'ran',
    })
    const model = scriptedModel([
      {
        toolCalls: [
          { id: 'a', name: 'guarded', args: { n: 'x' } },
          { id: 'b', name: 'guarded', args: { n: 1 } },
        ],
      },
      'done',
    ])
    const { logger, records } = recordingLogger()
    const paused = await new AgentRunner({ model, tools: [guarded], logger }).run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ toolCallId: 'b' }] })
    expect(asked).toEqual([{ n: 1 }])
    expect(records.map(({ message }) => message)).toContain('approval predicate failed; the call needs an approval')
  })
})

describe('a waiting run', () => {
  it('H33 reports what it waits for once; H34 a stream of it continues where it stopped', async () => {
    const pay = countingTool('pay')
    const model = scriptedModel([{ toolCalls: [call('pay', { n: 1 })] }, 'Paid it.'])
    const runner = new AgentRunner({ model, logger: recordingLogger().logger, tools: [{ ...pay.tool, approval: true }] })
    const needed: object[] = []
    runner.on(Event.DECISION_NEEDED, (item) => void needed.push(item))
    const paused = await runner.run('go')
    expect(needed).toEqual(paused.pending)
    const stream = runner.resumeStream(stored(paused.state), { decisions: approve(paused) })
    let text = ''
    for await (const piece of stream.text) text += piece
    expect(text).toBe('Paid it.')
    expect(await stream.result).toMatchObject({ stopReason: 'answered', runId: paused.runId })
    expect(needed).toHaveLength(1)
    expect(pay.calls).toHaveLength(1)
  })

  it('H30 is aborted if the stream of its resumed run is left', async () => {
    const pay = countingTool('pay')
    const model = scriptedModel([{ toolCalls: [call('pay', { n: 1 })] }, { text: 'On and on', hang: true }])
    const runner = new AgentRunner({ model, logger: recordingLogger().logger, tools: [{ ...pay.tool, approval: true }] })
    const paused = await runner.run('go')
    const stream = runner.resumeStream(paused.state, { decisions: approve(paused) })
    for await (const event of stream) if (event.type === 'TEXT_DELTA') break
    expect(await stream.result).toMatchObject({ stopReason: 'aborted' })
  })
})
