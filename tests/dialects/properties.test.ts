import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTextToolParser, dialectNames, openTextToolParser, type TextToolEvent } from '../../src/dialects/index.ts'
import { summarize, tools } from './read.ts'

const seed = 20_260_101

/** Pieces of every dialect, and of the text around them. */
const piece = fc.constantFrom(
  ...[
    '<tool_action name="ping">',
    '</tool_action>',
    '<city value="',
    '" />',
    '<tool_call>',
    '</tool_call>',
    '{"name": "ping", "arguments": {}}',
  ],
  ...['{"name": "get_weather", "arguments": {"city": "', '"}}', '<function=ping>', '<parameter=city>', '</parameter>', '</function>'],
  ...[
    '<arg_key>city</arg_key>',
    '<arg_value>',
    '</arg_value>',
    '[TOOL_CALLS]',
    '[ARGS]',
    '[ping()]',
    'get_weather(city="Oslo")',
    '[get_weather(',
  ],
  ...[
    '<function_calls>',
    '<invoke name="ping">',
    '<parameter name="city">',
    '</invoke>',
    '</function_calls>',
    '<|python_tag|>',
    '<|channel|>',
  ],
  ...[
    'commentary to=functions.ping',
    '<|message|>',
    '<|tool_call>call:ping{',
    '<|"|>',
    '<|tool_call_start|>',
    '<|tool_call_end|>',
    '<tool_call|>',
  ],
  ...['Action: ping\n', 'Action Input: ', 'Observation: ', '<tool_response>', '<think>', '</think>', '```json\n', '```', '`', '"""', "'"],
  ...[
    'ping(),',
    "'ping()'",
    '`ping()`',
    'ping\n{',
    'get\\_weather(city=Oslo)',
    '[get_weather(city=1+',
    '{"ping": {',
    '- ',
    '1. ',
    'For example:',
  ],
  ...[
    '>>>ping\n',
    '>>>all\n',
    '<ping>',
    '</ping>',
    '<get_weather><city>',
    '</city>',
    '<!--',
    '-->',
    'functools[',
    'Action: ```json\n',
    '```python\n',
  ],
  ...[
    '\n',
    '\n\n',
    ' ',
    ': ',
    '{',
    '}',
    '[',
    ']',
    '(',
    ')',
    '<',
    '>',
    '"',
    '\\',
    ',',
    '=',
    '/*',
    '//',
    '&amp;',
    '__proto__',
    '中文',
    '🙂',
    'a word',
  ],
)
const text = fc
  .array(fc.oneof({ weight: 6, arbitrary: piece }, { weight: 1, arbitrary: fc.string({ maxLength: 12 }) }), { maxLength: 30 })
  .map((parts) => parts.join(''))
const cutAt = fc.array(fc.nat({ max: 400 }), { maxLength: 40 })
const dialect = fc.constantFrom(...dialectNames)
const reason = fc.constantFrom('stop' as const, 'length' as const)
const fencedTags = fc.constantFrom('text' as const, 'run' as const)

function cut(whole: string, at: readonly number[]): string[] {
  const places = [0, ...[...new Set(at)].filter((one) => one < whole.length).sort((a, b) => a - b), whole.length]
  return places.slice(1).map((place, index) => whole.slice(places[index], place))
}

/** Joins adjacent texts. */
function joined(events: readonly TextToolEvent[]): TextToolEvent[] {
  const out: TextToolEvent[] = []
  for (const event of events) {
    const last = out.at(-1)
    if (event.type === 'text' && last?.type === 'text') last.text += event.text
    else out.push({ ...event })
  }
  return out
}

/** For each dialect with a fast path: how a call is written, a usual value, and one that needs the slow path. */
const usualAndOdd: [dialect: string, write: (value: string) => string, usual: string, odd: string][] = [
  ['invoke', (value) => `<invoke name="search"><parameter name="query">${value}</parameter></invoke>`, 'ter name=', 'ter  name='],
  ['qwen-coder', (value) => `<function=search><parameter=query>${value}</parameter></function>`, '=query>', '= query>'],
  ['glm', (value) => `<tool_call>search<arg_key>query</arg_key><arg_value>${value}</arg_value></tool_call>`, 'query<', 'query <'],
  ['json', (value) => JSON.stringify({ name: 'search', arguments: { query: value } }), '"search"', '"functions.search"'],
  ['pythonic', (value) => `[search(query=${JSON.stringify(value)}, limit=3)]`, 'limit=3', 'limit =3'],
]

describe('every parser', () => {
  it('gives the same events however the text is split', () => {
    fc.assert(
      fc.property(text, cutAt, dialect, reason, fencedTags, (whole, at, name, end, fenced) => {
        const read = (pieces: readonly string[]): TextToolEvent[] => {
          const parser = createTextToolParser({ dialect: name, tools, fencedTags: fenced })
          return joined([...pieces.flatMap((one) => parser.push(one)), ...parser.end(end)])
        }
        const expected = read([whole])
        expect(read(cut(whole, at))).toEqual(expected)
        expect(read([...whole])).toEqual(expected)
      }),
      { seed, numRuns: 800 },
    )
  })

  it('passes on every character once: as text, in a call, in a rejection, or skipped', () => {
    fc.assert(
      fc.property(text, cutAt, dialect, reason, (whole, at, name, end) => {
        let all = ''
        const keep = (part: string): void => {
          expect(part).not.toBe('')
          all += part
        }
        const parser = openTextToolParser(
          { dialect: name, tools },
          // Calls that are recognized together are reported with the first one's markup.
          { text: keep, call: (_, raw) => (raw === '' ? undefined : keep(raw)), reject: keep, skipped: keep },
        )
        for (const one of cut(whole, at)) parser.push(one)
        parser.end(end)
        expect(all).toBe(whole)
      }),
      { seed, numRuns: 800 },
    )
  })

  it('S1-13 S1-16 passes on text without brackets, colons and line starts of calls at once', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z ,.é中!?&#*]{0,12}$/), { maxLength: 12 }), dialect, (parts, name) => {
        const parser = createTextToolParser({ dialect: name, tools: [] })
        for (const part of parts) {
          const got = parser
            .push(part)
            .map((event) => (event.type === 'text' ? event.text : '?'))
            .join('')
          // `salvage` and `react` know words that start a line.
          if (name !== 'salvage' && name !== 'react') expect(got).toBe(part)
        }
      }),
      { seed, numRuns: 500 },
    )
  })

  it('calls no tool at the end of a response that was cut off', () => {
    fc.assert(
      fc.property(text, dialect, (whole, name) => {
        const parser = createTextToolParser({ dialect: name, tools })
        parser.push(whole)
        expect(parser.end('length').filter(({ type }) => type === 'call')).toEqual([])
      }),
      { seed, numRuns: 800 },
    )
  })

  it('H14 changes no prototype', () => {
    fc.assert(
      fc.property(text, dialect, (whole, name) => {
        const parser = createTextToolParser({ dialect: name, tools })
        for (const event of [...parser.push(whole), ...parser.end()]) {
          if (event.type === 'call') expect(Object.getPrototypeOf(event.arguments)).toBe(Object.prototype)
        }
        expect(Object.keys(Object.prototype)).toEqual([])
      }),
      { seed, numRuns: 500 },
    )
  })

  it('reads a tag with one attribute like any other', () => {
    const value = fc.string({
      unit: fc.constantFrom('a', '"', "'", ' ', '=', '/', '>', '<', '&lt;', '<tool_action', '</tool_action>'),
      maxLength: 12,
    })
    // A tab before a name is blank too, but is not on the fast path.
    const written = (blank: string, text: string, behind: string): string =>
      `<tool_action${blank}name="search"><query${blank}value="${text}"${behind}</tool_action>`
    fc.assert(
      fc.property(
        value,
        fc.constantFrom(' />', '/>', '>', ' limit="1" />', '  >', ' / >'),
        fc.integer({ min: 1, max: 9 }),
        (text, behind, size) => {
          const read = (whole: string): unknown => {
            const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
              whole.slice(index * size, (index + 1) * size),
            )
            return summarize(eventsOf(pieces))
          }
          expect(read(written(' ', text, behind))).toEqual(
            JSON.parse(JSON.stringify(read(written('\t', text, behind))).replaceAll('\\t', ' ')),
          )
        },
      ),
      { seed, numRuns: 1000 },
    )
  })

  it.each(usualAndOdd)('%s: reads a call on the fast path like one on the slow path', (dialect, write, usual, odd) => {
    const marks = ['</parameter>', '</function>', '<parameter=limit>', '</invoke>', '</arg_value>', '<arg_key>', '</tool_call>']
    const value = fc.string({
      unit: fc.constantFrom('a', '"', "'", ' ', '\n', '=', '>', '<', '\\', '(', ')', ']', ',', ...marks),
      maxLength: 8,
    })
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 9 }), (text, size) => {
        const read = (from: string, to: string): unknown => {
          const whole = write(text).replace(from, to)
          const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.slice(at * size, (at + 1) * size))
          return summarize(eventsOf(pieces, dialect)).calls
        }
        expect(write('')).toContain(usual)
        expect(read(usual, usual)).toEqual(read(usual, odd))
      }),
      { seed, numRuns: 200 },
    )
  })
})

function eventsOf(pieces: readonly string[], dialect = 'tool-action'): TextToolEvent[] {
  const parser = createTextToolParser({ dialect, tools })
  return [...pieces.flatMap((one) => parser.push(one)), ...parser.end()]
}
