import { describe, expect, it } from 'vitest'
import { AgentRunner, type AnyTool, ask, asTool, defineTool } from '../../src/index.ts'
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
  it('of arguments that are hidden in part is refused, with the places and what to do', async () => {
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
    expect([(await state()).status, paid]).toEqual(['waiting', []])
  })

  it('names the places shortly, whatever the model calls its arguments', async () => {
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

  it('that acknowledges hidden arguments runs the call as requested, not with the placeholders', async () => {
    const { decide, paid } = await pausedRun()
    expect(await decide({ approved: true, acknowledgeHidden: true })).toMatchObject({ status: 200, stopReason: 'answered' })
    expect(paid).toEqual([args])
  })

  it('with changed arguments needs no acknowledgement, but a placeholder does not count as a value', async () => {
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

  it('and a refusal are accepted if nothing is hidden, or nothing is executed', async () => {
    const open = await pausedRun({ toolCalls: [{ name: 'pay', args: { euros: 5 } }] })
    expect(open.item.hidden).toBeUndefined()
    expect(await open.decide({ approved: true })).toMatchObject({ status: 200 })
    const rejected = await pausedRun()
    expect(await rejected.decide({ approved: false })).toMatchObject({ status: 200 })
    expect([open.paid, rejected.paid]).toEqual([[{ euros: 5 }], []])
  })

  it('of an agent’s call inside a call is refused too', async () => {
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
    expect(item).toMatchObject({
      hidden: ['/args/pin', '/args/to/a~1b/0/api_key'],
      args: { pin: '[redacted]', to: { 'a/b': [{ api_key: '[redacted]' }] } },
    })
    const decide = async (decision: object) => json(post(`/v1/runs/${run.id}/decisions`, { decisions: [{ ...item, ...decision }] }))
    expect((await decide({ approved: true })).error).toMatchObject({ code: 'hidden_arguments', param: 'decisions.0' })
    expect(paid).toEqual([])
    expect(await decide({ approved: true, acknowledgeHidden: true })).toMatchObject({ status: 'ended' })
    expect(paid).toEqual([args])
  })
})

it('P2.4 of three agents inside each other shows only what they wait for', async () => {
  const { tool, paid } = payTool()
  const secret = 'These instructions are nobody’s business.'
  const nested = (turn: object, tools: AnyTool[]) =>
    asTool(new AgentRunner({ model: scriptedModel([turn as never, 'told']), tools, instructions: secret }), {
      name: 'teller',
      description: 'Pays.',
    })
  const asks = { text: 'x'.repeat(40_000), toolCalls: [{ name: 'teller', args: { task: 'pay' } }] }
  const teller = nested(asks, [nested(asks, [nested(call, [tool])])])
  const { post, ask: read } = await startService({ model: scriptedModel([{ toolCalls: asks.toolCalls }, 'done']), tools: [teller] })
  const run = await json(post('/v1/runs', { input: 'pay' }))
  expect(run.status).toBe('waiting')
  const shown = [
    JSON.stringify(run),
    await (await read(`/v1/runs/${run.id}`)).text(),
    await (await read(`/v1/runs/${run.id}/events`)).text(),
  ]
  for (const text of shown) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain('"state"')
    expect(text.length).toBeLessThan(20_000)
  }
  const decisions = run.pending.map((item) => ({ ...item, approved: true, acknowledgeHidden: true }))
  const decided = await json(post(`/v1/runs/${run.id}/decisions`, { decisions }))
  expect([decided.status, decided.stopReason, paid]).toEqual(['ended', 'answered', [args]])
})

it('does not forget what is hidden in an agent’s next call, however much is hidden in its first', async () => {
  const { tool, paid } = payTool()
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}_password`, 'hunter22-hunter22']))
  const calls = {
    toolCalls: [
      { name: 'pay', args: { to: many } },
      { name: 'pay', args },
    ],
  }
  const teller = asTool(new AgentRunner({ model: scriptedModel([calls, 'told']), tools: [tool] }), { name: 'teller', description: 'Pays.' })
  const model = scriptedModel([{ toolCalls: [{ name: 'teller', args: { task: 'pay' } }] }, 'done'])
  const { post } = await startService({ model, tools: [teller] })
  const run = await json(post('/v1/runs', { input: 'pay' }))
  const [first, second] = run.pending
  const decisions = [
    { ...first, approved: true, acknowledgeHidden: true },
    { ...second, approved: true },
  ]
  const decided = await json(post(`/v1/runs/${run.id}/decisions`, { decisions }))
  expect([decided.error.code, decided.error.param, paid]).toEqual(['hidden_arguments', 'decisions.1', []])
})

describe('an answer over the API', () => {
  const asked = { about: { to: 'evil', api_key: 'evil-account' }, schema: { type: 'boolean' } }

  async function askedRun(question: Parameters<typeof ask>[0]) {
    const tool = defineTool({
      name: 'confirm',
      description: 'Asks.',
      parameters: { type: 'object' },
      execute: (_, { answer }) => (answer === undefined ? ask(question) : `answered ${JSON.stringify(answer)}`),
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'confirm', args: {} }] }, 'done'])
    const { post } = await startService({ model, tools: [tool] })
    const run = await json(post('/v1/runs', { input: 'ask' }))
    const [item] = run.pending
    const decide = async (decision: object) => {
      const response = await post(`/v1/runs/${run.id}/decisions`, { decisions: [{ ...item, ...decision }] })
      return { ...(await json(response)), status: response.status }
    }
    return { item, decide, model }
  }

  it('to a question that is hidden in part is refused, unless it acknowledges that', async () => {
    const { item, decide, model } = await askedRun(asked)
    expect(item.hidden).toEqual(['/about/api_key'])
    for (const decision of [{ answer: true }, { answer: true, acknowledgeHidden: false }])
      expect(await decide(decision)).toMatchObject({
        status: 400,
        error: {
          code: 'hidden_arguments',
          param: 'decisions.0',
          message: expect.stringMatching(/^Part of this question is hidden \(\/about\/api_key\).*`acknowledgeHidden: true`/),
        },
      })
    expect(await decide({ answer: true, acknowledgeHidden: true })).toMatchObject({ status: 200, stopReason: 'answered' })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('answered true')
  })

  it('is accepted if nothing is hidden, and a question can always be declined', async () => {
    const open = await askedRun({ about: 'Really?', schema: { type: 'boolean' } })
    expect(await open.decide({ answer: true })).toMatchObject({ status: 200, stopReason: 'answered' })
    const declined = await askedRun(asked)
    expect(await declined.decide({ approved: false })).toMatchObject({ status: 200 })
  })
})
