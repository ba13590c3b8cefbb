import { describe, expect, it } from 'vitest'
import { textFinder } from '../../../src/tools/builtin/files/find-text.ts'

describe('textFinder', () => {
  it('takes time linear in the text, whatever text and query contain', () => {
    const text = 'a'.repeat(4_000_000)
    for (const ignoreCase of [false, true]) {
      const half = 'a'.repeat(500)
      // Retrying at each position would take four billion steps.
      for (const query of [`${half}${half}b`, `b${half}${half}`, `${half}b${half}`]) expect(textFinder(query, ignoreCase)(text, 0)).toBe(-1)
      expect(textFinder(`${half}b`, ignoreCase)(`${text}b`, 0)).toBe(text.length - half.length)
    }
  })
})
