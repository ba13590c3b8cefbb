import { describe, expect, it } from 'vitest'
import { SentenceSplitter } from '../../src/pipeline/sentence-splitter.ts'

// Nothing is timed here: anything that grows faster than its input would not end within a test's time.
describe('long input', () => {
  it.each([
    ['a text without an end', 'word '],
    ['one word', 'x'],
    ['Chinese without an end', '字'],
    ['white space behind a full stop', 'a. ', ' '],
    ['a word that may begin a sentence', 'U.S. T', 'h'],
    ['full stops', 'a.', '.'],
    ['emoji behind an end', 'a!', '😀'],
    ['quotes that are never closed', '«„‚'],
    ['abbreviations', 'z. '],
    ['line breaks', '\n'],
    ['ends', 'a!'],
    ['addresses', 'https://a.b/?'],
  ])('%s', (_, first, repeated = first) => {
    const text = first + repeated.repeat(1_000_000 / repeated.length)
    const splitter = new SentenceSplitter()
    let characters = 0
    const count = (sentences: string[]) => {
      for (const sentence of sentences) characters += sentence.replace(/\s/g, '').length
    }
    for (let at = 0; at < text.length; at += 4) count(splitter.push(text.slice(at, at + 4)))
    count(splitter.end())
    expect(characters).toBe(text.replace(/\s/g, '').length)
  })
})
