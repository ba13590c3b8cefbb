import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Hooks } from '../../src/agent/callbacks/hooks.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { ToolloopError } from '../../src/core/errors.ts'
import { Event } from '../../src/core/events.ts'
import type { ChatModel, ModelResponse } from '../../src/models/chat-model.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { loopModes, type ModeScript } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { resultTexts, stage } from './stage.ts'
import { call, countingTool, deafTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'
import { turnEventLoop, until } from './waiting.ts'

failOnUnhandledRejections()

const passedOver = 'aroundTool hook failed and was skipped'
const quiet = () => recordingLogger().logger
const callEventsOf = (events: readonly { name: string }[]) => events.map(({ name }) => name).filter((name) => name.startsWith('TOOL_CALL'))

describe.each(loopModes)('hooks around a call: $name', (mode) => {
  const script: ModeScript = [{ toolCalls: [call('look', { n: 1 }, 'call_1')] }, 'done']

  async function runWith(hooks: readonly Hooks[], options: Omit<RunnerOptions, 'model' | 'hooks'> = {}) {
    const look = countingTool('look')
    await using on = await stage(mode, script, { tools: [look.tool], hooks, ...options })
    const result = await on.run()
    return { result, ran: look.calls.length, log: on.log.map(({ message }) => message), events: callEventsOf(on.events) }
  }

  it('H48 a hook’s AsyncLocalStorage value is visible in the function, also after it has awaited, and nowhere else', async () => {
    const scope = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'looks',
      execute: async () => {
        seen.push(scope.getStore())
        await turnEventLoop(1)
        seen.push(scope.getStore())
        return 'seen'
      },
    })
    const hooks: Hooks[] = [
      { aroundTool: ({ toolCallId }, next) => scope.run(`a ${toolCallId}`, next), beforeModel: () => void seen.push(scope.getStore()) },
    ]
    const two: ModeScript = [{ toolCalls: [call('look', {}, 'one'), call('look', {}, 'two')] }, 'done']
    await using on = await stage(mode, two, { tools: [look], hooks, toolConcurrency: 2 })
    const { toolCalls } = await on.run()
    const [one, two_] = toolCalls.map(({ id }) => `a ${id}`)
    expect(seen).toEqual([undefined, one, two_, one, two_, undefined])
  })

  it('H48 several hooks: the first is the outermost, between the other hooks and guardrails', async () => {
    const order: string[] = []
    const around = (name: string): Hooks => ({
      beforeTool: () => void order.push(`before ${name}`),
      afterTool: () => void order.push(`after ${name}`),
      aroundTool: async (_call, next) => {
        order.push(`${name} begins`)
        const value = await next()
        order.push(`${name} ends`)
        return value
      },
    })
    const guardrails = [{ name: 'g', call: () => void order.push('check'), result: () => void order.push('check result') }]
    await runWith([around('a'), around('b')], { guardrails })
    expect(order).toEqual([
      ...['before a', 'before b', 'check', 'a begins', 'b begins'],
      ...['b ends', 'a ends', 'after b', 'after a', 'check result'],
    ])
  })

  it('H48 a hook receives the frozen call as it runs; its return value replaces the value, and returning nothing keeps it', async () => {
    const seen: unknown[] = []
    const { result } = await runWith([
      { beforeTool: ({ args }) => ({ args: { ...args, n: 2 } }) },
      {
        aroundTool: async (running, next) => {
          const { tool, args, effect, runId, iteration, idempotencyKey, toolCallId } = running
          seen.push({ tool, args, effect, iteration, isOwn: idempotencyKey === `${runId}/1.tool.0` && toolCallId !== '' })
          seen.push(Object.isFrozen(running), Object.isFrozen(args), await next())
          return { changed: true }
        },
      },
      { aroundTool: async (_call, next) => void (await next()) },
    ])
    expect(seen).toEqual([{ tool: 'look', args: { n: 2 }, effect: 'unsafe', iteration: 1, isOwn: true }, true, true, 'look done'])
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', value: { changed: true }, content: '{"changed":true}', attempts: 1 }])
  })

  it('H48 without `next` the function does not run: the return value counts, for guardrails and listeners too', async () => {
    const guardrails = [{ name: 'g', result: () => ({ replace: '(checked)' }) }]
    const { result, ran, events, log } = await runWith([{ aroundTool: () => ({ cached: 1 }) }], { guardrails })
    expect(ran).toBe(0)
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', content: '(checked)' }])
    expect(events).toEqual(['TOOL_CALL_START', 'TOOL_CALL_END'])
    expect(log).toEqual([])
  })

  it('H48 a value that is too long to be shown is passed whole', async () => {
    const long = 'x'.repeat(100_000)
    const { tool } = countingTool('look', long)
    let seen: unknown
    const hooks: Hooks[] = [
      {
        aroundTool: async (_call, next) => {
          seen = await next()
          return seen
        },
      },
    ]
    const { result } = await runWith(hooks, { tools: [tool] })
    expect(seen).toBe(long)
    expect(String(result.toolCalls[0]?.content).length).toBeLessThan(70_000)
  })

  it('H48 `next` rejects if the call fails after its retries, so that a transaction is rolled back; the hook has not failed', async () => {
    let tries = 0
    const broken = new Error('out of paper')
    const look = defineTool({
      name: 'look',
      description: 'looks',
      parameters: { type: 'object' },
      retries: 1,
      execute: () => {
        tries++
        throw broken
      },
    })
    const seen: unknown[] = []
    const transaction: Hooks = {
      onFailure: 'refuse',
      aroundTool: async (_call, next) => {
        try {
          return await next()
        } catch (error) {
          seen.push(ToolloopError.isInstance(error) && error.code, error instanceof Error && error.cause === broken)
          throw error
        }
      },
    }
    const { result, log, events } = await runWith([transaction], { tools: [look] })
    expect(seen).toEqual(['tool_failed', true])
    expect(tries).toBe(2)
    expect(result.toolCalls).toMatchObject([{ outcome: 'failed', content: 'out of paper', attempts: 2 }])
    expect(log).toEqual(['tool call failed', 'tool call failed'])
    expect(events).toEqual(['TOOL_CALL_START', 'TOOL_CALL_END'])
    const rescued = await runWith([{ aroundTool: (_call, next) => next().catch(() => 'from the archive') }], { tools: [look] })
    expect(rescued.result.toolCalls).toMatchObject([{ outcome: 'ok', content: 'from the archive', attempts: 2 }])
  })

  it('H48 an error of one attempt is not the cause of a later end', async () => {
    let tries = 0
    const look = defineTool({
      name: 'look',
      description: 'looks',
      parameters: { type: 'object' },
      retries: 1,
      timeoutMs: 20,
      execute: () => (++tries === 1 ? Promise.reject(new Error('of the first attempt')) : new Promise(() => {})),
    })
    const causes: unknown[] = []
    const hook: Hooks = {
      aroundTool: (_call, next) =>
        next().catch((error: unknown) => {
          causes.push(ToolloopError.isInstance(error) && [error.code, error.cause])
          throw error
        }),
    }
    const { result } = await runWith([hook], { tools: [look] })
    expect(result.toolCalls).toMatchObject([{ outcome: 'timeout', attempts: 2 }])
    expect(causes).toEqual([['tool_timeout', undefined]])
  })

  it('H37 H48 a hook that throws, rejects, hangs or does nothing, before or after `next`, is logged and skipped: the function runs once', async () => {
    const failing: Hooks['aroundTool'][] = [
      () => {
        throw new Error('no')
      },
      async () => Promise.reject(new Error('no')),
      () => new Promise(() => {}),
      () => undefined,
      async (_call, next) => {
        await next()
        throw new Error('no')
      },
      async (_call, next) => {
        await next()
        await new Promise(() => {})
      },
      async (_call, next) => {
        await next()
        return next()
      },
    ]
    for (const aroundTool of failing) {
      const { result, ran, log, events } = await runWith([{ aroundTool } as Hooks], { toolTimeoutMs: 20 })
      expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ outcome: 'ok', content: 'look done' }] })
      expect(ran).toBe(1)
      expect(log).toEqual([passedOver])
      expect(events).toEqual(['TOOL_CALL_START', 'TOOL_CALL_END'])
    }
  })

  it('P1.2 H48 an `aroundTool` hook with `onFailure: refuse` fails its call, and the model learns whether it ran', async () => {
    const begin = await runWith([{ onFailure: 'refuse', aroundTool: () => Promise.reject(new Error('no connection')) }])
    expect(begin.ran).toBe(0)
    expect(begin.result.toolCalls).toMatchObject([{ outcome: 'rejected', errorCode: 'tool_failed', content: 'no connection' }])
    expect(begin.events).toEqual(['TOOL_CALL_REJECTED'])
    const commit = await runWith([
      {
        onFailure: 'refuse',
        aroundTool: async (_call, next) => {
          await next()
          throw new Error('deadlock detected')
        },
      },
    ])
    expect(commit.ran).toBe(1)
    const told = 'The call to `look` was run, but could not be completed: deadlock detected'
    expect(commit.result.toolCalls).toMatchObject([{ outcome: 'failed', errorCode: 'tool_failed', content: told }])
    expect(commit.result.toolCalls[0]).not.toHaveProperty('value')
    expect(commit.events).toEqual(['TOOL_CALL_START', 'TOOL_CALL_END'])
    expect(commit.log).toEqual(['aroundTool hook failed: its call fails'])
  })

  it('H48 a slow function does not use up the time of its hook, and a hook that does not await it is still awaited', async () => {
    const slow = defineTool({
      name: 'look',
      description: 'looks',
      parameters: { type: 'object' },
      timeoutMs: 10_000,
      execute: () => new Promise((resolve) => setTimeout(() => resolve('at last'), 60)),
    })
    const patient = await runWith([{ aroundTool: (_call, next) => next() }], { tools: [slow], toolTimeoutMs: 20 })
    expect(patient.result.toolCalls).toMatchObject([{ outcome: 'ok', content: 'at last' }])
    const hasty = await runWith(
      [
        {
          aroundTool: (_call, next) => {
            void next()
          },
        },
      ],
      { tools: [slow] },
    )
    expect(hasty.result.toolCalls).toMatchObject([{ outcome: 'ok', content: 'at last' }])
    expect([...patient.log, ...hasty.log]).toEqual([])
  })

  it('H48 a skipped hook can’t run the function any more', async () => {
    const late = Promise.withResolvers<unknown>()
    const gate = Promise.withResolvers<void>()
    const { ran } = await runWith(
      [
        {
          aroundTool: async (_call, next) => {
            await gate.promise
            next().catch(late.resolve)
          },
        },
      ],
      { toolTimeoutMs: 20 },
    )
    gate.resolve()
    expect(String(await late.promise)).toContain('`next` was called when its hook was over')
    expect(ran).toBe(1)
  })

  it('H30 H48 an abort ends the run immediately, whatever the hook does, and `next` reports it', async () => {
    const deaf = deafTool('look')
    const controller = new AbortController()
    const told = Promise.withResolvers<unknown>()
    const hooks: Hooks[] = [
      {
        aroundTool: async (_call, next) => {
          await next().catch((error: unknown) => told.resolve(error))
          return new Promise(() => {})
        },
      },
    ]
    await using on = await stage(mode, script, { tools: [deaf.tool], hooks })
    const running = on.run('go', { signal: controller.signal })
    await deaf.called
    controller.abort()
    expect(await running).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'cancelled' }] })
    expect(await told.promise).toMatchObject({ code: 'tool_cancelled' })
  })

  it.each(['beforeTool', 'aroundTool'] as const)(
    'H36 a run that ends while %s is asked: the call is rejected and does not start',
    async (name) => {
      const controller = new AbortController()
      const { tool, calls } = countingTool('look')
      const hook = () => {
        controller.abort()
        return new Promise<undefined>(() => {})
      }
      await using on = await stage(mode, script, { tools: [tool], hooks: [{ [name]: hook }] })
      const result = await on.run('go', { signal: controller.signal })
      expect(result).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'cancelled', errorCode: 'tool_cancelled' }] })
      expect(calls).toEqual([])
      expect(callEventsOf(on.events)).toEqual([Event.TOOL_CALL_REJECTED])
    },
  )

  it('H48 a question passes through: the run pauses, and a recorded step asks no hook again when it is resumed', async () => {
    const asked: unknown[] = []
    const hooks: Hooks[] = [
      {
        aroundTool: async ({ tool }, next) => {
          const value = await next()
          asked.push([tool, value])
          return value
        },
      },
    ]
    const look = countingTool('look').tool
    const book = defineTool({
      name: 'book',
      description: 'books',
      execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'for how many?' }) : `for ${String(answer)}`),
    })
    const both: ModeScript = [{ toolCalls: [call('look', {}, 'a'), call('book', {}, 'b')] }, 'done']
    await using on = await stage(mode, both, { tools: [look, book], hooks })
    const paused = await on.runner.run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'question', about: 'for how many?' }] })
    expect(asked).toHaveLength(2)
    const decisions = paused.pending.map((item) => ({ ...item, answer: 4 }))
    const result = await on.runner.resume(JSON.parse(JSON.stringify(paused.state)), { decisions })
    expect(resultTexts(result)).toEqual(['look done', 'for 4'])
    expect(asked.slice(2)).toEqual([['book', 'for 4']])
  })
})

describe.each(loopModes)('hooks around a request: $name', (mode) => {
  const usage = { inputTokens: 40, outputTokens: 10 }
  const script: ModeScript = [
    { toolCalls: [call('look', { n: 1 }, 'call_1')], usage },
    { text: 'It is done.', usage },
  ]

  async function runWith(hooks: readonly Hooks[], turns: ModeScript = script, options: Omit<RunnerOptions, 'model' | 'hooks'> = {}) {
    const look = countingTool('look')
    await using on = await stage(mode, turns, { tools: [look.tool], hooks, ...options })
    const pieces: string[] = []
    const result = await on.run('go', { onText: (delta) => void pieces.push(delta) })
    return {
      result,
      text: pieces.join(''),
      ran: look.calls.length,
      sent: on.provider.requests.length,
      log: on.log.map(({ message }) => message),
      records: on.log,
    }
  }

  it('H48 a hook’s AsyncLocalStorage value is visible for the request and every piece of the response, and nowhere else', async () => {
    const scope = new AsyncLocalStorage<string>()
    const seen = new Set<unknown>()
    const sent: unknown[] = []
    const hooks: Hooks[] = [{ aroundModel: ({ iteration }, next) => scope.run(`request ${iteration}`, next) }]
    const settings = {
      fetch: (...request: Parameters<typeof fetch>) => {
        sent.push(scope.getStore())
        return fetch(...request)
      },
    }
    for (const more of [{}, { settings }]) {
      seen.clear()
      await using on = await stage(mode, ['Here it is, in several pieces.', 'And again.'], { hooks, ...more })
      on.runner.on(Event.TEXT_DELTA, () => void seen.add(scope.getStore()))
      on.runner.on(Event.RUN_END, () => void seen.add(scope.getStore() ?? 'outside'))
      await on.run()
      // On a connection that another request has opened.
      await on.run()
      expect([...seen]).toEqual(['request 1', 'outside'])
    }
    expect(sent).toEqual(['request 1', 'request 1'])
  })

  it('H48 a hook receives the frozen request as it is sent, and the whole response with its usage', async () => {
    const seen: unknown[] = []
    const { result } = await runWith(
      [
        {
          aroundModel: async (request, next) => {
            const { messages, model, iteration, temperature } = request
            seen.push([messages.at(-1)?.role === 'assistant', model.model.includes('mock'), iteration, temperature])
            seen.push(Object.isFrozen(request) && Object.isFrozen(messages))
            const { text, usage } = await next()
            seen.push([text.length > 0, (usage?.totalTokens ?? 0) > 0])
            return undefined
          },
        },
      ],
      script.slice(1),
      { temperature: 0.5 },
    )
    expect(seen).toEqual([[false, true, 1, 0.5], true, [true, true]])
    expect(result.output).toBe('It is done.')
  })

  it('H48 without `next` nothing is sent: the return value is shown, its calls run, and it has used nothing', async () => {
    const kept: ModelResponse[] = []
    const keep: Hooks = {
      aroundModel: async (_request, next) => {
        const { usage: _, ...response } = await next()
        kept.push(structuredClone(response))
        return undefined
      },
    }
    const first = await runWith([keep])
    expect(first.result.usage.totalTokens).toBeGreaterThan(0)
    const answer: Hooks = { aroundModel: ({ iteration }) => kept[iteration - 1] }
    const again = await runWith([answer], [])
    expect(again.sent).toBe(0)
    expect(again.ran).toBe(1)
    expect(again.text).toBe(first.text)
    expect(again.result).toMatchObject({ stopReason: 'answered', output: 'It is done.', usage: { totalTokens: 0 } })
    expect(again.log).toEqual([])
  })

  it('H48 a hook’s own response passes the guardrails before it is shown', async () => {
    const guardrails = [{ name: 'g', output: () => ({ replace: '(hidden)' }) }]
    const response: ModelResponse = { text: 'a secret', toolCalls: [], finishReason: 'stop' }
    const { result, text } = await runWith([{ aroundModel: () => response }], [], { guardrails })
    expect(result.output).toBe('(hidden)')
    expect(text).toBe('(hidden)')
  })

  it('H48 `next` rejects with the request’s error; the hook may answer instead, otherwise the error is reported as usual', async () => {
    const fault = { status: 401, body: { error: { message: 'no such key' } } }
    const broken: ModeScript = [{ error: Object.assign(new Error('no such key'), fault) }]
    const seen: unknown[] = []
    const watch: Hooks = {
      aroundModel: async (_request, next) => {
        try {
          return await next()
        } catch (error) {
          seen.push(ToolloopError.isInstance(error))
          throw error
        }
      },
    }
    const failed = await runWith([watch], broken)
    expect(failed.result.stopReason).toBe('model_error')
    expect(seen).toEqual([true])
    expect(failed.log).toEqual(['model request failed'])
    const spare: ModelResponse = { text: 'I can’t say now.', toolCalls: [], finishReason: 'stop' }
    const rescued = await runWith([{ aroundModel: (_request, next) => next().catch(() => spare) }], broken)
    expect(rescued.result).toMatchObject({ stopReason: 'answered', output: 'I can’t say now.' })
    expect(rescued.text).toBe('I can’t say now.')
  })

  it('H37 H48 a hook that throws, rejects, hangs, or returns no response is logged and skipped: one request is sent', async () => {
    const failing: Hooks['aroundModel'][] = [
      () => {
        throw new Error('no')
      },
      () => new Promise(() => {}),
      () => undefined,
      () => ({ text: 1 }) as never,
      async (_request, next) => {
        await next()
        throw new Error('no')
      },
      async (_request, next) => {
        await next()
        return new Promise(() => {})
      },
      async (_request, next) => {
        await next()
        return next()
      },
    ]
    for (const aroundModel of failing) {
      const { result, text, sent, log } = await runWith([{ aroundModel } as Hooks], ['done'], { toolTimeoutMs: 20 })
      expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
      expect(text).toBe('done')
      expect(sent).toBe(1)
      expect(log).toEqual(['aroundModel hook failed and was skipped'])
    }
  })

  it('P1.2 an `aroundModel` hook with `onFailure: refuse` ends the run if it fails, and the request’s usage counts', async () => {
    const hook = { name: 'audit', onFailure: 'refuse' as const }
    const before = await runWith([{ ...hook, aroundModel: () => Promise.reject(new Error('no')) }], ['done'])
    expect(before.result).toMatchObject({ stopReason: 'refused', output: '', error: { code: 'hook_failed' }, usage: { totalTokens: 0 } })
    expect([before.sent, before.log]).toEqual([0, ['aroundModel hook failed: the run ends']])
    const after = await runWith(
      [
        {
          ...hook,
          aroundModel: async (_request, next) => {
            await next()
            throw new Error('no')
          },
        },
      ],
      [{ text: 'done', usage: { inputTokens: 3, outputTokens: 2 } }],
    )
    expect(after.result).toMatchObject({ stopReason: 'refused', output: '', error: { code: 'hook_failed' } })
    expect([after.sent, after.result.usage.totalTokens, after.log]).toEqual([1, 5, ['aroundModel hook failed: the run ends']])
  })

  it.each([[{}], [{ content: 'hi' }], [{ text: '' }], [new Response('hi')], ['hi'], [null], [[]]])(
    'H37 H48 a hook that returns %j in place of a response is logged by name, with what was expected and received',
    async (given) => {
      const hook = { name: 'odd', aroundModel: () => given as never }
      for (const aroundModel of [hook.aroundModel, (_request: unknown, next: () => Promise<unknown>) => next().then(hook.aroundModel)]) {
        const { result, records } = await runWith([{ ...hook, aroundModel } as Hooks], ['done'])
        expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
        expect(records).toMatchObject([
          { fields: { hook: 'odd', error: expect.stringMatching(/^Expected a response with `text` or `toolCalls`, or nothing, got `/) } },
        ])
      }
    },
  )

  it('H48 an empty response that the hook passes on is the model’s, and is requested again', async () => {
    const passOn: Hooks = { aroundModel: async (_request, next) => ({ ...(await next()) }) }
    const { result, log } = await runWith([passOn], ['', 'done'])
    expect([result.output, log]).toEqual(['done', ['empty response, asking once more']])
  })

  it('H30 H48 an abort ends the run immediately, whatever the hook does, and keeps what had arrived', async () => {
    const controller = new AbortController()
    const hooks: Hooks[] = [{ aroundModel: (_request, next) => next().catch(() => new Promise(() => {})) }]
    await using on = await stage(mode, [{ text: 'Once upon', hang: true }], { hooks })
    on.runner.on(Event.TEXT_DELTA, () => controller.abort())
    const running = on.run('go', { signal: controller.signal })
    if (!mode.streaming) setTimeout(() => controller.abort(), 50)
    expect(await running).toMatchObject({ stopReason: 'aborted' })
  })
})

describe('hooks around calls and requests', () => {
  it('H48 hooks of a run are not those of nested runs, which still see their AsyncLocalStorage values', async () => {
    const scope = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const look = defineTool({ name: 'look', description: 'looks', execute: () => void seen.push(scope.getStore()) })
    const inside = new AgentRunner({ model: scriptedModel([{ toolCalls: [call('look')] }, 'seen']), tools: [look], logger: quiet() })
    const asked: string[] = []
    const hooks: Hooks[] = [
      {
        aroundTool: ({ tool }, next) => {
          asked.push(tool)
          return scope.run('outside', next)
        },
      },
    ]
    const research = asTool(inside, { name: 'research', description: 'Finds out.' })
    const model = scriptedModel([{ toolCalls: [call('research', { task: 'x' })] }, 'done'])
    await new AgentRunner({ model, tools: [research], hooks, logger: quiet() }).run('go')
    expect(asked).toEqual(['research'])
    expect(seen).toEqual(['outside'])
  })

  it('H48 a piece that arrives over another request’s connection still sees the hook’s value', async () => {
    const scope = new AsyncLocalStorage<string>()
    const connection = new EventEmitter()
    const model: ChatModel = {
      provider: 'own',
      model: 'own',
      capabilities: { nativeTools: true },
      generate: (_request, sink) =>
        new Promise((resolve) => {
          connection.once('data', (text: string) => {
            sink?.text?.(text)
            resolve({ text, toolCalls: [], finishReason: 'stop' })
          })
        }),
    }
    const seen: unknown[] = []
    const hooks: Hooks[] = [{ aroundModel: (_request, next) => scope.run('inside', next) }]
    const running = new AgentRunner({ model, hooks, logger: quiet() }).run('go', { onText: () => void seen.push(scope.getStore()) })
    await until(() => connection.listenerCount('data') > 0)
    connection.emit('data', 'a piece')
    expect(await running).toMatchObject({ output: 'a piece' })
    expect(seen).toEqual(['inside'])
  })

  it('H48 a response that a hook changes in place stays as received, and its usage counts', async () => {
    const usage = { inputTokens: 10, outputTokens: 5 }
    const spoilers: ((response: ModelResponse) => void)[] = [
      (response) => Object.assign(response, { toolCalls: null }),
      (response) => Object.assign(response, { text: 5 }),
      (response) => Object.assign(response.toolCalls[0]?.function ?? {}, { name: 7 }),
      (response) => delete response.usage,
    ]
    for (const spoil of spoilers) {
      for (const returns of [true, false]) {
        const look = countingTool('look')
        const hook: Hooks = {
          aroundModel: async (_, next) => {
            const response = await next()
            spoil(response)
            return returns ? response : undefined
          },
        }
        const model = scriptedModel([
          { toolCalls: [{ name: 'look', args: { n: 1 } }], usage },
          { text: 'done', usage },
        ])
        const result = await new AgentRunner({ model, tools: [look.tool], hooks: [hook], logger: quiet() }).run('go')
        expect([result.output, result.usage.totalTokens, look.calls.length]).toEqual(['done', 30, 1])
      }
    }
  })

  it('H48 a hook that answers for a failed inner hook: the call is reported as started and ended', async () => {
    const look = countingTool('look')
    const inner: Hooks = {
      onFailure: 'refuse',
      aroundTool: () => {
        throw new Error('no database')
      },
    }
    const outer: Hooks = { aroundTool: async (_, next) => next().catch(() => 'from the cache') }
    const model = scriptedModel([{ toolCalls: [{ name: 'look', args: { n: 1 } }] }, 'done'])
    const runner = new AgentRunner({ model, tools: [look.tool], hooks: [outer, inner], logger: quiet() })
    const names: string[] = []
    for (const name of [Event.TOOL_CALL_START, Event.TOOL_CALL_END, Event.TOOL_CALL_REJECTED]) runner.on(name, () => void names.push(name))
    const { toolCalls } = await runner.run('go')
    expect(toolCalls[0]).toMatchObject({ outcome: 'ok', content: 'from the cache' })
    expect(names).toEqual([Event.TOOL_CALL_START, Event.TOOL_CALL_END])
  })

  it('P1.2 `onFailure` accepts two values', () => {
    const hooks = [{ onFailure: 'close' as 'skip' }]
    expect(() => new AgentRunner({ model: scriptedModel([]), hooks })).toThrow("`hooks[0].onFailure` to be 'refuse' or 'skip'")
  })
})
