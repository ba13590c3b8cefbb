import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventStream } from '../../src/models/streaming/response-body.ts'
import { leastCpuMs } from '../reference-pace.ts'

type Decoded = [data: string, event: string | undefined]

function decode(bytes: Uint8Array, sizes: readonly number[] = []): Decoded[] {
  const found: Decoded[] = []
  const stream = new EventStream({ onEvent: ({ data, event }) => found.push([data, event]) })
  let at = 0
  for (const size of sizes) {
    stream.push(bytes.subarray(at, at + size))
    at += size
  }
  stream.push(bytes.subarray(at))
  stream.end()
  return found
}

const cases: [name: string, stream: string, events: Decoded[]][] = [
  [
    'LF',
    'data: a\n\ndata: b\n\n',
    [
      ['a', undefined],
      ['b', undefined],
    ],
  ],
  [
    'CRLF',
    'data: a\r\n\r\ndata: b\r\n\r\n',
    [
      ['a', undefined],
      ['b', undefined],
    ],
  ],
  [
    'CR',
    'data: a\r\rdata: b\r\r',
    [
      ['a', undefined],
      ['b', undefined],
    ],
  ],
  [
    'mixed line ends',
    'data: a\r\n\ndata: b\r\r\ndata: c\n\r',
    [
      ['a', undefined],
      ['b', undefined],
      ['c', undefined],
    ],
  ],
  ['a byte order mark', '\ufeffdata: a\n\n', [['a', undefined]]],
  ['a byte order mark that is content', 'data: \ufeffa\n\n', [['\ufeffa', undefined]]],
  ['comments', ': OPENROUTER PROCESSING\n\n: again\ndata: a\n: between\n\n', [['a', undefined]]],
  ['several data lines', 'data: a\ndata:\ndata: c\n\n', [['a\n\nc', undefined]]],
  [
    'names',
    'event: ping\ndata: a\n\ndata: b\n\nevent:\ndata: c\n\n',
    [
      ['a', 'ping'],
      ['b', undefined],
      ['c', undefined],
    ],
  ],
  [
    'no space after the colon, and two',
    'data:a\n\ndata:  b\n\n',
    [
      ['a', undefined],
      [' b', undefined],
    ],
  ],
  [
    'a field without colon',
    'data\n\nevent\ndata: b\n\n',
    [
      ['', undefined],
      ['b', undefined],
    ],
  ],
  ['other fields', 'id: 7\nretry: 10\ndatabase: x\ndata: a\nevents: y\n\n', [['a', undefined]]],
  [
    'no blank line at the end',
    'data: a\n\ndata: b\n',
    [
      ['a', undefined],
      ['b', undefined],
    ],
  ],
  [
    'no line end at the end',
    'data: a\n\nevent: e\ndata: b',
    [
      ['a', undefined],
      ['b', 'e'],
    ],
  ],
  ['an event without data', 'event: e\n\ndata: a\n\n', [['a', undefined]]],
  ['blank lines only', '\n\r\n\n', []],
  ['nothing', '', []],
  ['characters of two to four bytes', 'data: é東🗼\n\n', [['é東🗼', undefined]]],
]

describe('EventStream', () => {
  for (const [name, stream, events] of cases) {
    it(`Q13 reads ${name}, complete and split anywhere`, () => {
      const bytes = Buffer.from(stream)
      expect(decode(bytes)).toEqual(events)
      expect(decode(bytes, Array(bytes.length).fill(1))).toEqual(events)
      for (let at = 0; at <= bytes.length; at++) expect(decode(bytes, [at])).toEqual(events)
    })
  }

  it('Q13 gives the same events however a stream is split', () => {
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
    const value = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\ufeff]/g, ' ').replace(/^ /, ''))
    const line = fc.oneof(
      value.map((text) => `data: ${text}`),
      value.map((text) => `event: ${text}`),
      value.map((text) => `: ${text}`),
      fc.constant(''),
    )
    const stream = fc.array(fc.tuple(line, lineEnd), { maxLength: 20 })
    fc.assert(
      fc.property(stream, fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 60 }), (lines, sizes) => {
        const text = lines.map(([content, end]) => content + end).join('')
        const bytes = Buffer.from(text)
        expect(decode(bytes, sizes)).toEqual(decode(bytes))
        expect(decode(bytes)).toEqual(reference(text))
      }),
    )
  })

  it('Q13 accepts a plain Uint8Array that is a view into a larger buffer', () => {
    const backing = new Uint8Array(Buffer.from('xxdata: a\n\nyy'))
    expect(decode(backing.subarray(2, 11))).toEqual([['a', undefined]])
  })

  it('reads one long line in pieces of one byte, in linear time', async () => {
    const text = 'x'.repeat(300_000)
    const bytes = Buffer.from(`data: ${text}\n\ndata: b\n\n`)
    const pieces = Array(bytes.length).fill(1)
    const found = decode(bytes, pieces)
    expect(found.map(([data]) => data.length)).toEqual([text.length, 1])
    expect(found[0]?.[0]).toBe(text)
    expect(await leastCpuMs(1_000, () => decode(bytes, pieces))).toBeLessThan(1_000)
  })

  it('reports comments, and lines that are not fields, wherever they are split', () => {
    const bytes = Buffer.from(': ping\ndata: a\n\nerror: {"code": 400}\n{"error": "x"}\r\nretry: soon\n:\n\n<html>')
    for (const size of [1, 7, bytes.length]) {
      const found: unknown[] = []
      const stream = new EventStream({
        onEvent: ({ data }) => found.push(['event', data]),
        onComment: () => found.push(['comment']),
        onStray: (line) => found.push(['stray', line]),
      })
      for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size))
      stream.end()
      expect(found).toEqual([
        ['comment'],
        ['event', 'a'],
        ['stray', 'error: {"code": 400}'],
        ['stray', '{"error": "x"}'],
        ['comment'],
        ['stray', '<html>'],
      ])
    }
  })

  it('reads 10 MB with a CR in it as one chunk', () => {
    expect(decode(Buffer.from(`\r\n${'data: {"a":1}\n\n'.repeat(700_000)}`))).toHaveLength(700_000)
  })

  it('reads 200,000 events', () => {
    const found = decode(Buffer.from('data: {"a":1}\n\n'.repeat(200_000)), Array(3000).fill(1000))
    expect(found).toHaveLength(200_000)
    expect(new Set(found.map(([data]) => data))).toEqual(new Set(['{"a":1}']))
  })
})

/** A plain implementation of the format's rules, over the whole text. */
function reference(text: string): Decoded[] {
  const found: Decoded[] = []
  let data: string[] = []
  let event = ''
  const dispatch = () => {
    if (data.length > 0) found.push([data.join('\n'), event === '' ? undefined : event])
    data = []
    event = ''
  }
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === '') dispatch()
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
    else if (line.startsWith('event:')) event = line.slice(6).replace(/^ /, '')
  }
  dispatch()
  return found
}
