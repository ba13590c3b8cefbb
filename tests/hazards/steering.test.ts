import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { ToolAgent } from '../../src/agent/tool-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { type Content, textOf } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { StrictJournal } from '../agent/strict-journal.ts'
import { type ModeScript, quickModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { resultTexts, stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

const words = (request: { messages: readonly { content: Parameters<typeof textOf>[0] }[] } | undefined) =>
  request?.messages.map(({ content }) => textOf(content)).join('|') ?? ''

describe.each(quickModes)('steering: $name', (mode) => {
  it('H1 a message sent while a tool runs is in the next request; one sent while the model answers is answered too', async () => {
    const control = new RunControl()
    const look = countingTool('look', () => control.send('And the moon?'))
    const script: ModeScript = [
      { toolCalls: [call('look', {})] },
      () => {
        control.send('And the sun?')
        return 'The moon is round.'
      },
      'The sun too.',
    ]
    await using on = await stage(mode, script, { tools: [look.tool] })
    const result = await on.run('Look.', { control })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'The sun too.', iterations: 3 })
    expect(words(on.requests()[1])).toMatch(/look|And the moon\?$/)
    expect(result.messages.filter(({ role }) => role !== 'tool').map(({ content }) => textOf(content))).toEqual([
      'Look.',
      '',
      'And the moon?',
      'The moon is round.',
      'And the sun?',
      'The sun too.',
    ])
    expect(control.waiting).toEqual([])
  })

  it('H2 a run stopped after the current step has its calls run, with their results', async () => {
    const control = new RunControl()
    const look = countingTool('look', () => control.stop())
    await using on = await stage(mode, [{ toolCalls: [call('look', {})] }, 'never'], { tools: [look.tool] })
    const result = await on.run('Look.', { control })
    expect(result).toMatchObject({ stopReason: 'stopped', iterations: 1 })
    expect(resultTexts(result)).toHaveLength(1)
  })

  it('another model answers the next turn', async () => {
    await using other = await mode.open(['I am the other one.'])
    const control = new RunControl()
    const look = countingTool('look', () => control.useModel(other.model))
    await using on = await stage(mode, [{ toolCalls: [call('look', {})] }, 'never'], { tools: [look.tool] })
    expect(await on.run('Look.', { control })).toMatchObject({ output: 'I am the other one.' })
  })
})

describe('steering', () => {
  failOnUnhandledRejections()

  const runner = (turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'> = {}) =>
    new AgentRunner({ model: scriptedModel(turns), logger: recordingLogger().logger, ...options })

  it('messages that were not used when the run ends are kept for the next one', async () => {
    const control = new RunControl()
    const agent = runner([
      () => {
        control.send('One more thing.')
        return 'No more.'
      },
      'That too.',
    ])
    const first = await agent.run('go', { control, maxIterations: 1 })
    expect(first).toMatchObject({ stopReason: 'answered', output: 'No more.' })
    expect(first.unread).toMatchObject([{ role: 'user', content: 'One more thing.' }])
    expect(control.waiting).toEqual(first.unread)
    control.stop()
    expect(await agent.run('go', { control })).toMatchObject({ stopReason: 'answered' })
  })

  it('messages to a run that then fails, is stopped, or reaches a limit are in its result', async () => {
    const look = (then: () => unknown) =>
      defineTool({
        name: 'look',
        description: 'looks',
        execute: () => {
          control.send('And the moon?')
          return then()
        },
      })
    let control = new RunControl()
    const unread = [{ role: 'user', content: 'And the moon?' }]
    const looks = { toolCalls: [call('look', {})] }
    const send = () => {
      control.send('And the moon?')
      throw new Error('away')
    }
    const aborter = new AbortController()
    for (const [stopReason, turns, then, options] of [
      ['model_error', [send], () => '', {}],
      ['stopped', [looks], () => control.stop(), {}],
      ['aborted', [looks], () => aborter.abort(), { signal: aborter.signal }],
      ['max_iterations', [looks], () => '', { maxIterations: 1 }],
      ['max_iterations', [looks, 'That is all.'], () => '', { maxIterations: 1, onLimit: 'answer' }],
    ] as const) {
      control = new RunControl()
      const result = await runner(turns, { tools: [look(then)] }).run('Look.', { control, ...options })
      expect(result).toMatchObject({ stopReason, unread })
      expect(control.listens).toBe(false)
    }
    expect(await runner(['Yes.']).run('Look.', { control: new RunControl() })).not.toHaveProperty('unread')
  })

  it('a stream has its own control, and messages of any kind are validated', async () => {
    const agent = runner(['One.', 'Two.'])
    const stream = agent.stream('go')
    stream.control.send([{ role: 'user', content: 'more' }])
    expect(() => stream.control.send({ role: 'nobody', content: '' } as never)).toThrow(
      expect.objectContaining({ code: 'invalid_message' }),
    )
    expect(await stream.result).toMatchObject({ output: 'Two.', iterations: 2 })
  })

  it('H37 a model that can’t be switched to is logged, and the run keeps its own', async () => {
    const control = new RunControl()
    const { logger, records } = recordingLogger()
    const priced = { capabilities: { nativeTools: true, price: { input: 1, output: 1 } } }
    control.useModel(scriptedModel(['never']))
    const agent = new AgentRunner({ model: scriptedModel(['Mine.'], priced), logger, limits: { costUsd: 1 } })
    expect(await agent.run('go', { control })).toMatchObject({ output: 'Mine.' })
    expect(records).toMatchObject([{ level: 'error' }])
  })

  it('H37 onText that throws is logged once', async () => {
    const { logger, records } = recordingLogger()
    let heard = ''
    const onText = (delta: string) => {
      heard += delta
      throw new Error('no')
    }
    const agent = new AgentRunner({ model: scriptedModel(['A long answer.']), logger })
    expect(await agent.run('go', { onText })).toMatchObject({ output: 'A long answer.' })
    expect(heard).toBe('A long answer.')
    expect(records).toHaveLength(1)
  })

  it('H37 onText, of a run or of an agent’s own, and stopWhen that reject are logged, and end no process', async () => {
    const rejecting = async () => {
      throw new Error('no')
    }
    class Own extends CustomAgent {
      protected override async onText() {
        return rejecting()
      }
    }
    for (const Kind of [AgentRunner, Own]) {
      const { logger, records } = recordingLogger()
      const { tool } = countingTool('look')
      const model = scriptedModel([{ toolCalls: [call('look')] }, { chunks: ['A long ', 'answer.'] }])
      const agent = new Kind({ model, logger, tools: [tool] })
      const result = await agent.run('go', { onText: rejecting, stopWhen: rejecting as () => never })
      expect(result).toMatchObject({ output: 'A long answer.', stopReason: 'answered' })
      // Unhandled rejections are reported after a turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
      expect(records.map(({ message, fields }) => [message, (fields as { error: string }).error])).toEqual([
        ['stopWhen threw; the run continues', 'Expected `stopWhen` to answer at once, got a promise'],
        ['onText threw; the run continues', 'no'],
      ])
    }
  })

  it('H37 onText and stopWhen of a run do not interfere with the agent’s own, or vice versa', async () => {
    const rejecting = async () => {
      throw new Error('no')
    }
    const throwing = () => {
      throw new Error('no')
    }
    class Own extends CustomAgent {
      protected override async onText() {
        return rejecting()
      }

      protected override shouldStop() {
        return true
      }
    }
    const { logger, records } = recordingLogger()
    const { tool } = countingTool('look')
    const model = scriptedModel([{ text: 'I look.', toolCalls: [call('look')] }, 'never'])
    const agent = new Own({ model, logger, tools: [tool] })
    const result = await agent.run('go', { onText: throwing, stopWhen: rejecting as () => never })
    expect(result).toMatchObject({ stopReason: 'stopped', iterations: 1 })
    expect(records.map(({ message }) => message)).toEqual(['onText threw; the run continues'])
  })

  it('H37 onText of a single turn that throws or rejects is logged once, and fails no turn', async () => {
    const throwing = () => {
      throw new Error('no')
    }
    for (const onText of [throwing, async () => throwing()]) {
      const { logger, records } = recordingLogger()
      const agent = new ToolAgent({ model: scriptedModel([{ chunks: ['A long ', 'answer.'] }]), logger })
      expect(await agent.generate('go', { onText })).toMatchObject({ content: 'A long answer.' })
      await new Promise((resolve) => setImmediate(resolve))
      expect(records.map(({ message, fields }) => [message, (fields as { error: string }).error])).toEqual([
        ['onText threw; the turn continues', 'no'],
      ])
    }
  })

  it('H37 a reason to abort that can’t be read ends the run like any other', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const runner = new AgentRunner({ model: scriptedModel(['never']) })
    expect(await runner.run('go', { signal: AbortSignal.abort(proxy) })).toMatchObject({
      stopReason: 'aborted',
      error: { code: 'aborted' },
    })
  })

  it('a crash at any time: steering, an answer with a schema, a handoff, a nested agent and guardrails keep the rules of the port', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    for (let crashAt = 1; ; crashAt++) {
      const control = new RunControl()
      let sent = false
      const look = defineTool({
        name: 'look',
        description: 'looks',
        effect: 'read',
        execute: () => {
          if (!sent) control.send('And the moon?')
          sent = true
          return 'seen'
        },
      })
      const count = scriptedModel(() => 'three')
      const inner = asTool(new AgentRunner({ model: count }), { name: 'count', description: 'counts', effect: 'read' })
      // Its answer depends only on the conversation, so that it is the same when it is asked again.
      const decide = ({ messages }: { messages: readonly { role: string; content: Content }[] }) => {
        const results = messages.filter(({ role }) => role === 'tool').length
        if (results === 0) return { toolCalls: [call('look', {}), call('count', { task: 'x' })] }
        if (results === 2) return { toolCalls: [call('hand_off_to_closer', {})] }
        return messages.at(-1)?.content === 'seven' ? 'seven' : messages.some(({ content }) => content === 'seven') ? '{"n":7}' : 'seven'
      }
      const closer = new AgentRunner({ model: scriptedModel(decide), tools: [look], instructions: 'Close.' })
      const journal = new StrictJournal(crashAt)
      const agent = new AgentRunner({
        model: scriptedModel(decide),
        logger: recordingLogger().logger,
        tools: [look, inner, handoff(closer, { name: 'closer', description: 'x' })],
        journal,
        guardrails: [{ name: 'polite', input: () => undefined, output: () => undefined, call: () => undefined, result: () => undefined }],
      })
      const result = await agent.run('go', { control, output: schema })
      expect(journal.violations, `crash at ${crashAt}`).toEqual([])
      expect(result, `crash at ${crashAt}`).toMatchObject({ stopReason: 'answered', output: { n: 7 }, agent: 'closer' })
      if (journal.moments < crashAt) break
    }
  })

  it('activeTools: only those are sent and can be called; a hook narrows them for one turn', async () => {
    const look = countingTool('look')
    const wipe = countingTool('wipe')
    const model = scriptedModel([{ toolCalls: [call('wipe', {}), call('look', {})] }, { toolCalls: [call('look', {})] }, 'done'])
    const { logger } = recordingLogger()
    const agent = new AgentRunner({ model, logger, tools: [look.tool, wipe.tool], activeTools: ['look'] })
    const events: string[][] = []
    agent.on(Event.RUN_START, ({ tools }) => void events.push(tools))
    const result = await agent.run('go', {
      hooks: [{ beforeModel: ({ iteration }) => (iteration === 2 ? { tools: [] } : undefined) }],
    })
    expect(events).toEqual([['look']])
    expect(wipe.calls).toEqual([])
    expect(resultTexts(result)).toEqual([
      'Tool not found: wipe. Available tools: look.',
      'look done',
      'Tool not found: look. No tools are available.',
    ])
    expect(model.requests[1]).not.toHaveProperty('tools')
    expect(model.requests[0]?.tools).toHaveLength(1)
  })
})
