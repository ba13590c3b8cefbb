import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isJsonObject, type JsonObject } from '../../src/core/messages.ts'
import { JsonTemplate, type TextPlace } from '../../src/models/streaming/json-template.ts'

function deltaText({ delta }: JsonObject): TextPlace | undefined {
  return isJsonObject(delta) ? { in: delta, key: 'text' } : undefined
}

/** What is parsed must not change with the next event. */
function parseAll(events: readonly string[]): unknown[] {
  const template = new JsonTemplate(deltaText)
  return events.map((data) => {
    try {
      return structuredClone(template.parse(data))
    } catch (error) {
      return error instanceof SyntaxError ? 'no JSON' : error
    }
  })
}

function parseEach(events: readonly string[]): unknown[] {
  return events.map((data) => {
    try {
      return JSON.parse(data)
    } catch {
      return 'no JSON'
    }
  })
}

const event = (text: string, more: object = {}) => JSON.stringify({ id: 'x', delta: { text }, ...more })

describe('the template of a stream of JSON events', () => {
  it('gives what JSON.parse gives, whatever the events', () => {
    // Few words, so that texts come up again as keys, as other values, and as parts of the JSON around them.
    const word = fc.constantFrom(
      'a',
      'text',
      'x',
      '',
      'id',
      '"',
      '\\',
      '\n',
      'é',
      '\u2028',
      '","',
      '":"',
      '{"text":"',
      '"}}',
      'delta',
      '\ud800',
    )
    const text = fc.array(word, { maxLength: 4 }).map((words) => words.join(''))
    const count = fc.constantFrom(
      '0',
      '1',
      '7',
      '12',
      '012',
      '-1',
      '1.5',
      '2e3',
      '999999999999999',
      '1234567890123456789',
      '"3"',
      '',
      ' 4',
      '4 ',
      '900000000000001',
    )
    const json = fc.oneof(
      text.map((piece) => event(piece)),
      fc.tuple(text, text).map(([piece, id]) => JSON.stringify({ id, delta: { text: piece }, end: piece })),
      fc.tuple(text, text).map(([one, two]) => `{"delta":{"text":${JSON.stringify(one)},"text":${JSON.stringify(two)}}}`),
      fc
        .tuple(text, count, count)
        .map(([piece, one, two]) => `{"id":"x","delta":{"text":${JSON.stringify(piece)}},"n":{"one":${one},"two":${two}}}`),
      text.map((raw) => `{"id":"x","delta":{"text":"${raw}"}}`),
      fc.tuple(text, fc.nat(12)).map(([piece, cut]) => event(piece).slice(0, -cut)),
      fc.json(),
    )
    fc.assert(
      fc.property(fc.array(json, { minLength: 2, maxLength: 40 }), (events) => {
        expect(parseAll(events)).toEqual(parseEach(events))
      }),
      { numRuns: 1000 },
    )
  })

  it('notices that a text ended and something else begins, though what stands around it is the same', () => {
    const events = [event('one'), event('two'), '{"id":"x","delta":{"text":"three","text":"four"}}', '{"id":"x","delta":{"text":"}}']
    expect(parseAll(events)).toEqual([...events.slice(0, 3).map((data) => JSON.parse(data)), 'no JSON'])
  })

  it('parses only the text of an event like the one before, and escapes in it', () => {
    const template = new JsonTemplate(deltaText)
    const first = template.parse(event('one'))
    const second = template.parse(event('two'))
    expect(first).not.toBe(second)
    const third = template.parse(event('say "hé"\n'))
    expect(third).toBe(template.parse(event('four')))
    expect(third).toEqual({ id: 'x', delta: { text: 'four' } })
  })

  it('reads counts behind the text that change as well', () => {
    const template = new JsonTemplate(deltaText)
    const counted = (text: string, total: number) => event(text, { usage: { prompt: 10, total }, model: 'm' })
    for (let total = 1; total < 4; total++) template.parse(counted('a', total))
    const value = template.parse(counted('b', 9))
    expect(value).toBe(template.parse(counted('say "hé"', 123_456)))
    expect(value).toEqual({ id: 'x', delta: { text: 'say "hé"' }, usage: { prompt: 10, total: 123_456 }, model: 'm' })
  })

  it('follows a stream whose events change their form', () => {
    const template = new JsonTemplate(deltaText)
    for (let i = 0; i < 5; i++) template.parse(event('a', { form: 1 }))
    for (let i = 0; i < 5; i++) template.parse(event('b', { form: 2 }))
    const value = template.parse(event('c', { form: 2 }))
    expect(value).toBe(template.parse(event('d', { form: 2 })))
    expect(value).toEqual({ id: 'x', delta: { text: 'd' }, form: 2 })
  })
})
