import { describe, expect, it } from 'vitest'
import { dialectNames, findDialect, openTextToolParser } from '../../src/dialects/index.ts'
import { leastCpuMs } from '../reference-pace.ts'
import { tools } from './read.ts'

const length = 500_000
/** Three times the time of the slowest. A reader that looks at more than the new text takes several times as long. */
const mostMs = 600

/** The text after a marker, which keeps it from becoming a call. */
const tails = ['', '{', '["', '{"a"}', 'search(']
/** What may start a call without a marker. */
const starts = ['<{', '{{', '[[', '`{', '"\n', 's\n', '[search', 'Action:\n', '- {']

describe('X7 500 KB of starts that are not calls take little processor time in', () => {
  it.each(dialectNames)('%s', async (dialect) => {
    const markers = findDialect(dialect).envelopes.flatMap(({ open }) => open)
    const units = [...markers.slice(0, 5).flatMap((marker) => tails.map((tail) => marker + tail)), ...starts]
    for (const unit of units) {
      const text = `x${unit.repeat(length / unit.length)}`
      expect(await leastCpuMs(mostMs, () => read(dialect, text)), JSON.stringify(unit)).toBeLessThan(mostMs)
    }
  })
})

function read(dialect: string, text: string): void {
  const nothing = () => {}
  const parser = openTextToolParser({ dialect, tools }, { text: nothing, call: nothing, reject: nothing, skipped: nothing })
  parser.push(text)
  parser.end()
}
