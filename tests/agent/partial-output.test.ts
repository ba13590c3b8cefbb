import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner, asTool, defineTool, type RunOptions } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const Trip = z.object({
  city: z.string(),
  days: z.array(z.object({ at: z.iso.date().transform((day) => new Date(day)), what: z.string() })),
})
const trip = { city: 'Kyoto', days: [{ at: '2026-11-22', what: 'walk' }] }
const held = { capabilities: { nativeTools: true, structuredOutput: 'with-tools' as const } }
const look = defineTool({ name: 'look', description: 'looks', execute: () => 'seen' })

/** All that is shown of an answer, each as it was then. */
async function shown(parts: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const part of parts) all.push(structuredClone(part))
  return all
}

describe('an answer with a schema, while it arrives', () => {
  it.each([
    ['as text', scriptedModel([{ toolCalls: [{ name: 'look' }] }, JSON.stringify(trip)], held)],
    ['as text in a code fence', scriptedModel([`\`\`\`json\n${JSON.stringify(trip, null, 2)}\n\`\`\``], held)],
    [
      'through the tool that gives it',
      scriptedModel([{ text: 'I look.', toolCalls: [{ name: 'look' }] }, { toolCalls: [{ name: 'final_answer', args: trip }] }]),
    ],
    ['through that tool, where another has its name', scriptedModel([{ toolCalls: [{ name: 'final_answer_2', args: trip }] }])],
  ])('shows the part that has arrived: %s', async (how, model) => {
    const taken = how.includes('another') ? [defineTool({ name: 'final_answer', description: 'f', execute: () => 'f' })] : []
    const stream = new AgentRunner({ model, tools: [look, ...taken] }).stream('go', { output: Trip })
    expectTypeOf(stream.partialOutput).toEqualTypeOf<AsyncIterable<{ city?: string; days?: { at?: string; what?: string }[] }>>()
    const parts = await shown(stream.partialOutput)
    expect(parts.length).toBeGreaterThan(5)
    expect(parts).toContainEqual({ city: 'Kyoto', days: [] })
    expect(parts.at(-1)).toEqual(trip)
    const { output } = await stream.result
    expect(output?.days[0]?.at).toEqual(new Date('2026-11-22'))
  })

  it('starts again if the model does, and may show invalid values', async () => {
    const wrong = { city: 7 }
    const model = scriptedModel([
      { toolCalls: [{ name: 'final_answer', args: wrong }] },
      { toolCalls: [{ name: 'final_answer', args: trip }] },
    ])
    const parts = await shown(new AgentRunner({ model }).stream('go', { output: Trip }).partialOutput)
    expect(parts).toContainEqual(wrong)
    expect(parts).toContainEqual({ city: 'Kyoto' })
    expect(parts.at(-1)).toEqual(trip)
  })

  it('of another type than an object is shown without its wrapper', async () => {
    const model = () => scriptedModel(['{"value": ["a", "bc"]}', 'never'], held)
    const stream = new AgentRunner({ model: model() }).stream('go', { output: z.array(z.string()) })
    expectTypeOf(stream.partialOutput).toEqualTypeOf<AsyncIterable<string[]>>()
    const parts = await shown(stream.partialOutput)
    expect(parts).toContainEqual(['a'])
    expect(parts.at(-1)).toEqual(['a', 'bc'])
    const bare = await shown(
      new AgentRunner({ model: scriptedModel(['["a", "bc"]'], held) }).stream('go', { output: z.array(z.string()) }).partialOutput,
    )
    expect(bare.at(-1)).toEqual(['a', 'bc'])
  })

  it('keeps its type, whatever fields follow', async () => {
    const model = scriptedModel(['{"value": ["a", "bc"], "0": "more"}', '["a", "bc"]'], held)
    const parts = await shown(new AgentRunner({ model }).stream('go', { output: z.array(z.string()) }).partialOutput)
    expect(parts).toContainEqual(['a', 'bc'])
    expect(parts.filter((part) => !Array.isArray(part))).toEqual([])
  })

  it('is that of the run, not of an agent in one of its calls', async () => {
    const inner = new AgentRunner({ model: scriptedModel(['{"city": "inner"}'], held) })
    const tools = [asTool(inner, { name: 'inner', description: 'i', forwardEvents: true })]
    const model = scriptedModel([{ toolCalls: [{ name: 'inner', args: { task: 't' } }] }, JSON.stringify(trip)], held)
    const parts = await shown(new AgentRunner({ model, tools }).stream('go', { output: Trip }).partialOutput)
    expect(JSON.stringify(parts)).not.toContain('inner')
    expect(parts.at(-1)).toEqual(trip)
  })

  it('is refused without a schema, and beside another iteration', async () => {
    const stream = new AgentRunner({ model: scriptedModel(['Hello']) }).stream('go')
    expectTypeOf<typeof stream.partialOutput>().toEqualTypeOf<AsyncIterable<never>>()
    expect(() => stream.partialOutput).toThrow('`output`')
    const options: RunOptions & { output: typeof Trip } = { output: Trip }
    const both = new AgentRunner({ model: scriptedModel([JSON.stringify(trip)], held) }).stream('go', options)
    const text = shown(both.text)
    expect(() => both.partialOutput[Symbol.asyncIterator]()).toThrow('only once')
    await text
    await stream.result
  })

  it('ends the run if it is left early', async () => {
    const stream = new AgentRunner({ model: scriptedModel([JSON.stringify(trip)], held) }).stream('go', { output: Trip })
    for await (const part of stream.partialOutput) if (part.city !== undefined) break
    expect(await stream.result).toMatchObject({ stopReason: 'aborted' })
  })
})
