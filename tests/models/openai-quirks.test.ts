import { describe, expect, it } from 'vitest'
import type { ChatMessage, Json, JsonObject } from '../../src/core/messages.ts'
import type { ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { chunk, completion, cuts, eventStream, events, readRecording, sendCut, sendJson, startServer, textEvents } from './local-server.ts'

const hello: ChatMessage[] = [{ role: 'user', content: 'Hello' }]
type Settings = { provider?: string; model?: string }

interface Shown {
  text: string
  reasoning: string
  calls: { id: string; name: string; json: string }[]
}

/** The model's answer to exactly these bytes. Checks that the sink's pieces add up to the response. */
async function ask(baseURL: string, settings: Settings = {}, stream = true): Promise<ModelResponse> {
  const model = createModel({ provider: 'custom', model: 'model-x', baseURL, maxRetries: 0, apiKey: 'k', ...settings })
  const shown: Shown = { text: '', reasoning: '', calls: [] }
  const response = await model.generate(
    { messages: hello, stream },
    {
      text: (delta) => {
        shown.text += delta
      },
      reasoning: (delta) => {
        shown.reasoning += delta
      },
      toolCallStart: (index, id, name) => {
        expect(index).toBe(shown.calls.length)
        shown.calls.push({ id, name, json: '' })
      },
      toolCallDelta: (index, json) => {
        const call = shown.calls[index]
        if (call !== undefined) call.json += json
      },
    },
  )
  expect(shown.text).toBe(response.text)
  expect(shown.reasoning).toBe(response.reasoning ?? '')
  expect(shown.calls.map(({ name, json }) => ({ name, arguments: json }))).toEqual(response.toolCalls.map((call) => call.function))
  return response
}

async function answersTo(stream: string, settings?: Settings): Promise<ModelResponse[]> {
  const found: ModelResponse[] = []
  for (const cut of cuts) {
    await using server = await startServer((response) => sendCut(eventStream(response), Buffer.from(stream), cut))
    found.push(await ask(server.baseURL, settings))
  }
  return found
}

/** The answer to a recording. Checks that it is the same complete and in pieces of 1 byte, 7 bytes and random size. */
async function replay(recording: string, settings?: Settings): Promise<ModelResponse> {
  const [first, ...others] = await answersTo(events(...readRecording(recording), '[DONE]'), settings)
  for (const other of others) expect(other).toEqual(first)
  if (first === undefined) throw new Error('no answer')
  return first
}

async function whole(body: JsonObject, settings?: Settings): Promise<ModelResponse> {
  await using server = await startServer((response) => sendJson(response, body))
  return await ask(server.baseURL, settings, false)
}

const weather = { name: 'get_weather', arguments: '{"city":"東京"}' }
const time = { name: 'get_time', arguments: '{"timezone":"JST"}' }
const call = (id: string, called: { name: string; arguments: string }) => ({ id, type: 'function' as const, function: called })

describe('recordings of Chat Completions servers, complete and split', () => {
  const recordings: [name: string, file: string, calls: ReturnType<typeof call>[]][] = [
    [
      'S2-43 parallel calls, interleaved',
      'parallel-interleaved',
      [call('call_a', { ...weather, arguments: '{"city":"tokyo"}' }), call('call_b', time)],
    ],
    ['Q1 no index, whole calls', 'q1-no-index-whole-calls', [call('function-call-17', weather), call('function-call-18', time)]],
    ['Q1 no index, calls in pieces', 'q1-no-index-pieces', [call('call_a', weather), call('call_b', time)]],
    ['Q2 every call at index 0', 'q2-all-at-index-0', [call('call_9a', weather), call('call_9b', time)]],
    ['Q2 a fresh id on each chunk', 'q2-fresh-id-each-chunk', [call('chatcmpl-tool-1', weather), call('chatcmpl-tool-4', time)]],
    ['Q3 indexes from 1, with gaps', 'q3-indexes-from-1-with-gaps', [call('call_a', weather), call('call_b', time)]],
    ['Q3 indexes that collide', 'q3-indexes-collide', [call('call_a', weather), call('call_b', time)]],
    ['Q4 no ids', 'q4-no-ids', [call('', weather), call('', time)]],
    ['Q4 an id that comes late', 'q4-late-id', [call('call_late', weather)]],
    ['Q5 empty id and name later', 'q5-empty-id-and-name-later', [call('call_a', weather)]],
    ['Q5 id and name on every delta', 'q5-id-and-name-again', [call('call_a', weather)]],
    ['Q6 the name last', 'q6-name-late', [call('call_a', weather)]],
    ['Q7 finish reason stop', 'q7-stop-with-calls', [call('call_a', weather)]],
    ['Q7 a finish reason of its own', 'q7-foreign-word-with-calls', [call('call_a', weather)]],
    ['Q12 arguments as an object', 'q12-arguments-as-object', [call('call_a', weather)]],
    ['Q12 the whole arguments again', 'q12-whole-again-at-the-end', [call('call_a', weather)]],
    ['Q12 a placeholder first', 'q12-placeholder-first', [call('call_a', weather)]],
    ['Q15 the legacy function_call', 'q15-function-call', [call('', weather)]],
  ]
  for (const [name, file, calls] of recordings) {
    it(`S2-35 ${name}`, async () => {
      const { toolCalls, finishReason, text } = await replay(file)
      expect({ toolCalls, finishReason, text }).toEqual({ toolCalls: calls, finishReason: 'tool_calls', text: '' })
    })
  }

  it('Q7 keeps the provider’s own finish reason', async () => {
    expect((await replay('q7-stop-with-calls')).rawFinishReason).toBe('stop')
    expect((await replay('q7-foreign-word-with-calls')).rawFinishReason).toBe('tool_use')
  })

  it('Q8 H15 treats calls with incomplete arguments as a cut response', async () => {
    const { finishReason, rawFinishReason, toolCalls, warnings } = await replay('q8-cut-arguments')
    expect([finishReason, rawFinishReason, toolCalls.length]).toEqual(['length', 'tool_calls', 2])
    expect(warnings).toEqual([expect.stringContaining('cut off')])
  })

  it('Q9 accepts empty choices, choices without delta, and content that is null or parts', async () => {
    const { text, usage, finishReason } = await replay('q9-empty-choices-and-parts')
    expect({ text, usage, finishReason }).toEqual({
      text: 'Grüße aus 東京 🗼',
      usage: { inputTokens: 21, outputTokens: 9, totalTokens: 30 },
      finishReason: 'stop',
    })
  })

  it('Q10 finds usage and cached tokens wherever they are; the last of several counts', async () => {
    expect((await replay('q10-usage-in-choice')).usage).toEqual({ inputTokens: 19, outputTokens: 3, totalTokens: 22, cacheReadTokens: 16 })
    expect((await replay('q10-usage-in-every-chunk')).usage).toEqual({
      inputTokens: 19,
      outputTokens: 2,
      totalTokens: 21,
      reasoningTokens: 1,
      cacheReadTokens: 8,
    })
    expect((await replay('q10-reasoning-not-in-completion')).usage).toEqual({
      inputTokens: 19,
      outputTokens: 102,
      totalTokens: 121,
      reasoningTokens: 100,
      cacheReadTokens: 4,
    })
  })

  it('Q11 reads reasoning under each of its names and sends it back under the same name', async () => {
    for (const [file, field] of [
      ['q11-reasoning-content', 'reasoning_content'],
      ['q11-reasoning-plain', 'reasoning'],
      ['q11-reasoning-text', 'reasoning_text'],
    ] as const) {
      const { reasoning, text, toolCalls, providerData } = await replay(file, { provider: 'deepseek', model: 'deepseek-flash' })
      expect([reasoning, text]).toEqual(['The user asks.', 'Let me look.'])
      expect(providerData).toEqual({ provider: 'deepseek', data: { reasoning: { field, text: 'The user asks.' } } })
      const history: ChatMessage[] = [{ role: 'assistant', content: text, toolCalls, ...(providerData ? { providerData } : {}) }]
      const [[same], [other]] = await Promise.all([sentBy(history, 'deepseek'), sentBy(history, 'groq')])
      expect(same).toMatchObject({ [field]: 'The user asks.', content: 'Let me look.' })
      expect(JSON.stringify(other)).not.toContain('The user asks.')
    }
  })

  it('Q15 returns a refusal as the text, and says that it is one', async () => {
    const { text, finishReason, toolCalls } = await replay('q15-refusal')
    expect([text, finishReason, toolCalls]).toEqual(["I'm sorry, I can't help with that.", 'refusal', []])
  })

  it('Q18 keeps thought signatures and sends each back with its call, only to the same provider', async () => {
    const { toolCalls, providerData } = await replay('q18-thought-signature')
    expect(toolCalls.map(({ id }) => id)).toEqual(['call_a', ''])
    // The second call gets its id later, from the caller.
    const calls = toolCalls.map((one, at) => ({ ...one, id: one.id || `call_made_${at}` }))
    const history: ChatMessage[] = [{ role: 'assistant', content: '', toolCalls: calls, ...(providerData ? { providerData } : {}) }]
    const [same] = await sentBy(history, 'custom')
    expect(same).toMatchObject({
      tool_calls: [
        { extra_content: { google: { thought_signature: 'CsIBAVSoXO4=' } } },
        { extra_content: { google: { thought_signature: 'DtMC' } } },
      ],
    })
    expect(JSON.stringify(await sentBy(history, 'groq'))).not.toContain('thought_signature')
  })
})

describe('fields that a gateway wants back', () => {
  it.each([
    ['on the call', { provider_specific_fields: { thought_signature: 'CsIB' } }, {}],
    ['on its function', {}, { provider_specific_fields: { thought_signature: 'CsIB' } }],
  ])('F3 go back with the call if they came %s', async (_where, onCall, onFunction) => {
    const stream = events(
      chunk({ tool_calls: [{ index: 0, id: 'a', ...onCall, function: { name: 'f', arguments: '{}', ...onFunction } }] }),
    )
    const [response] = await answersTo(stream + events(chunk({}, 'tool_calls'), '[DONE]'))
    const { toolCalls = [], providerData } = response ?? {}
    const [, sent] = await sentBy(
      [...hello, { role: 'assistant', content: '', toolCalls, ...(providerData && { providerData }) }],
      'custom',
    )
    expect(sent).toMatchObject({ tool_calls: [{ id: 'a', provider_specific_fields: { thought_signature: 'CsIB' } }] })
  })

  it('F3 go back with the message: `reasoning_opaque` of GitHub Copilot', async () => {
    const stream = events(chunk({ reasoning_text: 'Hm.' }), chunk({ content: 'Yes.', reasoning_opaque: 'x1' }), chunk({}, 'stop'), '[DONE]')
    for (const { text, reasoning, providerData } of await answersTo(stream)) {
      expect([text, reasoning]).toEqual(['Yes.', 'Hm.'])
      const [, sent] = await sentBy([...hello, { role: 'assistant', content: text, ...(providerData && { providerData }) }], 'custom')
      expect(sent).toEqual({ role: 'assistant', content: 'Yes.', reasoning_opaque: 'x1' })
    }
  })
})

/** The messages as a provider receives them. */
async function sentBy(messages: ChatMessage[], provider: string): Promise<unknown[]> {
  await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
  await createModel({ provider, model: 'any', apiKey: 'k', baseURL: server.baseURL }).generate({ messages })
  return server.requests[0]?.body.messages as unknown[]
}

describe('framing', () => {
  const lines = readRecording('q9-empty-choices-and-parts')
  const expected = { text: 'Grüße aus 東京 🗼', finishReason: 'stop' }
  const framings: [name: string, stream: string][] = [
    [
      'comments between the events',
      `: OPENROUTER PROCESSING\n\n${lines.map((line) => `data: ${line}\n\n: OPENROUTER PROCESSING\n\n`).join('')}data: [DONE]\n\n`,
    ],
    ['CRLF', lines.map((line) => `data: ${line}\r\n\r\n`).join('')],
    ['CR', lines.map((line) => `data: ${line}\r\r`).join('')],
    ['no blank line before the end', lines.map((line) => `data: ${line}`).join('\n\n')],
    ['no [DONE]', events(...lines)],
    ['[DONE] twice, and more behind it', `${events(...lines, '[DONE]', '[DONE]')}data: not json\n\n`],
    ['a byte order mark', `\ufeff${events(...lines, '[DONE]')}`],
    ['blank lines and empty data first', `\n\ndata:\n\n${events(...lines, '[DONE]')}`],
    ['names on the events', lines.map((line) => `event: message\ndata: ${line}\n\n`).join('')],
    ['no space after the colon', lines.map((line) => `data:${line}\n\n`).join('')],
  ]
  for (const [name, stream] of framings) {
    it(`Q13 accepts ${name}`, async () => {
      for (const answer of await answersTo(stream)) expect(answer).toMatchObject(expected)
    })
  }

  it('Q13 accepts a stream with [DONE] that does not end', async () => {
    await using server = await startServer((response) => eventStream(response).write(textEvents('all of it')))
    expect((await ask(server.baseURL)).text).toBe('all of it')
    await server.firstClosed
  })

  it('Q13 accepts [DONE] without a finish reason if something arrived, with a warning', async () => {
    const [answer] = await answersTo(events(chunk({ content: 'hi' }), '[DONE]'))
    expect(answer).toMatchObject({ text: 'hi', finishReason: 'stop', warnings: ['The response ended without a finish reason'] })
  })

  it('accepts one final message that repeats the stream or replaces it', async () => {
    const message = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }
    const [repeated] = await answersTo(events(chunk({ content: 'Hel' }), chunk({ content: 'lo' }), { choices: [message] }, '[DONE]'))
    expect(repeated?.text).toBe('Hello')
    const [alone] = await answersTo(events({ choices: [message] }, '[DONE]'))
    expect(alone?.text).toBe('Hello')
  })
})

describe('responses without a stream', () => {
  it('S2-7 S2-17 S2-35 reads text, calls, usage, model and id', async () => {
    const body = {
      ...completion({ content: 'Let me look.', tool_calls: [{ ...call('call_a', weather) }, { ...call('call_b', time) }] }, 'tool_calls'),
      usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6, prompt_tokens_details: { cached_tokens: 3 } },
    }
    expect(await whole(body)).toEqual({
      text: 'Let me look.',
      toolCalls: [call('call_a', weather), call('call_b', time)],
      finishReason: 'tool_calls',
      rawFinishReason: 'tool_calls',
      usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6, cacheReadTokens: 3 },
      model: 'model-x',
      responseId: 'chatcmpl-1',
    })
  })

  it('Q1 Q3 Q4 Q12 Q18 H18 separates calls whose ids are missing or equal, and whose arguments are objects', async () => {
    const tool_calls: Json[] = [
      {
        id: 'call_0',
        function: { name: 'get_weather', arguments: { city: '東京' } },
        extra_content: { google: { thought_signature: 'x' } },
      },
      { id: 'call_0', function: time },
      { function: { name: 'get_time', arguments: null } },
    ]
    const { toolCalls, providerData } = await whole(completion({ tool_calls }, 'stop'))
    expect(toolCalls).toEqual([call('call_0', weather), call('call_0', time), call('', { name: 'get_time', arguments: '' })])
    expect(providerData?.data.calls).toHaveLength(1)
  })

  it('Q7 Q8 decides by the calls in the response, not by the finish reason', async () => {
    expect((await whole(completion({ tool_calls: [{ ...call('a', weather) }] }, 'stop'))).finishReason).toBe('tool_calls')
    expect((await whole(completion({ content: 'x', tool_calls: [] }, 'tool_calls'))).finishReason).toBe('stop')
    expect((await whole(completion({ tool_calls: [{ ...call('a', weather) }] }, 'length'))).finishReason).toBe('length')
    expect(
      (await whole(completion({ tool_calls: [{ ...call('a', { name: 'f', arguments: '{"a":' }) }] }, 'tool_calls'))).finishReason,
    ).toBe('length')
  })

  it('Q9 Q11 Q15 reads content in parts, including thinking, reasoning, refusals and the legacy field', async () => {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }
    expect(await whole(completion({ content: [thinking, { type: 'text', text: 'Yes.' }] }))).toMatchObject({
      text: 'Yes.',
      reasoning: 'Hm.',
    })
    expect(await whole(completion({ content: 'Yes.', reasoning_content: 'Hm.', reasoning: 'Hm.' }))).toMatchObject({
      text: 'Yes.',
      reasoning: 'Hm.',
    })
    expect(await whole(completion({ refusal: 'No.' }))).toMatchObject({ text: 'No.', finishReason: 'refusal' })
    expect(await whole(completion({ function_call: weather }, 'function_call'))).toMatchObject({
      toolCalls: [call('', weather)],
      finishReason: 'tool_calls',
    })
    expect(await whole(completion({ content: 'x' }, 'content_filter'))).toMatchObject({ text: 'x', finishReason: 'content_filter' })
  })

  it('Q10 counts the cost if the provider reports it', async () => {
    const body = { ...completion({ content: 'x' }), usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6, cost: 0.0012 } }
    expect((await whole(body, { provider: 'openrouter' })).usage).toMatchObject({ costUsd: 0.0012 })
    expect((await whole(body)).usage).not.toHaveProperty('costUsd')
  })

  it('Q11 joins the pieces of a reasoning block and sends the blocks back', async () => {
    const detail = (text: string) => ({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', index: 0, text, signature: null }] })
    const signature: JsonObject = {
      reasoning_details: [
        { type: 'reasoning.text', index: 0, signature: 'sig' },
        { type: 'reasoning.encrypted', index: 1, data: 'xyz' },
      ],
    }
    const stream = events(
      chunk(detail('One ')),
      chunk(detail('two.')),
      chunk(signature),
      chunk({ tool_calls: [{ index: 0, ...call('a', weather) }] }),
      chunk({}, 'tool_calls'),
      '[DONE]',
    )
    const [answer] = await answersTo(stream, { provider: 'openrouter' })
    if (answer?.providerData === undefined) throw new Error('expected provider data')
    const [sent] = await sentBy(
      [{ role: 'assistant', content: '', toolCalls: answer.toolCalls, providerData: answer.providerData }],
      'openrouter',
    )
    expect(sent).toMatchObject({
      reasoning: 'One two.',
      reasoning_details: [
        { type: 'reasoning.text', index: 0, text: 'One two.', signature: 'sig' },
        { type: 'reasoning.encrypted', index: 1, data: 'xyz' },
      ],
    })
  })

  it('S3-20 accepts a stream if none was requested, and vice versa', async () => {
    const recording = events(...readRecording('q9-empty-choices-and-parts'), '[DONE]')
    await using streaming = await startServer((response) => eventStream(response).end(recording))
    expect((await ask(streaming.baseURL, {}, false)).text).toBe('Grüße aus 東京 🗼')
    await using json = await startServer((response) =>
      sendCut(
        response.writeHead(200, { 'content-type': 'application/json' }),
        Buffer.from(`\n ${JSON.stringify(completion({ content: '東京' }))}`),
        1,
      ),
    )
    expect((await ask(json.baseURL)).text).toBe('東京')
    await using mislabelled = await startServer((response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(recording),
    )
    expect((await ask(mislabelled.baseURL)).text).toBe('Grüße aus 東京 🗼')
  })
})
