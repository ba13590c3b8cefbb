import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { copyJson, type Json, type JsonObject } from '../../src/core/messages.ts'
import { PartialArgs } from '../../src/models/google/partial-args.ts'
import { countingTool } from '../hazards/tools.ts'
import { ask, both, hello, modelAt, replay, sentBack } from './google-replay.ts'
import { readRecording } from './local-server.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const weather = { type: 'function' as const, function: { name: 'get_weather', arguments: '{"city":"東京"}' } }
const time = { type: 'function' as const, function: { name: 'get_time', arguments: '{"timezone":"JST"}' } }

describe('responses of generateContent, complete and split, streamed and not', () => {
  it('Q26 S2-33 S2-46 several calls are in one chunk, without ids, finished with STOP', async () => {
    expect(await both('q26-calls-in-one-chunk')).toEqual({
      text: 'I look both up. ',
      toolCalls: [
        { id: '', ...weather },
        { id: '', ...time },
      ],
      finishReason: 'tool_calls',
      rawFinishReason: 'STOP',
      usage: { inputTokens: 20, outputTokens: 9, totalTokens: 29 },
      model: 'gemini-3.5-flash',
      responseId: 'rZx1',
    })
  })

  it('Q26 S2-46 calls in several chunks with repeated ids stay separate', async () => {
    const { toolCalls, finishReason } = await both('q26-repeated-ids')
    expect(toolCalls).toEqual([
      { id: 'call_0', ...weather },
      { id: '', ...weather },
      { id: '', ...time },
    ])
    expect(finishReason).toBe('tool_calls')
  })

  it('Q26 calls have no ids: the loop creates them, and each result is sent to its call', async () => {
    const look = countingTool('look')
    const calls: JsonObject[] = [
      { functionCall: { name: 'look', args: { a: 1 } } },
      { functionCall: { name: 'look', args: { a: 2 } } },
      { functionCall: { name: 'look' } },
    ]
    const events = [{ candidates: [{ content: { parts: calls }, finishReason: 'STOP' }] }]
    await using server = await startStrictProvider({ script: [{ events }, 'done'] })
    const result = await new AgentRunner({ model: modelAt(server), tools: [look.tool] }).run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(look.calls).toEqual([{ a: 1 }, { a: 2 }, {}])
    expect(new Set(result.toolCalls.map(({ id }) => id)).size).toBe(3)
  })

  it.each(['q26-malformed', 'q26-unexpected'])('Q26 after %s, the request is retried unless something was shown', async (recording) => {
    const recordings = [readRecording(recording), readRecording('q26-usage')]
    await using server = await startStrictProvider({ recordings })
    const model = modelAt(server, { maxRetries: 1, maxRetryDelayMs: 1 })
    expect(await model.generate({ messages: hello })).toMatchObject({ text: 'Hi there', retries: 1 })
    await using other = await startStrictProvider({ recordings })
    const code = { 'q26-malformed': 'MALFORMED_FUNCTION_CALL', 'q26-unexpected': 'UNEXPECTED_TOOL_CALL' }[recording]
    const partial = recording === 'q26-unexpected' ? { text: 'Let me call' } : { usage: { inputTokens: 20 } }
    await expect(ask(modelAt(other))).rejects.toMatchObject({ code: 'bad_response', providerCode: code, retryable: true, partial })
  })

  it('Q26 a malformed call is reported in the provider’s words', async () => {
    await using server = await startStrictProvider({ recordings: [readRecording('q26-malformed')] })
    await expect(ask(modelAt(server))).rejects.toThrow('MALFORMED_FUNCTION_CALL: Malformed function call: print(default_api')
  })

  it('Q26 H42 a filtered response is named as such, and its calls are dropped', async () => {
    expect(await both('q26-safety')).toMatchObject({
      text: 'One mixes ',
      toolCalls: [],
      finishReason: 'content_filter',
      rawFinishReason: 'SAFETY',
      warnings: ['1 tool call(s) of a filtered response were dropped'],
    })
    for (const rawFinishReason of ['RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY']) {
      await using server = await startStrictProvider({ script: [{ text: 'a', rawFinishReason }] })
      expect(await ask(modelAt(server))).toMatchObject({ finishReason: 'content_filter', rawFinishReason })
    }
  })

  it('Q26 H42 a prompt is blocked before there is a candidate', async () => {
    const response = await both('q26-prompt-blocked')
    expect(response).toMatchObject({ text: '', finishReason: 'content_filter', rawFinishReason: 'PROHIBITED_CONTENT' })
    expect(response.usage).toEqual({ inputTokens: 8, outputTokens: 0, totalTokens: 8 })
    expect(response.warnings).toEqual(['The provider explains: It holds forbidden words.', 'The prompt was blocked: `PROHIBITED_CONTENT`'])
    await using server = await startStrictProvider({ recordings: [readRecording('q26-prompt-blocked')] })
    const result = await new AgentRunner({ model: modelAt(server) }).run('go')
    expect(result).toMatchObject({ stopReason: 'refused', error: { code: 'content_filter' } })
  })

  it('Q26 OTHER is an error, and MAX_TOKENS a cut-off response, with or without calls', async () => {
    const toolCalls = [{ name: 'look' }]
    await using server = await startStrictProvider({
      script: [
        { text: 'a', rawFinishReason: 'OTHER' },
        { toolCalls, rawFinishReason: 'MAX_TOKENS' },
      ],
    })
    const model = modelAt(server)
    expect(await ask(model)).toMatchObject({ text: 'a', finishReason: 'error', rawFinishReason: 'OTHER' })
    expect(await ask(model)).toMatchObject({ finishReason: 'length', toolCalls: [{ function: { name: 'look' } }] })
  })

  it('Q26 usage adds up: thoughts apart from the answer, tools’ input apart from the prompt', async () => {
    const { usage } = await replay('q26-usage')
    expect(usage).toEqual({ inputTokens: 4350, outputTokens: 12, totalTokens: 4362, reasoningTokens: 5, cacheReadTokens: 4000 })
  })

  it('a response that stopped at a limit of the provider is continued as one response with the usage of both', async () => {
    const response = await replay('q26-continuation', 'q26-after-continuation')
    expect(response).toMatchObject({ text: 'The first half, then the second.', finishReason: 'stop', rawFinishReason: 'STOP' })
    expect(response.usage).toEqual({ inputTokens: 120, outputTokens: 120, totalTokens: 240 })
    await using server = await startStrictProvider({ recordings: ['q26-continuation', 'q26-after-continuation'].map(readRecording) })
    await ask(modelAt(server))
    const [first, second] = server.requests.map(({ body }) => body)
    expect(second).toEqual({ ...first, continuationToken: 'tok-1' })
    const endless = { text: 'on ', rawFinishReason: 'CONTINUATION', providerData: { provider: 'x', data: { continuationToken: 't' } } }
    await using stuck = await startStrictProvider({ script: () => endless })
    const unfinished = await ask(modelAt(stuck), { stream: false })
    expect(stuck.requests).toHaveLength(17)
    expect(unfinished).toMatchObject({ finishReason: 'length', warnings: [expect.stringContaining('16 times')] })
  })

  it('Q27 signatures on texts, calls and an empty part stay in place; thoughts are reasoning', async () => {
    const response = await both('q27-signatures')
    expect(response).toMatchObject({ reasoning: '**Two cities**\n\nTwo calls. 思考', text: 'I look it up. Now.' })
    expect(response.usage).toMatchObject({ outputTokens: 41, reasoningTokens: 11 })
    expect(await sentBack(response)).toEqual([
      { text: 'I look ' },
      { text: 'it up.', thoughtSignature: 'RWlnaHQ=' },
      { text: ' Now.' },
      { functionCall: { id: 'made_0', name: 'get_weather', args: { city: '東京' } }, thoughtSignature: 'Rmlyc3Q=' },
      { functionCall: { id: 'made_1', name: 'get_time', args: { timezone: 'JST' } } },
      { text: '', thoughtSignature: 'TGFzdA==' },
    ])
  })

  it('Q27 a signature alone in its part is sent back on an empty text', async () => {
    const response = await both('q27-signature-alone')
    expect(await sentBack(response)).toEqual([{ text: 'Done.' }, { text: '', thoughtSignature: 'QWxvbmU=' }])
  })

  it('Q27 no signature is sent to another provider; calls without one get the documented placeholder if required', async () => {
    const response = await replay('q27-signatures')
    const standIn = 'skip_thought_signature_validator'
    const changed = { ...response, text: 'Edited.' }
    const foreign = { ...response, providerData: { provider: 'vertex', data: response.providerData?.data ?? {} } }
    for (const other of [changed, foreign]) {
      const parts = await sentBack(other)
      expect(parts.map(({ thoughtSignature }) => thoughtSignature)).toEqual([undefined, standIn, undefined])
    }
    const older = await sentBack(foreign, { model: 'gemini-2.5-flash' })
    expect(older.map(({ thoughtSignature }) => thoughtSignature)).toEqual([undefined, undefined, undefined])
    const plain = await sentBack({ text: 'No calls.', toolCalls: [], finishReason: 'stop' })
    expect(plain).toEqual([{ text: 'No calls.' }])
  })

  it('S2-38 H20 Q27 parts of the provider’s own tools are kept and not returned as calls', async () => {
    const response = await both('q27-own-tools')
    expect(response).toMatchObject({ text: 'I compute. It is 42.', toolCalls: [], finishReason: 'stop' })
    const parts = await sentBack(response)
    expect(parts.map((part) => Object.keys(part)[0])).toEqual([
      'text',
      'executableCode',
      'codeExecutionResult',
      'toolCall',
      'toolResponse',
      'text',
    ])
    expect(parts[1]).toMatchObject({ executableCode: { code: 'print(6*7)' }, thoughtSignature: 'Q29kZQ==' })
  })

  it('an image in a response is kept, with a warning', async () => {
    const inlineData = { mimeType: 'image/png', data: 'aGk=' }
    const events: JsonObject[] = [
      { candidates: [{ content: { parts: [{ text: 'Look: ' }, { inlineData, thoughtSignature: 'UGlj' }] }, finishReason: 'STOP' }] },
    ]
    await using server = await startStrictProvider({ script: [{ events }] })
    const response = await ask(modelAt(server))
    expect(response).toMatchObject({ text: 'Look: ', warnings: [expect.stringContaining('`inlineData`')] })
    expect(await sentBack(response)).toEqual([{ text: 'Look: ' }, { inlineData, thoughtSignature: 'UGlj' }])
  })

  it('Q28 arguments arrive value by value, texts in pieces', async () => {
    const response = await replay('q28-partial-args')
    expect(response.finishReason).toBe('tool_calls')
    expect(response.toolCalls.map(({ function: { name, arguments: json } }) => [name, JSON.parse(json)])).toEqual([
      [
        'book',
        {
          city: '東京',
          rooms: [
            { beds: 2, view: true },
            { "odd 'key'": null, note: 'line\n"quoted"' },
          ],
        },
      ],
      ['read_theme', {}],
      ['get_time', { timezone: 'JST' }],
    ])
    expect((await sentBack(response))[0]).toMatchObject({ thoughtSignature: 'Qm9vaw==' })
  })

  it('Q28 H15 arguments that never end are a cut response, whatever the finish reason', async () => {
    const lines = readRecording('q28-partial-args')
    await using server = await startStrictProvider({ recordings: [[...lines.slice(0, 4), ...lines.slice(-1)]] })
    expect(await ask(modelAt(server))).toMatchObject({ finishReason: 'length', warnings: [expect.stringContaining('cut off')] })
  })

  it('Q28 other framings: LF, no event names, a list in place of a stream', async () => {
    const whole = `[${readRecording('q26-usage').join(',\r\n')}]`
    await using server = await startStrictProvider({ script: [{ body: whole }] })
    expect(await ask(modelAt(server))).toMatchObject({ text: 'Hi there', finishReason: 'stop', usage: { inputTokens: 4350 } })
  })
})

describe('arguments by path', () => {
  it('Q28 any arguments, sent value by value, are the same arguments', () => {
    const key = fc.oneof(fc.constantFrom('a', 'b c', '__proto__', "it's", '東', 'x.y', '[0]', '\\'), fc.string())
    const tree = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        tie('object'),
      ),
      object: fc.oneof(
        fc.dictionary(key, tie('value'), { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
        fc.array(tie('value'), { minLength: 1, maxLength: 3 }).map((list): JsonObject => ({ list })),
      ),
    })).object
    fc.assert(
      fc.property(tree, (value) => {
        const args = new PartialArgs()
        for (const piece of piecesOf(value, '$')) args.add([piece])
        expect(args.value).toEqual(copyJson(value))
      }),
    )
  })

  it('Q28 an invalid path makes the arguments unreadable, not wrong', () => {
    for (const jsonPath of ['', 'city', '$', '$.a[7]', '$.a..b', '$[0]', '$.a[4294967295]']) {
      const args = new PartialArgs()
      args.add([
        { jsonPath: '$.a[0]', stringValue: 'x' },
        { jsonPath, stringValue: 'y' },
      ])
      expect(() => JSON.parse(String(args.value)), jsonPath).toThrow()
    }
  })
})

/** A value as Vertex AI streams it, its texts in two pieces. */
function* piecesOf(value: Json, jsonPath: string): Generator<JsonObject> {
  if (typeof value === 'string') {
    const middle = value.length >> 1
    yield { jsonPath, stringValue: value.slice(0, middle), willContinue: true }
    yield { jsonPath, stringValue: value.slice(middle) }
  } else if (typeof value === 'number') yield { jsonPath, numberValue: value }
  else if (typeof value === 'boolean') yield { jsonPath, boolValue: value }
  else if (value === null) yield { jsonPath, nullValue: 'NULL_VALUE' }
  else if (Array.isArray(value)) for (const [at, item] of value.entries()) yield* piecesOf(item, `${jsonPath}[${at}]`)
  else for (const [name, item] of Object.entries(value)) yield* piecesOf(item, `${jsonPath}['${name.replace(/[\\']/g, '\\$&')}']`)
}
