import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ModelError } from '../../src/core/errors.ts'
import type { ModelRequest, ModelSink } from '../../src/models/chat-model.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { cutIntoPieces } from '../../src/testing/script.ts'
import { anyCharacter } from '../any-text.ts'

const messages: ModelRequest['messages'] = [{ role: 'user', content: 'Hello' }]

/** A sink that records everything it receives, in order. */
function recordingSink(): { sink: ModelSink; seen: unknown[][] } {
  const seen: unknown[][] = []
  return {
    seen,
    sink: {
      text: (delta) => seen.push(['text', delta]),
      reasoning: (delta) => seen.push(['reasoning', delta]),
      toolCallStart: (index, id, name) => seen.push(['start', index, id, name]),
      toolCallDelta: (index, json) => seen.push(['delta', index, json]),
    },
  }
}

describe('scriptedModel', () => {
  it('answers with its turns, in order: texts, objects and functions of the request', async () => {
    const model = scriptedModel(['one', { text: 'two' }, async (request, index) => `${request.messages.length} message, turn ${index}`])
    expect((await model.generate({ messages })).text).toBe('one')
    expect((await model.generate({ messages })).text).toBe('two')
    expect((await model.generate({ messages })).text).toBe('1 message, turn 2')
  })

  it('says how many turns there were if the script runs out', async () => {
    const model = scriptedModel(['one', 'two'])
    await model.generate({ messages })
    await model.generate({ messages })
    const failed = model.generate({ messages })
    await expect(failed).rejects.toThrow('Expected the script to have a turn for request 3, got a script of 2 turns')
    await expect(failed).rejects.toMatchObject({ code: 'provider_error', retryable: false })
    await expect(scriptedModel(['one', 'two']).generate({ messages })).resolves.toBeDefined()
  })

  it('accepts one function for an endless script', async () => {
    const model = scriptedModel((_, index) => `turn ${index}`)
    for (const index of [0, 1, 2, 3]) expect((await model.generate({ messages })).text).toBe(`turn ${index}`)
  })

  it('returns a complete response: calls with ids, the finish reason, usage with its total', async () => {
    const model = scriptedModel([
      {
        text: 'Looking.',
        reasoning: 'Hm.',
        toolCalls: [
          { name: 'add', arguments: { a: 1 } },
          { name: 'add', args: '{"a":' },
          { id: 'mine', name: 'now' },
        ],
        usage: { inputTokens: 3, outputTokens: 4 },
        providerData: { provider: 'scripted', data: { signature: 'x' } },
        rawFinishReason: 'tool_use',
        warnings: ['no seed'],
      },
      { toolCalls: [{ name: 'add' }], finishReason: 'length' },
    ])
    expect(await model.generate({ messages })).toEqual({
      text: 'Looking.',
      reasoning: 'Hm.',
      toolCalls: [
        { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } },
        { id: 'call_2', type: 'function', function: { name: 'add', arguments: '{"a":' } },
        { id: 'mine', type: 'function', function: { name: 'now', arguments: '{}' } },
      ],
      finishReason: 'tool_calls',
      rawFinishReason: 'tool_use',
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
      providerData: { provider: 'scripted', data: { signature: 'x' } },
      warnings: ['no seed'],
      model: 'scripted-model',
    })
    const second = await model.generate({ messages })
    expect(second.toolCalls[0]?.id).toBe('call_3')
    expect(second.finishReason).toBe('length')
  })

  it('creates no id that the script has used itself, and keeps missing and repeated ones', async () => {
    const calls = [{ id: 'call_1', name: 'a' }, { name: 'b' }, { id: '', name: 'c' }, { id: 'call_1', name: 'd' }]
    const { toolCalls } = await scriptedModel([{ toolCalls: calls }]).generate({ messages })
    expect(toolCalls.map(({ id }) => id)).toEqual(['call_1', 'call_2', '', 'call_1'])
  })

  it('streams reasoning, text and arguments in small pieces, and starts each call once', async () => {
    const { sink, seen } = recordingSink()
    const model = scriptedModel([
      { reasoning: 'Think', text: 'Hello', toolCalls: [{ name: 'add', arguments: '{"a":1}' }, { name: 'now' }] },
    ])
    await model.generate({ messages }, sink)
    expect(seen).toEqual([
      ['reasoning', 'Thin'],
      ['reasoning', 'k'],
      ['text', 'Hell'],
      ['text', 'o'],
      ['start', 0, 'call_1', 'add'],
      ['delta', 0, '{"a"'],
      ['delta', 0, ':1}'],
      ['start', 1, 'call_2', 'now'],
      ['delta', 1, '{}'],
    ])
  })

  it('interleaves the pieces of calls if told to, and splits text where told to', async () => {
    const { sink, seen } = recordingSink()
    const turn = {
      chunks: ['a', 'bcdefgh'],
      toolCalls: [
        { name: 'x', args: '[1,2]' },
        { name: 'y', args: '[3]' },
      ],
      interleave: true,
    }
    const response = await scriptedModel([turn], { pieceLength: 3 }).generate({ messages }, sink)
    expect(response.text).toBe('abcdefgh')
    expect(seen).toEqual([
      ['text', 'a'],
      ['text', 'bcdefgh'],
      ['start', 0, 'call_1', 'x'],
      ['start', 1, 'call_2', 'y'],
      ['delta', 0, '[1,'],
      ['delta', 1, '[3]'],
      ['delta', 0, '2]'],
    ])
  })

  it('sends each part of a response in one piece without streaming; the response is the same', async () => {
    const { sink, seen } = recordingSink()
    const turn = { text: 'Hello', toolCalls: [{ id: 'a', name: 'now' }] }
    const model = scriptedModel([turn, turn, turn])
    const whole = await model.generate({ messages, stream: false }, sink)
    expect(seen).toEqual([
      ['text', 'Hello'],
      ['start', 0, 'a', 'now'],
      ['delta', 0, '{}'],
    ])
    expect(await model.generate({ messages }, sink)).toEqual(whole)
    expect(await model.generate({ messages })).toEqual(whole)
  })

  it('records requests unchanged, without the signal', async () => {
    const model = scriptedModel(() => 'ok')
    const history: ModelRequest['messages'][number][] = [{ role: 'user', content: 'first' }]
    const tools = [{ type: 'function' as const, function: { name: 'add', parameters: { type: 'object' } } }]
    await model.generate({ messages: history, tools, toolChoice: 'required', temperature: 0, signal: new AbortController().signal })
    history.push({ role: 'user', content: 'second' })
    expect(model.requests).toEqual([{ messages: [{ role: 'user', content: 'first' }], tools, toolChoice: 'required', temperature: 0 }])
    const silent = scriptedModel(() => 'ok', { record: false })
    await silent.generate({ messages })
    expect(silent.requests).toEqual([])
  })

  it('rejects with the exact error of the turn, after its text', async () => {
    const { sink, seen } = recordingSink()
    const error = new ModelError('stream_cut', 'cut', { provider: 'scripted', retryable: true, partial: { text: 'Half' } })
    const model = scriptedModel([{ text: 'Half', error }, { error: new TypeError('a defect') }, () => Promise.reject(error)])
    expect(await model.generate({ messages }, sink).catch((thrown: unknown) => thrown)).toBe(error)
    expect(seen).toEqual([['text', 'Half']])
    await expect(model.generate({ messages })).rejects.toThrow(TypeError)
    expect(await model.generate({ messages }).catch((thrown: unknown) => thrown)).toBe(error)
  })

  it('waits for `before` and for promises among the chunks', async () => {
    const { sink, seen } = recordingSink()
    const gate = Promise.withResolvers<void>()
    const middle = Promise.withResolvers<void>()
    const first = Promise.withResolvers<void>()
    const model = scriptedModel([{ before: gate.promise, chunks: ['a', middle.promise, 'b'] }])
    const text = (delta: string): void => {
      sink.text?.(delta)
      first.resolve()
    }
    const generating = model.generate({ messages }, { text })
    await Promise.resolve()
    expect(seen).toEqual([])
    gate.resolve()
    await first.promise
    expect(seen).toEqual([['text', 'a']])
    middle.resolve()
    expect((await generating).text).toBe('ab')
  })

  it('fails with the reason when `before` rejects', async () => {
    const turn = () => ({ before: Promise.reject(new Error('the gate fell')), text: 'x' })
    await expect(scriptedModel([turn]).generate({ messages })).rejects.toThrow('the gate fell')
  })

  it.for([
    ['hangs', { text: 'Half', hang: true }],
    ['waits', { before: new Promise(() => {}) }],
    ['waits amid its text', { chunks: ['a', new Promise(() => {})] }],
  ] as const)('a turn that %s rejects with `aborted` and leaves no listener', async ([_, turn]) => {
    const controller = new AbortController()
    const model = scriptedModel([turn])
    const generating = model.generate({ messages, signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(generating).rejects.toMatchObject({ code: 'aborted', retryable: false })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('ends the turn on an abort between two pieces', async () => {
    const controller = new AbortController()
    const { sink, seen } = recordingSink()
    const text = (delta: string): void => {
      sink.text?.(delta)
      controller.abort()
    }
    await expect(scriptedModel(['Hello, world']).generate({ messages, signal: controller.signal }, { text })).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(seen).toEqual([['text', 'Hell']])
  })

  it('refuses an aborted request without taking a turn', async () => {
    const model = scriptedModel(['one'])
    await expect(model.generate({ messages, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
    expect(model.requests).toEqual([])
    expect((await model.generate({ messages })).text).toBe('one')
  })

  it('ignores the abort in a deaf turn, after its text', async () => {
    const controller = new AbortController()
    const { sink, seen } = recordingSink()
    const state = { settled: false }
    const model = scriptedModel([{ text: 'Half', deaf: true }])
    void model.generate({ messages, signal: controller.signal }, sink).finally(() => {
      state.settled = true
    })
    controller.abort()
    await new Promise((resolve) => setImmediate(resolve))
    expect(state.settled).toBe(false)
    expect(seen).toEqual([['text', 'Half']])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('refuses contradictory turns and options', async () => {
    await expect(scriptedModel([{ text: 'a', chunks: ['b'] }]).generate({ messages })).rejects.toThrow('either `text` or `chunks`')
    await expect(scriptedModel([{ error: new Error('x'), hang: true }]).generate({ messages })).rejects.toThrow(
      'either an `error` or a turn that hangs',
    )
    expect(() => scriptedModel([], { pieceLength: 0 })).toThrow('Expected `pieceLength` to be an integer ≥ 1, got `0`')
  })

  it('has the properties in its options', () => {
    const capabilities = { nativeTools: false, contextWindow: 8000 }
    expect(scriptedModel([], { provider: 'p', model: 'm', capabilities })).toMatchObject({ provider: 'p', model: 'm', capabilities })
    expect(scriptedModel([])).toMatchObject({ provider: 'scripted', model: 'scripted-model', capabilities: { nativeTools: true } })
  })
})

describe('cutIntoPieces', () => {
  it('loses nothing and never splits a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.integer({ min: 1, max: 9 }), (text, length) => {
        const pieces = cutIntoPieces(text, length)
        expect(pieces.join('')).toBe(text)
        for (const piece of pieces) {
          expect(piece.isWellFormed()).toBe(true)
          expect(piece.length).toBeLessThanOrEqual(length + 1)
        }
      }),
    )
  })
})
