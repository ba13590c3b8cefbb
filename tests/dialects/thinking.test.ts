import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { divideThinking, ThinkingReader } from '../../src/dialects/reader/thinking.ts'
import { thinkingTags } from '../../src/dialects/thinking-tags.ts'

/** `divideThinking` in pieces. `shown` is the text that a consumer saw, including text that turned out to be thinking. */
function divideInPieces(pieces: readonly string[], opened = false) {
  let text = ''
  let reasoning = ''
  let shown = ''
  const reader = new ThinkingReader(
    {
      text: (piece) => {
        text += piece
        shown += piece
      },
      reasoning: (piece) => {
        reasoning += piece
      },
      thoughtSoFar: () => {
        reasoning = text.trim()
        text = ''
      },
    },
    opened,
  )
  for (const piece of pieces) reader.push(piece)
  reader.end()
  return { text, reasoning, shown, prefix: pieces.join('').slice(0, reader.prefixLength), isUnproven: reader.isUnproven }
}

const cases: [what: string, text: string, reasoning: string, answer: string][] = [
  ['before an answer', '<think>I look at it.</think>\n\nSunny.', 'I look at it.', 'Sunny.'],
  ['on lines of its own', '\n<think>\nI look.\nTwice.\n</think>\n\nSunny.', 'I look.\nTwice.', 'Sunny.'],
  ['with only its end tag', 'I look at it.\n</think>\n\nSunny.', 'I look at it.', 'Sunny.'],
  ['with only its end tag, in a line', 'e.</think>{"sky": "sunny"}', 'e.', '{"sky": "sunny"}'],
  ['that is empty', '<think>\n\n</think>\n\nSunny.', '', 'Sunny.'],
  ['with nothing but an end tag', '</mm:think>Sunny.', '', 'Sunny.'],
  ['of MiniMax-M3', '<mm:think>I look.</mm:think>Sunny.', 'I look.', 'Sunny.'],
  ['of Gemma 4', '<|channel>thought\nI look.<channel|>Sunny.', 'I look.', 'Sunny.'],
  ['of Magistral', '[THINK]I look.[/THINK]Sunny.', 'I look.', 'Sunny.'],
  ['twice', '<think>One.</think>\n<think>Two.</think>\nSunny.', 'One.\n\nTwo.', 'Sunny.'],
  ['closed twice', '<think>One.</think>\n</think>\nSunny.', 'One.', 'Sunny.'],
  ['never closed', '<think>I look', 'I look', ''],
  ['with a tag of another model', '<think>Is it </thinking>? No.</think>Yes.', 'Is it </thinking>? No.', 'Yes.'],
  ['with an open fence', '<think>```\ncode</think>Sunny. `x`', '```\ncode', 'Sunny. `x`'],
]

/** Texts without thinking. */
const answers = [
  'Sunny.',
  '  \n Sunny.  \n',
  '',
  ' \n',
  'The tag <think> opens, and </think> closes.',
  'Write `</think>` behind it.',
  '```xml\n<think>\n</think>\n```\nLike this.',
  'Like this:\n```\n</think>\n```\nDone.',
  '{"text": "a </think> b"}',
  '[1, "</mm:think>"]',
  'a <thin',
  '<thinker>a</thinker>',
  '< think>a< /think>',
  'Sunny.\n<think>no</think>',
]

describe('thinking in tags', () => {
  it.for(cases)('F13 separates %s from the answer', ([, text, reasoning, answer]) => {
    const divided = divideThinking(text, false, false)
    expect(divided).toMatchObject({ reasoning, text: answer })
    expect(divided.prefix + divided.text).toBe(text)
  })

  it.for(answers)('F13 leaves %j as an answer', (text) => {
    expect(divideThinking(text, false, false)).toEqual({ prefix: '', reasoning: '', text })
    expect(divideInPieces([...text]).shown).toBe(text)
  })

  it.for(thinkingTags)('F13 finds %s … %s in pieces of one character, with and without the start tag', ([open, close]) => {
    const whole = divideInPieces([...`${open}I look.${close}Sunny.`])
    expect(whole).toMatchObject({ reasoning: 'I look.', text: 'Sunny.', shown: 'Sunny.' })
    expect(divideInPieces([...`I look.${close}Sunny.`])).toMatchObject({ reasoning: 'I look.', text: 'Sunny.' })
    expect(divideInPieces([...`I look.${close}Sunny.`], true)).toMatchObject({ reasoning: 'I look.', text: 'Sunny.', shown: 'Sunny.' })
  })

  it('F13 treats everything up to the first end tag as thinking if the prompt opened it, and shows none of it as text', () => {
    const divided = divideInPieces([...'I look.\n```\n<think> here\n</think>\nSunny. </think>'], true)
    expect(divided).toMatchObject({ reasoning: 'I look.\n```\n<think> here', text: 'Sunny. </think>', shown: 'Sunny. </think>' })
  })

  it('F13 if the prompt should have opened it, a text without a tag is the answer; if it was cut off, it is thinking', () => {
    expect(divideThinking('\nSunny.', true, false)).toEqual({ prefix: '', reasoning: '', text: '\nSunny.' })
    expect(divideThinking('\nI look at', true, true)).toEqual({ prefix: '\nI look at', reasoning: 'I look at', text: '' })
    expect(divideInPieces(['Sunny.'], true).isUnproven).toBe(true)
  })

  it('F13 gives the same result however the text is split, and loses nothing', () => {
    const piece = fc.constantFrom(
      '<think>',
      '</think>',
      '<mm:think>',
      '</mm:think>',
      '[THINK]',
      '<thi',
      'word ',
      '\n',
      ' ',
      '```\n',
      '`',
      '{"a": ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), fc.array(fc.nat(60), { maxLength: 8 }), fc.boolean(), (parts, cuts, opened) => {
        const text = parts.join('')
        const whole = divideInPieces([text], opened)
        expect(whole.prefix + whole.text).toBe(text)
        const at = [...new Set(cuts.filter((cut) => cut < text.length))].sort((a, b) => a - b)
        const pieces = [0, ...at].map((from, i) => text.slice(from, at[i] ?? text.length))
        expect(divideInPieces(pieces, opened)).toEqual(whole)
        expect(divideInPieces([...text], opened)).toEqual(whole)
      }),
    )
  })
})
