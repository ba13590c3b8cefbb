import { describe, expect, it } from 'vitest'
import { dialectNames, findDialect, openTextToolParser } from '../../src/dialects/index.ts'
import { tools } from './read.ts'

const length = 1_000_000

/** Reads `text` in pieces of four characters and counts the output. */
function count(dialect: string, text: string): { calls: unknown[]; characters: number } {
  const found = { calls: [] as unknown[], characters: 0 }
  const add = (part: string): void => {
    found.characters += part.length
  }
  const parser = openTextToolParser(
    { dialect, tools },
    {
      text: add,
      call: (call, raw) => {
        found.calls.push(call.arguments)
        add(raw)
      },
      reject: add,
      skipped: add,
    },
  )
  for (let at = 0; at < text.length; at += 4) parser.push(text.slice(at, at + 4))
  parser.end()
  return found
}

// Nothing is timed here: anything that grows faster than its input would not end within a test's time.
describe('long input', () => {
  it.each(dialectNames)('%s reads a long argument, and a call that never ends', (dialect) => {
    const query = 'x y '.repeat(length / 4).trimEnd()
    const written = findDialect(dialect).renderCalls([{ name: 'search', arguments: { query } }])
    const whole = count(dialect, written)
    expect(whole.characters).toBe(written.length)
    expect(whole.calls).toHaveLength(1)
    expect(whole.calls[0]).toEqual({ query })
    const unclosed = written.slice(0, length)
    expect(count(dialect, unclosed)).toEqual({ calls: [], characters: unclosed.length })
  })

  it.each(dialectNames)('%s reads any number of starts of calls', (dialect) => {
    const written = findDialect(dialect).renderCalls([{ name: 'search', arguments: { query: 'x' } }])
    for (const share of [0.3, 0.5, 0.7, 0.9]) {
      const begun = written.slice(0, Math.ceil(written.length * share))
      for (const between of ['', '\n']) {
        const text = `${begun}${between}`.repeat(2000)
        expect(count(dialect, text).characters).toBe(text.length)
      }
    }
  })
})
