import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatMessage, Json, JsonObject } from '../../src/core/messages.ts'
import type { ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { chunk, completion, cuts, eventStream, events, sendCut, sendJson, startServer, textEvents } from './local-server.ts'

const hello: ChatMessage[] = [{ role: 'user', content: 'Hello' }]

interface Settings {
  provider?: string
  quirks?: JsonObject
}

function modelAt(baseURL: string, settings: Settings = {}) {
  return createModel({ provider: 'custom', model: 'model-x', baseURL, apiKey: 'k', maxRetries: 0, ...settings })
}

/** The response to deltas. Checks that it is the same however the bytes are split. */
async function streamed(deltas: JsonObject[], settings?: Settings): Promise<ModelResponse> {
  const stream = Buffer.from(events(...deltas.map((delta) => chunk(delta)), chunk({}, 'stop'), '[DONE]'))
  const responses: ModelResponse[] = []
  for (const cut of cuts) {
    await using server = await startServer((response) => sendCut(eventStream(response), stream, cut))
    let shown = ''
    const sink = {
      reasoning: (delta: string) => {
        shown += delta
      },
    }
    const response = await modelAt(server.baseURL, settings).generate({ messages: hello }, sink)
    expect(shown).toBe(response.reasoning ?? '')
    responses.push(response)
  }
  const [first] = responses
  for (const response of responses) expect(response).toEqual(first)
  if (first === undefined) throw new Error('no response')
  return first
}

async function whole(message: JsonObject, settings?: Settings): Promise<ModelResponse> {
  await using server = await startServer((response) => sendJson(response, completion(message)))
  return await modelAt(server.baseURL, settings).generate({ messages: hello, stream: false })
}

/** The assistant message that is sent back in the next request. */
async function sentBack({ text, toolCalls, providerData }: ModelResponse, settings?: Settings, changes: object = {}): Promise<Json> {
  await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
  const message = { role: 'assistant', content: text, ...(toolCalls.length === 0 ? {} : { toolCalls }), providerData, ...changes }
  await modelAt(server.baseURL, settings).generate({ messages: [...hello, message as ChatMessage, ...hello] })
  const { messages } = server.requests[0]?.body ?? {}
  return Array.isArray(messages) ? (messages[1] ?? null) : null
}

describe('reasoning in content parts', () => {
  const thinking = (text: string, more: JsonObject = {}) => ({
    type: 'thinking',
    thinking: [{ type: 'text', text }],
    closed: true,
    ...more,
  })

  it('F3 Mistral’s thinking is sent back unchanged, in place, even without a call', async () => {
    const response = await streamed(
      [
        { role: 'assistant', content: [thinking('One ')] },
        { content: [thinking('two.', { signature: 'sig' })] },
        { content: 'First. ' },
        {
          content: [
            {
              type: 'thinking',
              thinking: [
                { type: 'reference', reference_ids: [1] },
                { type: 'text', text: 'Three.' },
              ],
            },
          ],
        },
        { content: [{ type: 'text', text: 'Second.' }] },
      ],
      { provider: 'mistral' },
    )
    expect(response).toMatchObject({ text: 'First. Second.', reasoning: 'One two.Three.' })
    expect(await sentBack(response, { provider: 'mistral' })).toEqual({
      role: 'assistant',
      content: [
        thinking('One two.', { signature: 'sig' }),
        { type: 'text', text: 'First. ' },
        {
          type: 'thinking',
          thinking: [
            { type: 'reference', reference_ids: [1] },
            { type: 'text', text: 'Three.' },
          ],
        },
        { type: 'text', text: 'Second.' },
      ],
    })
  })

  it('F3 a response without a stream gives the same', async () => {
    const content = [thinking('Hm.'), { type: 'text', text: 'Yes.' }]
    const response = await whole({ content }, { provider: 'mistral' })
    expect(response).toMatchObject({ text: 'Yes.', reasoning: 'Hm.' })
    expect(await sentBack(response, { provider: 'mistral' })).toEqual({ role: 'assistant', content })
    expect(await sentBack(response, { provider: 'groq' })).toEqual({ role: 'assistant', content: 'Yes.' })
  })

  it('F3 a changed message keeps its opening thinking', async () => {
    const response = await whole({ content: [thinking('Hm.'), { type: 'text', text: 'Yes.' }, thinking('No?')] }, { provider: 'mistral' })
    const back = await sentBack(response, { provider: 'mistral' }, { content: 'Changed.' })
    expect(back).toEqual({ role: 'assistant', content: [thinking('Hm.'), { type: 'text', text: 'Changed.' }] })
  })

  it('F3 Databricks’ summaries are sent back with their signature, and not without', async () => {
    const summary = (text: string, signature: string) => ({ type: 'reasoning', summary: [{ type: 'summary_text', text, signature }] })
    const response = await streamed([
      { role: 'assistant', content: [summary('I need ', '')] },
      { content: [summary('the clock.', '')] },
      { content: [summary('', 'EqQB')] },
      { content: [{ type: 'text', text: 'It is noon.' }] },
    ])
    expect(response).toMatchObject({ text: 'It is noon.', reasoning: 'I need the clock.' })
    expect(await sentBack(response)).toEqual({
      role: 'assistant',
      content: [summary('I need the clock.', 'EqQB'), { type: 'text', text: 'It is noon.' }],
    })
    const cut = await streamed([{ content: [summary('I need ', '')] }, { content: [{ type: 'text', text: 'It' }] }])
    expect(cut.reasoning).toBe('I need ')
    expect(await sentBack(cut)).toEqual({ role: 'assistant', content: 'It' })
  })
})

describe('reasoning in blocks', () => {
  it('F3 LiteLLM’s thinking blocks are sent back signed; their text is shown once', async () => {
    const block = (thinking: string, signature: string | null) => ({
      reasoning_content: thinking,
      thinking_blocks: [{ type: 'thinking', thinking, signature }],
    })
    const response = await streamed([
      { role: 'assistant', content: '', ...block('I need ', null) },
      block('the clock.', ''),
      block('', 'EqQB'),
      block('Or not.', null),
      block('', 'ErQC'),
      { thinking_blocks: [{ type: 'redacted_thinking', data: 'sealed' }] },
      { thinking_blocks: [{ type: 'redacted_thinking', data: 'sealed too' }] },
      { content: 'It is noon.' },
    ])
    expect(response).toMatchObject({ text: 'It is noon.', reasoning: 'I need the clock.Or not.' })
    const blocks: JsonObject[] = [
      { type: 'thinking', thinking: 'I need the clock.', signature: 'EqQB' },
      { type: 'thinking', thinking: 'Or not.', signature: 'ErQC' },
      { type: 'redacted_thinking', data: 'sealed' },
      { type: 'redacted_thinking', data: 'sealed too' },
    ]
    expect(await sentBack(response)).toEqual({ role: 'assistant', content: 'It is noon.', thinking_blocks: blocks })
    const wanted = await sentBack(response, { quirks: { sendReasoningBack: true } })
    expect(wanted).toMatchObject({ reasoning_content: 'I need the clock.Or not.', thinking_blocks: blocks })
    const wholeResponse = await whole({ content: 'It is noon.', reasoning_content: 'I need the clock.Or not.', thinking_blocks: blocks })
    expect(wholeResponse.providerData).toEqual(response.providerData)
  })

  it('F3 a thinking block that was cut off before its signature is not sent back', async () => {
    const response = await streamed([{ thinking_blocks: [{ type: 'thinking', thinking: 'Hm', signature: null }] }, { content: 'It' }])
    expect(response.reasoning).toBe('Hm')
    expect(await sentBack(response)).toEqual({ role: 'assistant', content: 'It' })
  })

  it('F3 reasoning details of a text answer are sent back, and are read if there is no other reasoning', async () => {
    const details: JsonObject[] = [
      { type: 'reasoning.summary', index: 0, summary: 'The clock.' },
      { type: 'reasoning.encrypted', index: 1, data: 'sealed' },
    ]
    const response = await streamed([
      { reasoning_details: [{ type: 'reasoning.summary', index: 0, summary: 'The ' }] },
      { reasoning_details: [{ type: 'reasoning.summary', index: 0, summary: 'clock.' }] },
      { content: 'Noon.', reasoning_details: [details[1] ?? {}] },
    ])
    expect(response).toMatchObject({ text: 'Noon.', reasoning: 'The clock.' })
    expect(await sentBack(response)).toEqual({ role: 'assistant', content: 'Noon.', reasoning_details: details })
  })
})

describe('reasoning that a server requires', () => {
  const clock = defineTool({ name: 'clock', description: 'The time.', parameters: { type: 'object' }, execute: () => '12:00' })
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } }

  it.each([
    ['deepseek', 'deepseek-v4-pro', ''],
    ['moonshot', 'kimi-k2.6', ' '],
    ['moonshot', 'kimi-k3', ' '],
    ['custom', 'deepseek-ai/DeepSeek-V4', ''],
    ['custom', 'moonshotai/Kimi-K2.6', ' '],
    ['openai', 'deepseek-v4-pro', ''],
    ['azure', 'Kimi-K2.6', ' '],
    ['openrouter', 'deepseek/deepseek-v4-flash', ''],
    ['dashscope', 'deepseek-v4-pro', ''],
    ['doubao', 'kimi-k2-thinking', ' '],
  ])(
    'F3 every assistant message for %s/%s has it: answers, messages without reasoning, messages of other models',
    async (provider, model, missing) => {
      const replies = [
        events(chunk({ reasoning_content: 'The clock.' }), chunk({ tool_calls: [call] }), chunk({}, 'tool_calls'), '[DONE]'),
        events(chunk({ reasoning_content: 'It said noon.' }), chunk({ content: 'Noon.' }, 'stop'), '[DONE]'),
        events(chunk({ content: 'You are welcome.' }, 'stop'), '[DONE]'),
        events(chunk({ reasoning_content: 'Hm.' }), chunk({ content: 'Bye.' }, 'stop'), '[DONE]'),
      ]
      await using server = await startServer((response, { body }, index) => {
        const messages = Array.isArray(body.messages) ? body.messages : []
        const bare = messages.some(
          (message) => JSON.stringify(message).includes('"assistant"') && !JSON.stringify(message).includes('reasoning_content'),
        )
        if (bare)
          sendJson(response, { error: { message: 'The `reasoning_content` in the thinking mode must be passed back to the API.' } }, 400)
        else eventStream(response).end(replies[index])
      })
      const runner = new AgentRunner({
        model: createModel({ provider, model, apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 }),
        tools: [clock],
      })
      const before: ChatMessage[] = [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: 'Hello.',
          providerData: { provider: 'xai', data: { reasoning: { field: 'reasoning', text: 'secret' } } },
        },
      ]
      let messages = before
      for (const said of ['What time is it?', 'Thanks!', 'Bye!']) {
        const result = await runner.run(said, { messages })
        expect(result.error).toBeUndefined()
        messages = result.messages
      }
      const sent = server.requests.at(-1)?.body.messages as JsonObject[]
      const reasoning = sent.filter(({ role }) => role === 'assistant').map(({ reasoning_content }) => reasoning_content)
      expect(reasoning).toEqual([missing, 'The clock.', 'It said noon.', missing])
    },
  )
})
