import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ModelTurn, ToolEnding, ToolTurn } from '../../src/agent/callbacks/hooks.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

interface User {
  name: string
}

const look = defineTool({ name: 'look', description: 'looks', execute: () => 'seen' })
const script = () => scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done.'])

class Everything extends CustomAgent<User> {
  readonly heard: string[] = []
  fails = false

  #note(what: string): void {
    this.heard.push(what)
    if (this.fails) throw new Error(`${what} failed`)
  }

  override tools({ context }: { context: User }) {
    this.heard.push(`tools for ${context.name}`)
    return [look]
  }

  override async instructions({ context }: { context: User }) {
    return `You serve ${context.name}.`
  }

  protected override onText(delta: string) {
    this.#note(`text ${delta}`)
  }

  protected override prepareTurn({ iteration, context }: ModelTurn<User>) {
    this.#note(`turn ${iteration} for ${context.name}`)
    return undefined
  }

  protected override onToolCall({ tool }: ToolTurn<User>) {
    this.#note(`call ${tool}`)
    return undefined
  }

  protected override onToolResult({ content }: ToolEnding<User>) {
    this.#note(`result ${String(content)}`)
    return { content: 'hidden' }
  }

  protected override shouldStop({ iteration }: { iteration: number }) {
    this.#note(`stop after ${iteration}?`)
    return false
  }
}

describe('CustomAgent', () => {
  const open = (options: Partial<RunnerOptions<User>> = {}) => {
    const { logger, records } = recordingLogger()
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'Done'])
    return { agent: new Everything({ model, logger, ...options }), model, records }
  }

  it('S0-30 calls every override point in its place, with the parts of the run', async () => {
    const { agent, model } = open()
    const result = await agent.run('go', { context: { name: 'Ann' } })
    expect(agent.heard).toEqual([
      'tools for Ann',
      'turn 1 for Ann',
      'call look',
      'result seen',
      'stop after 1?',
      'turn 2 for Ann',
      'text Done',
    ])
    expect(model.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'You serve Ann.' })
    expect(result.toolCalls[0]?.content).toBe('hidden')
  })

  it('P1.2 H37 logs override points that throw; a failed `onToolCall` refuses the call, the others change nothing', async () => {
    const { agent, records } = open()
    agent.fails = true
    const result = await agent.run('go', { context: { name: 'Ann' } })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Done', toolCalls: [{ outcome: 'denied' }] })
    expect(records.map(({ level }) => level)).toEqual(['error', 'error', 'error', 'error', 'error'])
  })

  it('a subclass without overrides runs as the runner does, with bound tools', async () => {
    class Plain extends CustomAgent {}
    const agent = new Plain({ model: script(), tools: [] }).bindTools([look])
    const heard: string[] = []
    agent.on(Event.TOOL_CALL_START, ({ tool }) => void heard.push(tool))
    const texts: string[] = []
    expect(await agent.run('go', { onText: (text) => void texts.push(text) })).toMatchObject({ output: 'Done.' })
    expect(heard).toEqual(['look'])
    expect(texts.join('')).toBe('Done.')
    const stream = new Plain({ model: script(), tools: [look] }).stream('go')
    expect((await stream.result).output).toBe('Done.')
  })

  it('has the tools that the context of the run allows, even inside another run or after a handoff', async () => {
    class Helper extends CustomAgent<User> {
      override tools({ context: { name } }: { context: User }) {
        return [defineTool({ name: `look_for_${name}`, description: 'looks', execute: () => `seen by ${name}` })]
      }
    }
    const calls = (name: string) => ({ toolCalls: [{ name }] })
    const nested = new Helper({ model: scriptedModel([calls('look_for_Ann'), 'Helped.']) })
    const taker = new Helper({ model: scriptedModel([calls('look_for_Ann'), 'Mine now.']) })
    const outer = new AgentRunner<User>({
      model: scriptedModel([{ toolCalls: [{ name: 'help', args: { task: 'x' } }] }, calls('hand_off_to_taker')]),
      tools: [
        asTool(nested, { name: 'help', description: 'helps', result: ({ toolCalls }) => toolCalls[0]?.content }),
        handoff(taker, { name: 'taker', description: 'takes' }),
      ],
    })
    const result = await outer.run('go', { context: { name: 'Ann' } })
    expect(result.output).toBe('Mine now.')
    expect(result.toolCalls.map(({ content }) => content)).toEqual(['seen by Ann', expect.any(String), 'seen by Ann'])
  })

  it('can be nested and handed to', async () => {
    class Helper extends CustomAgent<User> {
      override instructions({ context }: { context: User }) {
        return `You help ${context.name}.`
      }
    }
    const helper = new Helper({ model: scriptedModel(['Helped.', 'Mine now.']) })
    const outer = new AgentRunner<User>({
      model: scriptedModel([{ toolCalls: [{ name: 'help', args: { task: 'x' } }] }, { toolCalls: [{ name: 'hand_off_to_helper' }] }]),
      tools: [asTool(helper, { name: 'help', description: 'helps' }), handoff(helper, { name: 'helper', description: 'helps' })],
    })
    const result = await outer.run('go', { context: { name: 'Ann' } })
    expect(result).toMatchObject({ output: 'Mine now.', agent: 'helper' })
    expect(result.toolCalls[0]?.content).toBe('Helped.')
  })
})
