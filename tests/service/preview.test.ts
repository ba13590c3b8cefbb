import { describe, expect, it } from 'vitest'
import { defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { json, startService } from './start-service.ts'

const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false } as const

function openPayments() {
  const paid: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters,
    execute: ({ id }) => {
      paid.push(id)
      return `paid ${id}`
    },
  })
  return { paid, pay }
}

const pays = (...ids: string[]) => ({ toolCalls: ids.map((id) => ({ name: 'pay', args: { id } })) })

describe('a preview over the API', () => {
  it('waits with its plan, and carries out what is approved', async () => {
    const { paid, pay } = openPayments()
    const model = scriptedModel([pays('a', 'b'), pays('c'), 'I would pay a, b and c.', 'Paid a and c.'])
    const { post, ask } = await startService({ model, tools: [pay] })
    const run = await json(post('/v1/runs', { input: 'pay', effects: 'preview' }))
    expect(run).toMatchObject({ status: 'waiting', stopReason: 'paused', result: { text: 'I would pay a, b and c.' } })
    expect(run.pending).toMatchObject([
      { kind: 'approval', args: { id: 'a' }, plan: { at: 1, of: 3 } },
      { kind: 'approval', args: { id: 'b' }, plan: { at: 2, of: 3 } },
      { kind: 'approval', args: { id: 'c' }, plan: { at: 3, of: 3 } },
    ])
    expect(paid).toEqual([])
    const decide = (...items: typeof run.pending) => {
      const decisions = items.map((item) => ({ ...item, approved: item.args.id !== 'b' }))
      return json(post(`/v1/runs/${run.id}/decisions`, { decisions }))
    }
    const part = await decide(run.pending[0])
    expect([part.status, part.pending.length, paid]).toEqual(['waiting', 2, []])
    const ended = await decide(...part.pending)
    expect([ended.stopReason, ended.output, paid]).toEqual(['answered', 'Paid a and c.', ['a', 'c']])
    const { decisions } = await json(ask(`/v1/runs/${run.id}`))
    expect(decisions).toMatchObject([{ verdict: 'approved' }, { verdict: 'rejected' }, { verdict: 'approved' }])
  })

  it('tells clients of chat completions and responses that nothing was done, and where calls can be decided', async () => {
    const { paid, pay } = openPayments()
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'I would pay.' : { ...pays('a', 'b'), text: 'Let me see.' },
    )
    const { post } = await startService({ model, tools: [pay], agent: { effects: 'preview' } })
    const note =
      'This was a preview: nothing was done. It would call: pay (2 calls). To decide on the calls, start the run with POST /v1/runs.'
    const messages = [{ role: 'user', content: 'pay' }]
    const chat = await json(post('/v1/chat/completions', { model: 'toolloop', messages }))
    expect(chat).toMatchObject({
      choices: [{ message: { content: `Let me see.\n\nI would pay.\n\n${note}` }, finish_reason: 'stop' }],
    })
    const streamed = await (await post('/v1/chat/completions', { model: 'toolloop', messages, stream: true })).text()
    expect(streamed).toContain(JSON.stringify({ content: `\n\n${note}` }))
    const response = await json(post('/v1/responses', { model: 'toolloop', input: 'pay' }))
    expect(response).toMatchObject({ status: 'completed' })
    expect(response).toMatchObject({ output: ['Let me see.', 'I would pay.', note].map((text) => ({ content: [{ text }] })) })
    const answer = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object', properties: {} } } }
    const asJson = await json(post('/v1/chat/completions', { model: 'toolloop', messages, response_format: answer }))
    expect(JSON.stringify(asJson)).not.toContain('preview')
    expect(paid).toEqual([])
  })

  it('is refused for another value, so that no caller can end the preview of an agent', async () => {
    const { paid, pay } = openPayments()
    const { post } = await startService({ model: scriptedModel([pays('a'), 'Planned.']), tools: [pay], agent: { effects: 'preview' } })
    for (const effects of ['dry', 'apply']) {
      const response = await post('/v1/runs', { input: 'x', effects })
      expect([response.status, (await json(Promise.resolve(response))).error]).toMatchObject([400, { param: 'effects' }])
    }
    expect(await json(post('/v1/runs', { input: 'pay' }))).toMatchObject({ status: 'waiting', pending: [{ args: { id: 'a' } }] })
    expect(paid).toEqual([])
  })
})
