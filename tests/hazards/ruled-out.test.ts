import { describe, expect, it } from 'vitest'
import type { ToolChoice } from '../../src/models/chat-model.ts'
import { type ModeScript, quickModes } from './modes.ts'
import { resultTexts, stage } from './stage.ts'
import { countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const named = (name: string): ToolChoice => ({ type: 'function', function: { name } })
describe.each(quickModes)('a tool that is excluded ($name)', (mode) => {
  /** Ways in which models write the name of a tool. Left-over markup occurs with native calls. */
  const spellings = ['pay', 'functions.pay', 'PAY', ...(mode.dialect === undefined ? ['pay<|channel|>commentary'] : [])]
  const calling = (name: string): ModeScript => [{ toolCalls: [{ name, arguments: { a: 1 } }] }, 'answered']

  it.each(spellings)('X2 H54 does not run with `toolChoice: none`, and the model is told: %s', async (name) => {
    const { tool, calls } = countingTool('pay')
    await using on = await stage(mode, calling(name), { tools: [tool], toolChoice: 'none' })
    const result = await on.run('go')
    expect(calls).toEqual([])
    expect(result).toMatchObject({ stopReason: 'answered', output: 'answered' })
    const refused = result.toolCalls.filter(({ tool }) => tool === 'pay')
    expect(refused.map(({ outcome }) => outcome)).toEqual(refused.map(() => 'denied'))
  })

  it.each(spellings)('X2 H54 does not run next to the one that `toolChoice` names: %s', async (name) => {
    const [pay, look] = [countingTool('pay'), countingTool('look')]
    const script: ModeScript = [
      {
        toolCalls: [
          { name, arguments: { a: 1 } },
          { name: 'look', arguments: { a: 2 } },
        ],
      },
      'answered',
    ]
    await using on = await stage(mode, script, { tools: [pay.tool, look.tool], toolChoice: named('look') })
    const result = await on.run('go')
    expect([pay.calls, look.calls]).toEqual([[], [{ a: 2 }]])
    expect(result.toolCalls.find(({ tool }) => tool === 'pay')).toMatchObject({ outcome: 'denied' })
    expect(resultTexts(result)[0]).toContain('only `look` may be called now')
  })

  it.each(spellings)('X2 H54 does not run if `activeTools` excludes it: %s', async (name) => {
    const [pay, look] = [countingTool('pay'), countingTool('look')]
    await using on = await stage(mode, calling(name), { tools: [pay.tool, look.tool], activeTools: ['look'] })
    const result = await on.run('go')
    expect(pay.calls).toEqual([])
    expect(result.stopReason).toBe('answered')
  })
})
