import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
// @ts-expect-error it has no types
import { withUndefined } from '../config/declarations.js'
import { AgentRunner, defineTool } from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { emitted } from './emitted-declarations.ts'

describe('the declarations of the package', () => {
  it('E4.4 keep their lines, texts and comments', () => {
    const lines = emitted.split('\n')
    const written: string[] = withUndefined(emitted).split('\n')
    expect(written).toHaveLength(lines.length)
    expect([written[1], written[5]]).toEqual([lines[1], `    c?: { c(x: T, inner: { d?: 'a?: b' | undefined }): void }["c"] | undefined;`])
  })
})

describe('valibot', () => {
  it('E4.4 works as the README says; a schema without `toStandardJsonSchema` is refused with that hint', async () => {
    const fields = v.object({ city: v.string(), days: v.optional(v.number(), 3) })
    const parameters = toStandardJsonSchema(fields)
    const weather = defineTool({ name: 'weather', description: '', parameters, execute: ({ city, days }) => `${city} ${days}` })
    const model = scriptedModel([{ toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }, '{"city":"Oslo"}'])
    const result = await new AgentRunner({ model, tools: [weather] }).run('go', { output: parameters })
    expect(result).toMatchObject({ stopReason: 'answered', output: { city: 'Oslo', days: 3 }, toolCalls: [{ value: 'Oslo 3' }] })
    expect(() => defineTool({ name: 'weather', description: '', parameters: fields })).toThrow(
      '`toStandardJsonSchema` of @valibot/to-json-schema',
    )
  })
})
