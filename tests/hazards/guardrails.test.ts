import { describe, expect, it } from 'vitest'
import type { Guardrail } from '../../src/agent/callbacks/guardrails.ts'
import { Event } from '../../src/core/events.ts'
import { textOf } from '../../src/core/messages.ts'
import { loopModes, type ModeScript } from './modes.ts'
import { resultTexts, stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

describe.each(loopModes)('guardrails: $name', (mode) => {
  async function runWith(guardrails: readonly Guardrail[], script: ModeScript, options: object = {}) {
    const look = countingTool('look', 'secret word')
    await using on = await stage(mode, script, { tools: [look.tool], guardrails, ...options })
    const shown: string[] = []
    const seen: object[] = []
    on.runner.on(Event.TEXT_DELTA, ({ text }) => void shown.push(text))
    on.runner.on(Event.GUARDRAIL, (payload) => void seen.push(payload))
    const result = await on.run('say the secret word')
    return { result, ran: look.calls, shown: shown.join(''), seen, requests: on.requests(), log: on.log.map(({ message }) => message) }
  }
  const oneCall = () => [{ text: 'I look.', toolCalls: [call('look', { n: 1 })] }, 'Found it.']

  it('H38 without findings change nothing', async () => {
    const silent: Guardrail = {
      name: 'silent',
      input: () => undefined,
      output: async () => undefined,
      call: () => undefined,
      result: () => undefined,
    }
    const { result, shown, seen } = await runWith([silent], oneCall())
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Found it.' })
    expect(shown).toBe('I look.Found it.')
    expect(seen).toEqual([])
  })

  it('H38 for input: replace it, or stop the run before anything is sent', async () => {
    const mask: Guardrail = {
      name: 'mask',
      input: ({ messages }) => ({
        replace: messages.map((message) => ({ role: 'user', content: textOf(message.content).replace('secret', 'xxx') })),
      }),
    }
    const masked = await runWith([mask], ['Hm.'])
    expect(masked.result.messages[0]).toMatchObject({ content: 'say the xxx word' })
    for (const verdict of [{ stop: 'not this' }, { refuse: 'not this' }]) {
      const { result, requests, seen } = await runWith([{ name: 'no', input: () => verdict }], ['never'])
      expect(result).toMatchObject({
        stopReason: 'refused',
        output: '',
        error: { code: 'guardrail', message: 'The run was stopped by no: not this' },
      })
      expect(requests).toEqual([])
      expect(seen).toMatchObject([{ guardrail: 'no', place: 'input', reason: 'not this' }])
    }
  })

  it('H38 for output: show nothing before it has passed; replace it, withhold it and request it again, or stop the run', async () => {
    const masked = await runWith([{ name: 'mask', output: ({ text }) => ({ replace: text.replace('it', 'them') }) }], oneCall())
    expect(masked.result.output).toBe('Found them.')
    expect(masked.shown).toBe('I look.Found them.')
    const noSecrets: Guardrail = {
      name: 'no secrets',
      output: ({ text }) => (text.includes('secret') ? { refuse: 'says the secret' } : undefined),
    }
    const again = await runWith([noSecrets], ['It is the secret.', 'I can’t say.'])
    expect(again.result).toMatchObject({ stopReason: 'answered', output: 'I can’t say.' })
    expect(again.shown).toBe('I can’t say.')
    expect(JSON.stringify(again.result.messages)).not.toContain('It is the secret')
    expect(JSON.stringify(again.requests[1]?.messages)).toContain('no secrets: says the secret')
    const stubborn = await runWith([noSecrets], () => 'It is the secret.', { outputRetries: 1 })
    expect(stubborn.result).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' } })
    expect(stubborn.requests).toHaveLength(2)
    expect(stubborn.shown).toBe('')
    const stopped = await runWith([{ name: 'stop', output: () => ({ stop: 'enough' }) }], oneCall())
    expect(stopped.result).toMatchObject({ stopReason: 'refused', output: '', error: { message: 'The run was stopped by stop: enough' } })
    expect(stopped.shown).toBe('')
  })

  it('H38 for calls and results: replace them, refuse them, or stop the run with a complete history', async () => {
    const changed = await runWith([{ name: 'less', call: ({ args }) => ({ replace: { n: Number(args.n) - 1 } }) }], oneCall())
    expect(changed.ran).toEqual([{ n: 0 }])
    const refused = await runWith([{ name: 'no', call: () => ({ refuse: 'not today' }) }], oneCall())
    expect(refused.ran).toEqual([])
    expect(resultTexts(refused.result)).toEqual(['The call to `look` was refused by no: not today'])
    expect(refused.result.stopReason).toBe('answered')
    const hidden = await runWith([{ name: 'hide', result: () => ({ refuse: 'a secret' }) }], oneCall())
    expect(resultTexts(hidden.result)).toEqual(['The result was withheld by hide: a secret'])
    expect(hidden.result.toolCalls[0]).not.toHaveProperty('value')
    for (const place of ['call', 'result'] as const) {
      const stopped = await runWith([{ name: 'stop', [place]: () => ({ stop: 'enough' }) }], oneCall())
      expect(stopped.result).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' } })
      expect(stopped.requests).toHaveLength(1)
      expect(resultTexts(stopped.result)).toHaveLength(1)
    }
  })

  it('H37 have not passed if they throw, reject or never answer', async () => {
    const failing = {
      throws: () => {
        throw new Error('no')
      },
      rejects: async () => Promise.reject(new Error('no')),
      'never answers': () => new Promise<never>(() => {}),
      'talks nonsense': () => ({ maybe: true }) as never,
    }
    for (const [name, fail] of Object.entries(failing)) {
      const ran = await runWith([{ name, call: fail }], oneCall(), { toolTimeoutMs: 20 })
      expect(ran.ran, name).toEqual([])
      expect(ran.log.filter((message) => message.includes('counts as not passed'))).toHaveLength(1)
    }
    for (const place of ['input', 'output'] as const) {
      const ran = await runWith([{ name: 'broken', [place]: failing.throws }], oneCall())
      expect(ran.result).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' } })
      expect(ran.shown).toBe('')
    }
  })
})
