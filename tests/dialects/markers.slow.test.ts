import { describe, expect, it } from 'vitest'
import { dialectNames, findDialect, openTextToolParser } from '../../src/dialects/index.ts'
import { leastCpuMs } from '../reference-pace.ts'
import { tools } from './read.ts'

const length = 500_000
/** Three times what the worst of them takes; a start that looks at more than what is new takes several times as long. */
const mostMs = 600

/** What stands behind a marker, so that nothing comes of it. */
const tails = ['', '{', '["', '{"a"}', 'search(']
/** What may begin a call without a marker. */
const starts = ['<{', '{{', '[[', '`{', '"\n', 's\n', '[search', 'Action:\n', '- {']

describe('X7 500 KB of beginnings that come to nothing take little processor time in', () => {
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
