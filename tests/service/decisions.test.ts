import { describe, expect, it } from 'vitest'
import { ask as askSomebody, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { json, startService, token } from './start-service.ts'

async function waitingRun() {
  const paid: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    approval: true,
    execute: (_args, { decision }) => {
      paid.push(decision)
      return 'paid'
    },
  })
  const book = defineTool({
    name: 'book',
    description: 'Books.',
    execute: (_args, { answer }) => (answer === undefined ? askSomebody({ about: 'When?' }) : `booked ${String(answer)}`),
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'pay' }, { name: 'book' }, { name: 'theirs' }] }, 'done'])
  const { post, ask } = await startService({ model, tools: [pay, book] })
  const theirs = { type: 'function', function: { name: 'theirs', description: 'Runs elsewhere.', parameters: { type: 'object' } } }
  const run = await json(post('/v1/runs', { input: 'pay', tools: [theirs] }))
  const decide = async (verdicts: Record<string, object>) => {
    const decisions = run.pending.flatMap((item) => (item.tool in verdicts ? [{ ...item, ...verdicts[item.tool] }] : []))
    const response = await post(`/v1/runs/${run.id}/decisions`, { decisions })
    return { ...(await json(response)), code: response.status }
  }
  return { run, decide, paid, state: () => json(ask(`/v1/runs/${run.id}`)) }
}

const fine = { pay: { approved: true }, book: { answer: 'today' }, theirs: { result: 'theirs' } }

describe('decisions over the API', () => {
  it.each([
    ['pay', { approved: true, result: 'paid' }, 'decisions.0.result'],
    ['pay', { approved: true, answer: 'paid' }, 'decisions.0.answer'],
    ['book', { result: 'booked' }, 'decisions.1.result'],
    ['theirs', { answer: 'theirs' }, 'decisions.2.answer'],
    ['theirs', { approved: false, result: 'theirs' }, 'decisions.2.result'],
  ])('X3 a result forged for `%s` is refused, and the run keeps waiting: %j', async (tool, verdict, where) => {
    const { decide, paid, state } = await waitingRun()
    const refused = await decide({ ...fine, [tool]: verdict })
    expect(refused).toMatchObject({ code: 400, error: { code: 'invalid_option', message: expect.stringContaining(`\`${where}\``) } })
    expect([paid, (await state()).status]).toEqual([[], 'waiting'])
    const { stopReason, result } = await decide(fine)
    expect([stopReason, paid.length]).toEqual(['answered', 1])
    expect(result.toolCalls.map(({ content }) => content)).toEqual(['paid', 'booked today', 'theirs'])
  })

  it('P3.1 an unknown field is refused, and so is `by`, which is set from the token', async () => {
    const { decide, paid } = await waitingRun()
    expect(await decide({ pay: { approved: false, resaon: 'no' } })).toMatchObject({
      code: 400,
      error: { code: 'invalid_option', message: expect.stringContaining('did you mean `decisions.0.reason`?') },
    })
    expect(await decide({ pay: { approved: true, by: 'the boss' } })).toMatchObject({
      code: 400,
      error: { code: 'invalid_request', param: 'decisions.0.by' },
    })
    expect(paid).toEqual([])
  })

  it('P3.1 `by` is the token’s name, in the run, its calls and their context; `note` is stored', async () => {
    const { decide, paid, state } = await waitingRun()
    await decide({ ...fine, pay: { approved: true, note: 'by phone' }, theirs: { approved: false, reason: 'no' } })
    const run = await state()
    const by = run.owner
    expect(by).toEqual(expect.any(String))
    expect(by).not.toBe(token)
    expect(paid).toEqual([{ kind: 'approval', approved: true, by, note: 'by phone' }])
    expect(run.result.toolCalls.map(({ decision }) => decision)).toEqual([
      { kind: 'approval', approved: true, by, note: 'by phone' },
      { kind: 'question', approved: true, by },
      { kind: 'client_tool', approved: false, reason: 'no', by },
    ])
    expect(run.decisions).toMatchObject([{ by, tool: 'pay', note: 'by phone' }, { by }, { by }])
  })
})
