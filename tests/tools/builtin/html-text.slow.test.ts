import { describe, expect, it } from 'vitest'
import { htmlToText } from '../../../src/tools/builtin/web/html-text.ts'
import { turnsWhile } from '../../event-loop.ts'

describe('htmlToText', () => {
  it.each(['&#128;', '<li>'])('yields to the event loop while it reads megabytes of %j', async (piece) => {
    const { value, turns } = await turnsWhile(() => htmlToText(piece.repeat(4_000_000 / piece.length)))
    expect(value.title).toBe('')
    expect(turns).toBeGreaterThan(2)
  })
})
