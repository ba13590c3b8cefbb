import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Framing } from '../../src/testing/index.ts'
import { type BodyItem, layOut } from '../../src/testing/mock/framing.ts'
import { chatCompletionsWire } from '../../src/testing/mock/wires/chat-completions.ts'

const framings: Framing[] = ['crlf', 'cr', 'no-space', 'comments', 'no-final-blank', 'no-done', 'double-done', 'bom', 'multi-data']

/** The data of each event, read by the rules of the specification. */
function eventsOf(text: string): string[] {
  const events: string[] = []
  let data: string[] = []
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  for (const line of [...lines, '']) {
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
    if (line === '' && data.length > 0) events.push(data.splice(0).join('\n'))
    data = line === '' ? [] : data
  }
  return events
}

it('payloads survive every combination of framings, in batches of any length', () => {
  const payload = fc.dictionary(fc.string(), fc.string({ maxLength: 3000 }), { maxKeys: 4 })
  fc.assert(
    fc.property(fc.array(payload, { minLength: 1, maxLength: 30 }), fc.subarray(framings), (payloads, chosen) => {
      const items: BodyItem[] = payloads.map((value) => ({ type: 'payload', payload: value }))
      const parts = [...layOut([...items, { type: 'content-end' }, { type: 'end-mark' }], chatCompletionsWire.layout, chosen)]
      const bytes = Buffer.concat(parts.map((part) => (part.type === 'bytes' ? part.bytes : Buffer.alloc(0))))
      const events = eventsOf(bytes.toString())
      const marks = chosen.includes('no-done') ? 0 : chosen.includes('double-done') ? 2 : 1
      expect(events.slice(0, payloads.length).map((data) => JSON.parse(data))).toEqual(payloads)
      expect(events.slice(payloads.length)).toEqual(Array.from({ length: marks }, () => '[DONE]'))
      expect(parts.filter((part) => part.type === 'content-end')).toHaveLength(1)
    }),
    { numRuns: 200 },
  )
})
