import { describe, expect, it } from 'vitest'
import { ToolCallAccumulator, type ToolCallDelta } from '../../src/models/streaming/accumulator.ts'
import type { ToolCallSink } from '../../src/models/streaming/open-call.ts'

interface Call {
  id: string
  name: string
  json: string
}

/** Feeds the deltas. Also checks that the sink received the same as the result. */
function accumulate(deltas: readonly ToolCallDelta[]): { calls: Call[]; warnings: string[]; log: string[] } {
  const accumulator = new ToolCallAccumulator()
  const log: string[] = []
  const shown: { id: string; name: string; json: string }[] = []
  const sink: ToolCallSink = {
    toolCallStart(index, id, name) {
      expect(index).toBe(shown.length)
      shown.push({ id, name, json: '' })
      log.push(`start ${index} ${name}`)
    },
    toolCallDelta(index, json) {
      const call = shown[index]
      if (call === undefined) throw new Error(`delta of call ${index} before its start`)
      call.json += json
      log.push(`${index} ${json}`)
    },
  }
  for (const delta of deltas) accumulator.add(delta, sink)
  const found = accumulator.finish(sink).map(({ id, type, function: { name, arguments: json } }) => {
    expect(type).toBe('function')
    return { id, name, json }
  })
  const sorted = (calls: { name: string; json: string }[]) => calls.map(({ name, json }) => `${name}${json}`).sort()
  expect(sorted(shown)).toEqual(sorted(found))
  return { calls: found, warnings: accumulator.warnings, log }
}

const calls = (deltas: readonly ToolCallDelta[]): Call[] => accumulate(deltas).calls
const weather = { id: 'a', name: 'get_weather', json: '{"city":"tokyo"}' }
const time = { id: 'b', name: 'get_time', json: '{"timezone":"JST"}' }

describe('ToolCallAccumulator', () => {
  it('S2-43 S3-9 S3-10 S3-1 assembles interleaved parallel calls by index, in order', () => {
    expect(
      calls([
        { index: 0, id: 'a', name: 'get_weather', arguments: '' },
        { index: 1, id: 'b', name: 'get_time', arguments: '' },
        { index: 0, arguments: '{"city"' },
        { index: 1, arguments: '{"time' },
        { index: 0, arguments: ':"tokyo"}' },
        { index: 1, arguments: 'zone":"JST"}' },
      ]),
    ).toEqual([weather, time])
  })

  it('S2-44 orders calls by index, even if the second starts first', () => {
    const deltas = [
      { index: 1, id: 'b', name: 'get_time', arguments: time.json },
      { index: 0, id: 'a', name: 'get_weather', arguments: weather.json },
    ]
    expect(calls(deltas)).toEqual([weather, time])
  })

  it('S3-9 Q5 uses the first id and name; later empty or repeated ones change nothing', () => {
    for (const again of [{ id: '', name: '' }, { id: null, name: null }, { id: 'a', name: 'get_weather' }, {}]) {
      const deltas = [
        { index: 0, id: 'a', name: 'get_weather' },
        { index: 0, ...again, arguments: '{"city"' },
        { index: 0, ...again, arguments: ':"tokyo"}' },
      ]
      expect(calls(deltas)).toEqual([weather])
    }
    expect(
      calls([
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city":' },
        { index: 0, id: 'a', name: 'other', arguments: '"tokyo"}' },
      ]),
    ).toEqual([weather])
  })

  it('S3-9 Q4 accepts an id or an index that arrives late', () => {
    expect(
      calls([
        { index: 0, name: 'get_weather', arguments: '{"city"' },
        { index: 0, id: 'a', arguments: ':"tokyo"}' },
      ]),
    ).toEqual([weather])
    expect(
      calls([
        { id: 'a', name: 'get_weather', arguments: '{"city"' },
        { index: 0, arguments: ':"tokyo"}' },
      ]),
    ).toEqual([weather])
    expect(
      calls([
        { name: 'get_weather', arguments: '{"city"' },
        { id: 'a', arguments: ':"tokyo"}' },
      ]),
    ).toEqual([weather])
  })

  it('Q1 without an index, routes by id, then to the last open call', () => {
    expect(
      calls([
        { id: 'a', name: 'get_weather', arguments: '{"city"' },
        { arguments: ':"tokyo"}' },
        { id: 'b', name: 'get_time' },
        { arguments: time.json },
      ]),
    ).toEqual([weather, time])
    expect(
      calls([
        { id: 'a', name: 'get_weather' },
        { id: 'b', name: 'get_time' },
        { id: 'a', arguments: weather.json },
        { id: 'b', arguments: time.json },
      ]),
    ).toEqual([weather, time])
  })

  it('Q2 treats a new id at a used index as a new call', () => {
    expect(
      calls([
        { index: 0, ...weather, arguments: weather.json },
        { index: 0, ...time, arguments: time.json },
      ]),
    ).toEqual([weather, time])
    // The id alone, then the rest without it.
    expect(
      calls([
        { index: 0, ...weather, arguments: weather.json },
        { index: 0, id: 'b' },
        { index: 0, name: 'get_time' },
        { index: 0, arguments: time.json },
      ]),
    ).toEqual([weather, time])
  })

  it('Q2 treats a new id on each chunk of an unfinished call as the same call', () => {
    const pieces = ['{"city"', ':"to', 'kyo"}']
    const deltas = [
      { index: 0, id: 'a', name: 'get_weather' },
      ...pieces.map((json, at) => ({ index: 0, id: `fresh-${at}`, arguments: json })),
    ]
    expect(calls(deltas)).toEqual([weather])
    // An empty chunk among them is not a call either.
    expect(calls([...deltas.slice(0, 1), { index: 0, id: 'fresh-x' }, ...deltas.slice(1)])).toEqual([weather])
  })

  it('Q3 accepts indexes that start at 1, skip, or collide: the id decides', () => {
    expect(
      calls([
        { index: 1, ...weather, arguments: weather.json },
        { index: 7, ...time, arguments: time.json },
      ]),
    ).toEqual([weather, time])
    expect(
      calls([
        { index: 0, id: 'a', name: 'get_weather' },
        { index: 0, id: 'b', name: 'get_time' },
        { index: 0, id: 'a', arguments: weather.json },
        { index: 0, id: 'b', arguments: time.json },
      ]),
    ).toEqual([weather, time])
    expect(
      calls([
        { index: 0, id: 'a', name: 'get_weather', arguments: '{"city"' },
        { index: 3, id: 'a', arguments: ':"tokyo"}' },
      ]),
    ).toEqual([weather])
  })

  it('Q3 H18 treats the same id at another index, with a name after a complete call, as a second call', () => {
    const deltas = [
      { index: 0, id: 'call_0', name: 'get_weather', arguments: weather.json },
      { index: 1, id: 'call_0', name: 'get_time', arguments: '{"timezone"' },
      { index: 1, arguments: ':"JST"}' },
    ]
    expect(calls(deltas)).toEqual([
      { ...weather, id: 'call_0' },
      { ...time, id: 'call_0' },
    ])
  })

  it('Q4 H18 separates calls without ids or with empty ids, and accepts numeric ids', () => {
    for (const index of [0, undefined]) {
      const deltas = [
        { index, name: 'get_weather', arguments: weather.json },
        { index, name: 'get_time', arguments: time.json },
        { index, name: 'get_time', arguments: '{"timezone":"UTC"}' },
      ]
      expect(calls(deltas)).toEqual([
        { ...weather, id: '' },
        { ...time, id: '' },
        { id: '', name: 'get_time', json: '{"timezone":"UTC"}' },
      ])
    }
    expect(
      calls([
        { index: 0, id: 17, name: 'f', arguments: '{"a"' },
        { id: 17, arguments: ':1}' },
      ]),
    ).toEqual([{ id: '17', name: 'f', json: '{"a":1}' }])
  })

  it('Q4 separates calls without ids whose pieces arrive in sequence', () => {
    const pieces = (name: string, value: number) => [
      { index: 0, name, arguments: '' },
      { index: 0, arguments: '{"a"' },
      { index: 0, arguments: `:${value}}` },
    ]
    expect(calls([...pieces('f', 1), ...pieces('f', 2), ...pieces('g', 3)]).map(({ name, json }) => name + json)).toEqual([
      'f{"a":1}',
      'f{"a":2}',
      'g{"a":3}',
    ])
  })

  it('Q6 announces a call once its name is known, with what was held back', () => {
    const { calls: found, log } = accumulate([
      { index: 0, id: 'a', name: '' },
      { index: 0, arguments: '{"city":' },
      { index: 0, name: 'get_weather', arguments: '"tok' },
      { index: 0, arguments: 'yo"}' },
    ])
    expect(found).toEqual([weather])
    expect(log).toEqual(['start 0 get_weather', '0 {"city":"tok', '0 yo"}'])
  })

  it('Q6 announces calls in order even if the first name arrives last', () => {
    const { calls: found, log } = accumulate([
      { index: 0, id: 'a', arguments: weather.json },
      { index: 1, id: 'b', name: 'get_time', arguments: time.json },
      { index: 0, name: 'get_weather' },
    ])
    expect(found).toEqual([weather, time])
    expect(log.filter((line) => line.startsWith('start'))).toEqual(['start 0 get_weather', 'start 1 get_time'])
  })

  it('Q6 keeps a call with arguments but no name, and drops one with neither, with a warning', () => {
    const { calls: found, warnings } = accumulate([
      { index: 0, id: 'a', arguments: '{}' },
      { index: 1, id: 'b' },
      { index: 2, ...time, arguments: time.json },
    ])
    expect(found).toEqual([{ id: 'a', name: '', json: '{}' }, time])
    expect(warnings).toEqual([expect.stringContaining('1 tool call(s)')])
  })

  it('passes normal deltas to the sink at once, one for one', () => {
    const pieces = ['{"', 'city', '":', '"tokyo"', '}']
    const { log } = accumulate([{ index: 0, id: 'a', name: 'f' }, ...pieces.map((json) => ({ index: 0, arguments: json }))])
    expect(log).toEqual(['start 0 f', ...pieces.map((json) => `0 ${json}`)])
  })

  it('Q12 accepts arguments that are an object, and calls in one delta', () => {
    expect(calls([{ index: 0, id: 'a', name: 'get_weather', arguments: { city: 'tokyo' } }])).toEqual([weather])
    expect(calls([{ index: 0, id: 'a', name: 'f', arguments: {} }])).toEqual([{ id: 'a', name: 'f', json: '{}' }])
    expect(calls([{ index: 0, id: 'a', name: 'f', arguments: null }])).toEqual([{ id: 'a', name: 'f', json: '' }])
  })

  it('Q12 H12 replaces a placeholder of {} by the real arguments; the sink never sees it', () => {
    for (const placeholder of [['{}'], ['{ ', '} '], [{}]]) {
      const { calls: found, log } = accumulate([
        { index: 0, id: 'a', name: 'get_weather' },
        ...placeholder.map((json) => ({ index: 0, arguments: json })),
        { index: 0, arguments: '{"city":' },
        { index: 0, arguments: '"tokyo"}' },
      ])
      expect(found).toEqual([weather])
      expect(log).toEqual(['start 0 get_weather', '0 {"city":', '0 "tokyo"}'])
    }
  })

  it('Q12 H12 counts repeated arguments once: complete, in pieces, or written differently', () => {
    const again = [
      [weather.json],
      ['{"city"', ':"tokyo"}'],
      ['{ "city": "tokyo" }'],
      [weather.json, weather.json],
      [{ city: 'tokyo' }],
      [`\n${weather.json}\n`],
    ]
    for (const pieces of again) {
      for (const header of [{}, { id: 'a', name: 'get_weather' }]) {
        const { calls: found } = accumulate([
          { index: 0, id: 'a', name: 'get_weather', arguments: '{"city"' },
          { index: 0, arguments: ':"tokyo"}' },
          ...pieces.map((json) => ({ index: 0, ...header, arguments: json })),
        ])
        expect(found.map(({ json }) => JSON.parse(json))).toEqual([{ city: 'tokyo' }])
      }
    }
  })

  it('Q12 does not choose between two different sets of arguments: they are appended, so parsing fails', () => {
    const { calls: found, warnings } = accumulate([
      { index: 0, id: 'a', name: 'get_weather', arguments: weather.json },
      { index: 0, arguments: '{"city":"osaka"}' },
    ])
    expect(found.map(({ json }) => json)).toEqual(['{"city":"tokyo"}{"city":"osaka"}'])
    expect(() => JSON.parse(found[0]?.json ?? '')).toThrow()
    expect(warnings).toEqual([expect.stringContaining('two different sets')])
  })

  it('Q12 treats a repeated id with the name and other arguments as a second call', () => {
    const deltas = [
      { id: 'call_0', name: 'f', arguments: '{"a":1}' },
      { id: 'call_0', name: 'f', arguments: '{"a":2}' },
    ]
    expect(calls(deltas).map(({ json }) => json)).toEqual(['{"a":1}', '{"a":2}'])
  })

  it('reads braces at piece boundaries correctly inside a string', () => {
    const json = JSON.stringify({ code: 'if (a) {} {} {"b":{}}', n: { m: {} } })
    for (let at = 0; at < json.length; at++) {
      expect(
        calls([
          { index: 0, id: 'a', name: 'f' },
          { index: 0, arguments: json.slice(0, at) },
          { index: 0, arguments: json.slice(at) },
        ])[0]?.json,
      ).toBe(json)
    }
    expect(calls([{ index: 0, id: 'a', name: 'f' }, ...Array.from(json, (char) => ({ index: 0, arguments: char }))])[0]?.json).toBe(json)
  })

  it('Q8 reports that the last call is cut off, but not that an earlier one is malformed', () => {
    const cut = (...jsons: string[]) => {
      const accumulator = new ToolCallAccumulator()
      jsons.forEach((json, index) => {
        accumulator.add({ index, id: `c${index}`, name: 'f', arguments: json })
      })
      return accumulator.isCut()
    }
    expect(['{"a":"', '{"a":1', '{', '{"a":[1,2]', '{"a":"}"'].map((json) => cut('{}', json))).toEqual([true, true, true, true, true])
    expect(['{}', '', '{"a":1} ', 'null', '"x"', 'not json', '{"a":1}x'].map((json) => cut('{}', json))).toEqual(Array(7).fill(false))
    expect(cut('{"a":', '{}')).toBe(false)
  })

  it('keeps the extra data of a call', () => {
    const accumulator = new ToolCallAccumulator()
    accumulator.add({ index: 1, id: 'b', name: 'g', arguments: '{}' })
    accumulator.add({ index: 0, id: 'a', name: 'f', arguments: '{}', extra: { signature: 'x' } })
    expect(accumulator.finish().map(({ id }) => id)).toEqual(['a', 'b'])
    expect(accumulator.extras).toEqual([{ signature: 'x' }, undefined])
  })

  it('accepts a megabyte in small pieces, even one made of braces', () => {
    const plain = JSON.stringify({ text: 'lorem ipsum '.repeat(90_000) })
    const braces = JSON.stringify({ text: '{}'.repeat(500_000) })
    for (const json of [plain, braces]) {
      const pieces = json.match(/[\s\S]{1,4}/g) ?? []
      const deltas = pieces.map((piece) => ({ index: 0, arguments: piece }))
      expect(calls([{ index: 0, id: 'a', name: 'f' }, ...deltas])[0]?.json === json).toBe(true)
    }
    const many = Array.from({ length: 100_000 }, () => ({ index: 0, arguments: '{"a":1}' }))
    expect(calls([{ index: 0, id: 'a', name: 'f' }, ...many])[0]?.json).toBe('{"a":1}')
  })
})
