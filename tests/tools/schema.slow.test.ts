import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { openForeign } from '../../src/tools/schema/foreign/foreign-schema.ts'
import type { JsonSchema } from '../../src/tools/tool.ts'

const object = (properties: object, more: object = {}): JsonSchema => ({ type: 'object', properties, ...more })

describe('compileSchema', () => {
  it('is not affected by a slow disk, nor are later schemas', () => {
    const script = `
      import Module from 'node:module'
      const load = Module._extensions['.js']
      Module._extensions['.js'] = (...args) => {
        for (const until = performance.now() + 12; performance.now() < until; );
        return load(...args)
      }
      const { compileSchema } = await import(${JSON.stringify(new URL('../../src/tools/schema/schema.ts', import.meta.url))})
      const { openForeign } = await import(${JSON.stringify(new URL('../../src/tools/schema/foreign/foreign-schema.ts', import.meta.url))})
      const schema = { type: 'object', required: ['a'] }
      console.log(JSON.stringify([(await openForeign(schema, 'x')).validate({}), compileSchema({ ...schema }, 'x')({})]))`
    const told = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    expect(JSON.parse(told)).toEqual([['arguments: missing required `a`'], ['arguments: missing required `a`']])
  })
})

describe('openForeign', () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }]))

  it('does not refuse a schema because many others are stopped at the same time', async () => {
    const large = () => openForeign(object(fields(3_000)), 't')
    const settled = await Promise.allSettled(Array.from({ length: 8 }, large))
    const reasons = settled.map((one) => (one.status === 'rejected' ? String(one.reason) : 'compiled'))
    expect(reasons.filter((reason) => !/too large|^compiled$/.test(reason))).toEqual([])
  })
})
