import { describe, expect, it } from 'vitest'
import { SecretFilter } from '../../../src/tools/openapi/secret-filter.ts'

describe('a secret a server writes back', () => {
  it('is looked for in time that grows with the answer alone', () => {
    const filter = new SecretFilter(['/a'.repeat(60), 'a'.repeat(2_000)])
    for (const piece of ['\\', '/a', 'a', '&#x0', '%', '\\u00']) {
      const text = piece.repeat(2_000_000 / piece.length)
      expect(filter.clean(text).length).toBeLessThanOrEqual(text.length)
      expect(filter.cleanCut(text).length).toBeLessThanOrEqual(text.length)
    }
  })
})
