import { createOpenResponses } from '@ai-sdk/open-responses'
import { streamText } from 'ai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { json, startService, token } from './start-service.ts'

const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'w',
  parameters: { type: 'object', properties: {} },
  strict: false,
}
const model = 'toolloop'
const own = defineTool({ name: 'own', description: 'The agent’s own.', execute: () => 'did it' })

async function start(script: (ScriptedTurn | string)[]) {
  const scripted = scriptedModel(script)
  const authenticate = (request: Request) => ({ name: request.headers.get('authorization') ?? '', roles: ['run'] as const })
  const { url } = await startService({ model: scripted, tools: [own], token: undefined, authenticate })
  const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
  return { scripted, url, ann: clientOf('ann'), bob: clientOf('bob') }
}

describe('item references', () => {
  it('E1.2 the AI SDK’s second request of a tool loop, which refers to earlier text and reasoning, is answered', async () => {
    const { scripted, ann } = await start([{ reasoning: 'hmm', text: 'I look.', toolCalls: [{ id: 'call_2', name: 'weather' }] }, 'Sunny.'])
    const first = await ann.responses.create({ model, tools: [weather], input: 'Weather?' })
    const [thought, said, call] = first.output
    expect([thought?.type, said?.type, call?.type]).toEqual(['reasoning', 'message', 'function_call'])
    // As `@ai-sdk/openai` 4.0.118 sends it.
    const second = await ann.responses.create({
      model,
      tools: [weather],
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        { type: 'item_reference', id: thought?.id ?? '' },
        { type: 'item_reference', id: said?.id ?? '' },
        { type: 'function_call', call_id: 'call_2', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_2', output: 'sunny' },
      ],
    })
    expect(second.output_text).toBe('Sunny.')
    expect(scripted.requests[1]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'I look.', toolCalls: [{ id: 'call_2' }] },
      { role: 'tool', content: 'sunny', toolCallId: 'call_2' },
    ])
  })

  it('E1.2 calls and input items can be referred to, over several responses and repeatedly', async () => {
    const { scripted, ann } = await start([{ toolCalls: [{ id: 'c1', name: 'weather' }] }, 'One.', 'Two.'])
    const first = await ann.responses.create({ model, tools: [weather], input: 'Weather?' })
    const [asked] = (await ann.responses.inputItems.list(first.id)).data
    const second = await ann.responses.create({
      model,
      tools: [weather],
      input: [
        { type: 'item_reference', id: asked?.id ?? '' },
        { type: 'item_reference', id: first.output[0]?.id ?? '' },
        { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
      ],
    })
    const reference = { type: 'item_reference' as const, id: second.output[0]?.id ?? '' }
    await ann.responses.create({
      model,
      input: [{ type: 'item_reference', id: asked?.id ?? '' }, reference, reference, { role: 'user', content: 'And?' }],
    })
    expect(scripted.requests[1]?.messages).toMatchObject([
      { role: 'user', content: [{ text: 'Weather?' }] },
      { role: 'assistant', toolCalls: [{ id: 'c1' }] },
      { role: 'tool', content: 'sunny' },
    ])
    expect(scripted.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant', 'user'])
  })

  it('E1.2 of another caller’s response, of one that is not stored, and of anything else are unknown', async () => {
    const { ann, bob, scripted } = await start(['One.', 'Two.', 'Three.'])
    const kept = await ann.responses.create({ model, input: 'x' })
    const unkept = await ann.responses.create({ model, input: 'x', store: false })
    const deleted = await ann.responses.create({ model, input: 'x' })
    await ann.responses.delete(deleted.id)
    const idOf = ({ output }: typeof kept) => output[0]?.id ?? ''
    for (const [client, id] of [
      [bob, idOf(kept)],
      [ann, idOf(unkept)],
      [ann, idOf(deleted)],
      [ann, idOf(kept).replace('_0', '_7')],
      [ann, '__proto__'],
      [ann, ''],
      [ann, 'msg_../../etc_0'],
    ] as const) {
      const asked = client.responses.create({
        model,
        input: [
          { role: 'user', content: 'x' },
          { type: 'item_reference', id },
        ],
      })
      await expect(asked).rejects.toMatchObject({ status: 404, code: 'item_not_found', param: 'input.1.id' })
    }
    expect(scripted.requests).toHaveLength(3)
  })

  it('E1.2 a short request can’t cause more work than a long one', async () => {
    const { ann } = await start(['a'.repeat(100_000)])
    const { output } = await ann.responses.create({ model, input: 'x' })
    const reference = { type: 'item_reference' as const, id: output[0]?.id ?? '' }
    const asked = ann.responses.create({ model, input: Array.from({ length: 1_000 }, () => reference) })
    await expect(asked).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
  })
})

describe('responses.inputItems.list', () => {
  it('E1.3 inputItems.list lists the input of a request, page by page, without the response it continues', async () => {
    const { ann, bob } = await start(['One.', 'Two.'])
    const first = await ann.responses.create({ model, input: 'Hello.' })
    const listed = await ann.responses.inputItems.list(first.id)
    expect(listed.data).toMatchObject([{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] }])
    const input = Array.from({ length: 25 }, (_, at) => ({
      role: 'user' as const,
      content: `${at}`,
      id: `given_${at}`,
      type: 'message' as const,
    }))
    const second = await ann.responses.create({ model, previous_response_id: first.id, input })
    const ids: string[] = []
    for await (const item of ann.responses.inputItems.list(second.id, { order: 'asc', limit: 10 })) ids.push(item.id ?? '')
    expect(ids).toEqual(input.map(({ id }) => id))
    const page = await ann.responses.inputItems.list(second.id)
    expect([page.data.length, page.has_more, page.data[0]?.id]).toEqual([20, true, 'given_24'])
    await expect(bob.responses.inputItems.list(first.id)).rejects.toMatchObject({ status: 404, code: 'response_not_found' })
  })

  it('E1.3 inputItems.list refuses an invalid page', async () => {
    const { ann, url } = await start(['One.'])
    const { id } = await ann.responses.create({ model, input: 'Hello.' })
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['limit=x', 'limit'],
      ['order=up', 'order'],
      ['after=nothing', 'after'],
    ]) {
      const response = await fetch(`${url}/v1/responses/${id}/input_items?${query}`, { headers: { authorization: 'Bearer ann' } })
      expect([response.status, (await json(response)).error]).toMatchObject([400, { param }])
    }
  })
})

describe('an answer after the agent’s own tools', () => {
  it('E1.4 is a separate text that does not begin with a blank line', async () => {
    const turns = [{ text: 'I look.', toolCalls: [{ name: 'own' }] }, 'It is sunny.']
    const { url } = await startService({ model: scriptedModel([...turns, ...turns]), tools: [own] })
    const provider = createOpenResponses({ name: 'toolloop', url: `${url}/v1/responses`, apiKey: token })
    const texts: string[] = []
    for await (const part of streamText({ model: provider('toolloop'), prompt: 'Weather?' }).stream) {
      if (part.type === 'text-start') texts.push('')
      if (part.type === 'text-delta') texts.push(`${texts.pop()}${part.text}`)
    }
    expect(texts).toEqual(['I look.', 'It is sunny.'])
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token })
    const { output } = await client.responses.create({ model, input: 'Weather?' })
    expect(output).toMatchObject([{ content: [{ text: 'I look.' }] }, { content: [{ text: 'It is sunny.' }] }])
  })

  it('E1.4 does not begin with a blank line in a chat completion whose first turn had no text', async () => {
    const { url } = await startService({ model: scriptedModel([{ toolCalls: [{ name: 'own' }] }, 'It is sunny.']), tools: [own] })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token })
    const { choices } = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Weather?' }] })
    expect(choices[0]?.message.content).toBe('It is sunny.')
  })
})
