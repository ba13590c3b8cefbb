import { describe, expect, it } from 'vitest'
import { AgentRunner, asTool, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { json, startService } from './start-service.ts'

function payTool() {
  const paid: unknown[] = []
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { euros: { type: 'number' }, pin: { type: 'string' }, to: { type: 'object' } } },
    secrets: ['pin'],
    approval: true,
    execute: (args) => {
      paid.push(args)
      return 'paid'
    },
  })
  return { tool, paid }
}

const args = { euros: 5, pin: '4711-0815', to: { 'a/b': [{ api_key: 'evil-account' }] } }
const call = { toolCalls: [{ name: 'pay', args }] }

async function pausedRun(reply: object = call) {
  const { tool, paid } = payTool()
  const { post, ask } = await startService({ model: scriptedModel([reply, 'done']), tools: [tool] })
  const run = await json(post('/v1/runs', { input: 'pay' }))
  const [item] = run.pending
  const decide = async (decision: object) => {
    const response = await post(`/v1/runs/${run.id}/decisions`, { decisions: [{ ...item, ...decision }] })
    return { ...(await json(response)), status: response.status }
  }
  return { item, decide, paid, state: () => json(ask(`/v1/runs/${run.id}`)) }
}

describe('an approval over the API', () => {
  it('of arguments that are hidden in part is refused, and says which and what to do', async () => {
    const { item, decide, paid, state } = await pausedRun()
    expect(item).toMatchObject({
      args: { euros: 5, pin: '[redacted]', to: { 'a/b': [{ api_key: '[redacted]' }] } },
      hidden: ['/args/pin', '/args/to/a~1b/0/api_key'],
    })
    for (const decision of [
      { approved: true },
      { approved: true, args: undefined },
      { approved: true, remember: true, acknowledgeHidden: false },
    ])
      expect(await decide(decision)).toMatchObject({
        status: 400,
        error: {
          code: 'hidden_arguments',
          param: 'decisions.0',
          message: expect.stringMatching(/\/args\/pin, \/args\/to\/a~1b\/0\/api_key.*`acknowledgeHidden: true`/),
        },
      })
    expect([(await state()).status, paid]).toEqual(['paused', []])
  })

  it('says where, in few words, whatever the model calls its arguments', async () => {
    const long = 'k'.repeat(200_000)
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`k${at}_password`, 'hunter22-hunter22']))
    for (const [to, hidden] of [
      [{ [long]: many }, ['/args/to']],
      [{ a: { [long]: { b: 1 } }, c: { api_key: 'x' } }, ['/args/to/c/api_key']],
      [many, Array.from({ length: 100 }, (_, at) => `/args/to/k${at}_password`)],
    ] as const) {
      const { item, decide, paid } = await pausedRun({ toolCalls: [{ name: 'pay', args: { to } }] })
      expect(item.hidden).toEqual(hidden)
      const { error } = await decide({ approved: true, args: undefined })
      expect([error.code, error.message.length < 3_000, paid]).toEqual(['hidden_arguments', true, []])
    }
  })

  it('that acknowledges what is hidden runs the call as it was asked for, not with what stands for the hidden', async () => {
    const { decide, paid } = await pausedRun()
    expect(await decide({ approved: true, acknowledgeHidden: true })).toMatchObject({ status: 200, stopReason: 'answered' })
    expect(paid).toEqual([args])
  })

  it('with arguments of one’s own needs no acknowledgement, but no stand-in is taken for a value', async () => {
    const { decide, paid } = await pausedRun()
    for (const own of [
      { euros: 1, pin: '[redacted]' },
      { ...args, pin: 'x [redacted]' },
      { ...args, to: { 'a/b': [{ api_key: '[redacted]' }] } },
    ])
      expect(await decide({ approved: true, acknowledgeHidden: true, args: own })).toMatchObject({
        status: 400,
        error: { code: 'hidden_arguments' },
      })
    expect(await decide({ approved: true, args: { euros: 1, pin: 'mine' } })).toMatchObject({ status: 200 })
    expect(paid).toEqual([{ euros: 1, pin: 'mine' }])
  })

  it('and a refusal go through as ever, where nothing is hidden or nothing is run', async () => {
    const open = await pausedRun({ toolCalls: [{ name: 'pay', args: { euros: 5 } }] })
    expect(open.item.hidden).toBeUndefined()
    expect(await open.decide({ approved: true })).toMatchObject({ status: 200 })
    const rejected = await pausedRun()
    expect(await rejected.decide({ approved: false })).toMatchObject({ status: 200 })
    expect([open.paid, rejected.paid]).toEqual([[{ euros: 5 }], []])
  })

  it('of an agent’s call inside a call is refused as well', async () => {
    const { tool, paid } = payTool()
    const teller = asTool(new AgentRunner({ model: scriptedModel([call, 'told']), tools: [tool] }), {
      name: 'teller',
      description: 'Pays.',
    })
    const { post } = await startService({
      model: scriptedModel([{ toolCalls: [{ name: 'teller', args: { task: 'pay' } }] }, 'done']),
      tools: [teller],
    })
    const run = await json(post('/v1/runs', { input: 'pay' }))
    const [item] = run.pending
    const [inner] = item.about.pending
    expect([item.hidden, inner.args.to]).toEqual([
      expect.arrayContaining(['/about/pending/0/args/to/a~1b/0/api_key']),
      { 'a/b': [{ api_key: '[redacted]' }] },
    ])
    const decide = async (decision: object) =>
      json(post(`/v1/runs/${run.id}/decisions`, { decisions: [{ ...item, answer: { decisions: [{ ...inner, ...decision }] } }] }))
    expect((await decide({ approved: true })).error).toMatchObject({ code: 'hidden_arguments', param: 'decisions.0.answer.decisions.0' })
    expect(paid).toEqual([])
    expect(await decide({ approved: true, acknowledgeHidden: true })).toMatchObject({ status: 'done' })
    expect(paid).toEqual([args])
  })
})
