import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { divideThinking, ThinkingReader } from '../../src/dialects/reader/thinking.ts'
import { endTokens, thinkingTags } from '../../src/dialects/thinking-tags.ts'
import { createModel } from '../../src/models/create-model.ts'
import { chunk, eventStream, events, startServer } from './local-server.ts'

/** The text that is left, and what was shown while it arrived in pieces of this size. */
function read(text: string, size: number): { text: string; shown: string; reasoning: string } {
  const found = { shown: '', reasoning: '' }
  const sink = {
    text: (piece: string) => {
      found.shown += piece
    },
    reasoning: (piece: string) => {
      found.reasoning += piece
    },
    thoughtSoFar: () => {},
  }
  const reader = new ThinkingReader(sink, false)
  for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size))
  reader.end()
  return { text: divideThinking(text, false, false).text, ...found }
}

function expectText(written: string, expected: string, reasoning = ''): void {
  for (const size of [1, 3, written.length]) expect(read(written, size), written).toEqual({ text: expected, shown: expected, reasoning })
}

describe('tokens of a model’s format in its answer', () => {
  it('F31 are left out at the end, alone, together, and after thinking', () => {
    for (const token of endTokens) {
      expectText(`Sunny.${token}`, 'Sunny.')
      expectText(`Sunny.${token}\n`, 'Sunny.')
      expectText(token, '')
      expectText(`<think>Hm.</think>Sunny.${token}`, 'Sunny.', 'Hm.')
    }
    expectText('Sunny.<|im_end|>\n<|endoftext|>', 'Sunny.')
    expectText('{"sky": "sunny"}<|im_end|>', '{"sky": "sunny"}')
    expectText('{"a": "`"}\n<|im_end|>', '{"a": "`"}\n')
    expectText('Now 5, was <s>10</s></s>', 'Now 5, was <s>10</s>')
    expectText('</s><think>Hm.</think>Sunny.', 'Sunny.', 'Hm.')
  })

  it('F31 are text within the answer, in code and in JSON', () => {
    for (const text of [
      'ChatML ends with <|im_end|>, Llama 3 with <|eot_id|>.',
      '`<|im_end|>`',
      '```\n<|im_end|>\n```',
      '{"end": "<|im_end|>"}',
      'A <s>struck</s> word.',
      'Now 5, was <s>10</s>',
      '- <s>one</s>\n- <s>two</s>\n',
      '{"start": "<|begin_of_box|>", "end": "<|end_of_box|>"}',
      '{"turns": "<|im_end|><|im_start|>user", "tick": "`"}',
      'It ends with <|im_en',
    ])
      expectText(text, text)
  })

  it('F31 end the answer if the model continues with a turn that it made up', () => {
    expectText('Sunny.<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>', 'Sunny.')
    expectText('Sunny.<end_of_turn>\n<start_of_turn>user\nAnd now?', 'Sunny.')
    expectText('It starts with <|im_start|>user', 'It starts with <|im_start|>user')
  })

  it('F31 are left out around the answer', () => {
    expectText('<|begin_of_box|>Sunny.<|end_of_box|>', 'Sunny.')
    expectText('It is <|begin_of_box|>42<|end_of_box|>.', 'It is 42.')
    expectText('<think>Hm.</think><|begin_of_box|>Sunny.<|end_of_box|><|user|>', 'Sunny.', 'Hm.')
    expectText('<|begin_of_box|>{"a": 1}<|end_of_box|>', '{"a": 1}')
    expectText('<|open|>response<|sep|>Sunny.<|close|>response<|sep|>', 'Sunny.')
    expectText('<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Sunny.<|END_RESPONSE|>', 'Sunny.', 'Hm.')
    expectText('<|channel|>final<|message|>Sunny.<|return|>', 'Sunny.')
  })

  it('F31 are the same however the text is split', () => {
    const piece = fc.constantFrom(
      '<|im_end|>',
      '<|im_start|>',
      '<|end_of_box|>',
      '<s>',
      '</s>',
      '<|',
      'word',
      ' ',
      '\n',
      '`',
      '```\n',
      '{"a": ',
      '"}',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (parts) => {
        const text = parts.join('')
        const whole = read(text, text.length || 1)
        expect(whole.shown).toBe(whole.text)
        for (const size of [1, 2, 5]) expect(read(text, size)).toEqual(whole)
      }),
    )
  })

  it('F31 are no tags of thinking', () => {
    expect(endTokens.filter((token) => thinkingTags.flat().includes(token))).toEqual([])
  })

  it.each([true, false])('F31 are left out of a response of a server that does not know them (stream: %s)', async (stream) => {
    await using server = await startServer((response) => {
      const content = '<think>Hm.</think>Sunny.<|im_end|>'
      if (stream) eventStream(response).end(events(...[...content].map((one) => chunk({ content: one })), chunk({}, 'stop'), '[DONE]'))
      else response.end(JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }))
    })
    const model = (provider: string, name: string) => createModel({ provider, model: name, apiKey: 'k', baseURL: server.baseURL })
    let shown = ''
    const messages = [{ role: 'user' as const, content: 'Sky?' }]
    const text = (piece: string) => {
      shown += piece
    }
    const response = await model('vllm', 'Qwen/Qwen3-8B').generate({ messages, stream }, { text })
    expect([response.text, shown, response.reasoning]).toEqual(['Sunny.', 'Sunny.', 'Hm.'])
    const plain = await model('openai-chat', 'gpt-4o').generate({ messages, stream })
    expect(plain.text).toBe('<think>Hm.</think>Sunny.<|im_end|>')
  })
})
