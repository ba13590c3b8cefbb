import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Guardrail } from '../../src/agent/callbacks/guardrails.ts'
import type { Hooks } from '../../src/agent/callbacks/hooks.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { eventsOf } from '../../src/agent/runner/run-stream.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { expectValidHistory, resultTexts } from '../hazards/stage.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'

failOnUnhandledRejections()

const look = defineTool({ name: 'look', description: 'looks', execute: () => 'a secret' })
const oneCall = () => [{ toolCalls: [{ name: 'look' }] }, 'Done.']
const itself: Record<string, unknown> = {}
itself.self = itself

function agent(turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'> = {}) {
  const { logger, records } = recordingLogger()
  const model = scriptedModel(turns)
  return { runner: new AgentRunner({ model, tools: [look], logger, ...options }), model, records }
}

describe('guardrails, edge cases', () => {
  it.each([5, undefined, {}, [{ role: 'nobody' }]])(
    'H38 a replacement that can’t replace its subject does not pass: %j',
    async (replace) => {
      for (const place of ['input', 'output'] as const) {
        const guardrails = [{ name: 'odd', [place]: () => ({ replace }) }] as unknown[] as Guardrail[]
        const { runner } = agent(['Hello.'], { guardrails })
        expect(await runner.run('go'), place).toMatchObject({ stopReason: 'refused', output: '', error: { code: 'guardrail' } })
      }
      const { runner } = agent(oneCall(), { guardrails: [{ name: 'odd', result: () => ({ replace }) as never }] })
      expect(resultTexts(await runner.run('go'))).toEqual(['The result was withheld by odd: the check itself failed'])
    },
  )

  it.each([5, undefined, [], itself])('H38 a call does not run with a replacement that is not arguments', async (replace) => {
    const { runner } = agent(oneCall(), { guardrails: [{ name: 'odd', call: () => ({ replace }) as never }] })
    expect(resultTexts(await runner.run('go'))).toEqual(['The call to `look` was refused by odd: the check itself failed'])
  })

  it('H38 stopping wins over replacing', async () => {
    const { runner } = agent(['Hello.'], { guardrails: [{ name: 'both', output: () => ({ replace: 'x', stop: 'enough' }) }] })
    expect(await runner.run('go')).toMatchObject({ stopReason: 'refused' })
  })

  it('H30 H38 aborted during a check, a run returns nothing unchecked', async () => {
    const check = (controller: AbortController) => () => {
      controller.abort()
      return new Promise<never>(() => {})
    }
    for (const place of ['input', 'output', 'result'] as const) {
      const controller = new AbortController()
      const turns = place === 'output' ? ['a secret'] : oneCall()
      const { runner } = agent(turns, { guardrails: [{ name: 'slow', [place]: check(controller) }] })
      const result = await runner.run('a secret', { signal: controller.signal })
      expect(result.stopReason, place).toBe('aborted')
      expect(JSON.stringify([result.output, ...result.messages.slice(place === 'input' ? 0 : 1)]), place).not.toContain('secret')
      expectValidHistory(result.messages)
    }
  })

  it('H38 refused input is not in the conversation that continues', async () => {
    const { runner } = agent([], { guardrails: [{ name: 'no', input: () => ({ refuse: 'not this' }) }] })
    const { messages } = await runner.run('a secret')
    expect(messages).toEqual([{ role: 'user', content: '[Withheld: no: not this]' }])
  })

  it('H38 input of a running run is checked too', async () => {
    const guardrails: Guardrail[] = [
      { name: 'no', input: ({ messages }) => (JSON.stringify(messages).includes('secret') ? { stop: 'not this' } : undefined) },
    ]
    const control = new RunControl()
    const { runner, model } = agent(
      [
        () => {
          control.send('Tell the secret.')
          return 'Hello.'
        },
      ],
      { guardrails },
    )
    expect(await runner.run('go', { control })).toMatchObject({ stopReason: 'refused', output: 'Hello.', error: { code: 'guardrail' } })
    expect(model.requests).toHaveLength(1)
  })

  it('refuses options that are not guardrails or hooks', () => {
    const guardrails = [{ name: 'odd', input: 'no' }] as unknown[] as Guardrail[]
    expect(() => agent([], { guardrails })).toThrow('guardrails[0].input')
    expect(() => agent([], { hooks: [undefined] as unknown[] as Hooks[] })).toThrow('hooks')
  })
})

describe('guardrails of an answer with a schema', () => {
  const schema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const
  const answer = (word: string) => ({ toolCalls: [{ name: 'final_answer', args: { word } }] })
  const run = async (turns: Parameters<typeof scriptedModel>[0], guardrail: Guardrail['output'], options: object = {}) => {
    const { runner } = agent(turns, { guardrails: [{ name: 'rule', ...(guardrail && { output: guardrail }) }], ...options })
    const stream = runner.stream('go', { output: schema })
    let pieces = ''
    for await (const event of eventsOf(stream)) if (event.type === Event.TOOL_INPUT_DELTA) pieces += event.json
    const result = await stream.result
    expectValidHistory(result.messages)
    return { result, pieces }
  }

  it('H38 check it before it is shown, however it is given', async () => {
    const noSecrets: Guardrail['output'] = ({ text }) => (text.includes('secret') ? { refuse: 'says the secret' } : undefined)
    const again = await run([answer('secret'), answer('fine')], noSecrets)
    expect(again.result).toMatchObject({ stopReason: 'answered', output: { word: 'fine' } })
    expect(again.pieces).not.toContain('secret')
    expect(JSON.stringify(again.result.messages)).not.toContain('"secret')
    expect(resultTexts(again.result)[0]).toBe('Your answer was withheld (rule: says the secret). Give another one.')
    const stubborn = await run(() => answer('secret'), noSecrets, { outputRetries: 1 })
    expect(stubborn.result).toMatchObject({ stopReason: 'refused', iterations: 2, output: undefined, error: { code: 'guardrail' } })
    const stopped = await run([answer('secret')], () => ({ stop: 'enough' }))
    expect(stopped.result).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' } })
    const masked = await run([answer('secret')], ({ text }) => ({ replace: text.replace('secret', '***') }))
    expect(masked.result).toMatchObject({ stopReason: 'answered', output: { word: '***' } })
    expect(JSON.stringify(masked.result.messages)).not.toContain('secret')
    const broken = await run([answer('secret'), answer('x')], ({ text }) => (text.includes('secret') ? { replace: 'no JSON' } : undefined))
    expect(broken.result).toMatchObject({ stopReason: 'answered', output: { word: 'x' } })
  })

  it.each([{ word: 'one' }, { final_answer: { word: 'one' } }])(
    'H38 a refused text shows nothing after a call written in it, and the call is refused: %j',
    async (args) => {
      const written = (args: object) => `<tool_call>${JSON.stringify({ name: 'final_answer', arguments: args })}</tool_call>`
      const model = scriptedModel([`A secret. ${written(args)} That was it.`, written({ word: 'two' })], {
        capabilities: { nativeTools: false },
      })
      const guardrails: Guardrail[] = [
        { name: 'rule', output: ({ text }) => (text.includes('secret') ? { refuse: 'no secrets' } : undefined) },
      ]
      const runner = new AgentRunner({ model, guardrails, toolCalling: 'hermes' })
      const stream = runner.stream('go', { output: schema })
      const shown: string[] = []
      for await (const event of eventsOf(stream)) if (event.type === Event.TEXT_DELTA) shown.push(event.text)
      const result = await stream.result
      expect(shown).toEqual([])
      expect(result).toMatchObject({ stopReason: 'answered', output: { word: 'two' } })
      expect(resultTexts(result)[0]).toBe('The call to `final_answer` was refused by rule: no secrets')
    },
  )
})

describe('hooks, edge cases', () => {
  it.each([5, undefined, itself])('H37 an invalid return value is ignored', async (odd) => {
    const hooks: Hooks[] = [{ onFailure: 'skip', beforeTool: () => ({ args: odd }) as never, afterTool: () => ({ content: odd }) as never }]
    const { runner, records } = agent(oneCall(), { hooks })
    expect(resultTexts(await runner.run('go'))).toEqual(['a secret'])
    expect(records.filter(({ message }) => message.includes('was skipped'))).toHaveLength(2)
  })

  it('H37 an empty list of messages is refused; the run’s own list can’t be changed', async () => {
    const hooks: Hooks[] = [
      { beforeModel: () => ({ messages: [] }) },
      { beforeModel: ({ messages }) => void (messages as unknown[]).push({}) },
    ]
    const { runner, model, records } = agent(['Done.'], { hooks })
    const result = await runner.run('go')
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: 'go' }])
    expect(result.messages).toHaveLength(2)
    expect(records).toHaveLength(2)
  })
})
