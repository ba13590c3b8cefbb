import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolCallAccumulator, type ToolCallDelta } from '../../src/models/streaming/accumulator.ts'

interface Call {
  id: string
  name: string
  json: string
}

/** `tools`: the calls whose names are names of tools. */
function calls(deltas: readonly ToolCallDelta[], tools: readonly Call[]): Call[] {
  const accumulator = new ToolCallAccumulator(new Set(tools.map(({ name }) => name)))
  const shown: string[] = []
  const sink = {
    toolCallDelta(index: number, json: string) {
      shown[index] = (shown[index] ?? '') + json
    },
  }
  for (const delta of deltas) accumulator.add(delta, sink)
  const found = accumulator.finish(sink).map(({ id, function: { name, arguments: json } }) => ({ id, name, json }))
  expect(shown.toSorted()).toEqual(found.map(({ json }) => json).toSorted())
  return found
}

describe('ToolCallAccumulator, any calls, split and interleaved in any way', () => {
  const argument = fc.json({ maxDepth: 2 }).map((json) => `{"x":${json},"o":{"p":"}{"}}`)
  const drawn = fc.uniqueArray(
    fc.record({ id: fc.stringMatching(/^[a-z0-9]{4,8}$/), name: fc.stringMatching(/^[a-z_]{1,8}$/), json: argument }),
    {
      minLength: 1,
      maxLength: 5,
      selector: ({ id }) => id,
    },
  )
  const cutAt = (json: string, seeds: readonly number[]): string[] => {
    const at = [...new Set(seeds.map((seed) => seed % (json.length + 1)))].sort((a, b) => a - b)
    return [0, ...at].map((from, i) => json.slice(from, at[i] ?? json.length))
  }
  const cutting = fc.array(fc.nat(500), { maxLength: 6 })
  const cuttings = fc.array(cutting, { minLength: 5, maxLength: 5 })
  const header = fc.constantFrom('whole', 'id first', 'name last')

  /** The deltas of each call, in order. */
  const queuesOf = (found: readonly Call[], seeds: readonly number[][], kind: string): ToolCallDelta[][] =>
    found.map(({ id, name, json }, at) => {
      const pieces: ToolCallDelta[] = cutAt(json, seeds[at] ?? []).map((piece) => ({ arguments: piece }))
      if (kind === 'id first') return [{ id }, { name }, ...pieces]
      if (kind === 'name last') return [{ id }, ...pieces, { name }]
      return [{ id, name, arguments: '' }, ...pieces]
    })
  const mixed = (queues: ToolCallDelta[][], order: readonly number[]): ToolCallDelta[] => {
    const left = queues.map((queue) => [...queue])
    const deltas: ToolCallDelta[] = []
    for (let step = 0; left.some((queue) => queue.length > 0); step++) {
      const open = left.filter((queue) => queue.length > 0)
      const next = open[(order[step] ?? 0) % open.length]?.shift()
      if (next !== undefined) deltas.push(next)
    }
    return deltas
  }
  const order = fc.array(fc.nat(20), { maxLength: 60 })

  it('S3-10 joins by index, in any interleaving', () => {
    fc.assert(
      fc.property(drawn, cuttings, header, order, fc.nat(3), (found, seeds, kind, steps, first) => {
        const queues = queuesOf(found, seeds, kind).map((queue, at) => queue.map((delta) => ({ ...delta, index: first + at * 2 })))
        expect(calls(mixed(queues, steps), found)).toEqual(found)
      }),
    )
  })

  it('Q1 joins by index without ids', () => {
    fc.assert(
      fc.property(drawn, cuttings, order, (found, seeds, steps) => {
        const queues = queuesOf(found, seeds, 'whole').map((queue, index) => queue.map(({ id: _, ...delta }) => ({ ...delta, index })))
        expect(calls(mixed(queues, steps), found)).toEqual(found.map((call) => ({ ...call, id: '' })))
      }),
    )
  })

  it('Q3 joins by an id on every delta, with indexes missing or all the same', () => {
    fc.assert(
      fc.property(drawn, cuttings, order, fc.constantFrom(0, undefined), (found, seeds, steps, index) => {
        const queues = queuesOf(found, seeds, 'whole').map((queue, at) =>
          queue.map((delta) => ({ ...delta, id: found[at]?.id ?? '', index })),
        )
        const sorted = (list: Call[]) => list.toSorted((a, b) => (a.id < b.id ? -1 : 1))
        expect(sorted(calls(mixed(queues, steps), found))).toEqual(sorted(found))
      }),
    )
  })

  it('Q2 joins calls in sequence at index 0 or without any, with ids on the first delta only', () => {
    fc.assert(
      fc.property(drawn, cuttings, fc.constantFrom('whole', 'id first'), fc.constantFrom(0, undefined), (found, seeds, kind, index) => {
        const queues = queuesOf(found, seeds, kind).map((queue) => queue.map((delta) => ({ ...delta, index })))
        expect(calls(queues.flat(), found)).toEqual(found)
      }),
    )
  })

  it('Q12 joins calls whose complete arguments are repeated at the end', () => {
    fc.assert(
      fc.property(drawn, cuttings, cuttings, order, (found, seeds, again, steps) => {
        const queues = queuesOf(found, seeds, 'whole').map((queue, index) =>
          [...queue, ...cutAt(found[index]?.json ?? '', again[index] ?? []).map((piece) => ({ arguments: piece }))].map((delta) => ({
            ...delta,
            index,
          })),
        )
        expect(calls(mixed(queues, steps), found)).toEqual(found)
      }),
    )
  })

  it('F12 joins names in pieces, or repeated in full on every delta', () => {
    const withId = fc.constantFrom('first', 'always', 'never')
    const named = fc.shuffledSubarray(['get', 'get_weather', 'get_weather_now', 'read_file', 'search', 'search_web'], { minLength: 1 })
    fc.assert(
      fc.property(named, argument, cuttings, cuttings, withId, fc.boolean(), (names, json, seeds, nameSeeds, ids, isCumulative) => {
        // Without ids, a name that starts with another tool's name may be a second call.
        fc.pre(!isCumulative || ids === 'always' || !names.some((one) => names.some((other) => one !== other && one.startsWith(other))))
        const found = names.map((tool, at) => ({ id: ids === 'never' ? '' : `call${at}`, name: tool, json }))
        const deltas = found.flatMap((call, index) => {
          const pieces = cutAt(call.name, nameSeeds[index] ?? []).filter((piece) => piece !== '')
          const soFar = pieces.map((_, at) => pieces.slice(0, at + 1).join(''))
          const written = (isCumulative ? soFar : pieces).map((piece) => ({ name: piece, arguments: '' }))
          return [...written, ...cutAt(call.json, seeds[index] ?? []).map((piece) => ({ arguments: piece }))].map((delta, at) => ({
            ...delta,
            index,
            id: ids === 'always' || (ids === 'first' && at === 0) ? call.id : null,
          }))
        })
        expect(calls(deltas, found)).toEqual(found)
      }),
    )
  })
})
