import { describe, expect, it } from 'vitest'
import { ToolloopError } from '../../src/core/errors.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type AnyTool, convertToOpenAITool, defineTool } from '../../src/tools/tool.ts'

const tool = (name: string, parameters: Record<string, unknown> = { type: 'object' }) =>
  defineTool({ name, description: `Does ${name}.`, parameters })

describe('ToolRegistry', () => {
  it('keeps tools in order, and finds each by its name', () => {
    const tools = ['b', 'a', 'c'].map((name) => tool(name))
    const registry = new ToolRegistry(tools.slice(0, 2)).register(tools[2] as AnyTool)
    expect(registry.names()).toEqual(['b', 'a', 'c'])
    expect(registry.list()).toEqual(tools)
    expect(registry.size).toBe(3)
    expect(registry.get('a')).toBe(tools[1])
    expect([registry.has('a'), registry.has('A'), registry.get('A')]).toEqual([true, false, undefined])
  })

  it('accepts any iterable', () => {
    expect(new ToolRegistry(new Set([tool('a')])).names()).toEqual(['a'])
    expect(new ToolRegistry().size).toBe(0)
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('H14 accepts `%s` as an ordinary name', (name) => {
    const registry = new ToolRegistry([tool('a')])
    expect([registry.has(name), registry.get(name), registry.unregister(name)]).toEqual([false, undefined, false])
    const odd = tool(name)
    expect(registry.register(odd).get(name)).toBe(odd)
    expect([registry.unregister(name), registry.has(name)]).toEqual([true, false])
  })

  it('S0-2 S0-5 returns the definitions of its tools, in order', () => {
    const tools = [tool('b'), tool('a')]
    expect(new ToolRegistry(tools).getAllSpecs()).toEqual(tools.map(convertToOpenAITool))
    expect(new ToolRegistry().getAllSpecs()).toEqual([])
  })

  it('returns the same frozen list until it changes', () => {
    const registry = new ToolRegistry([tool('a')])
    const specs = registry.getAllSpecs()
    expect(registry.getAllSpecs()).toBe(specs)
    expect(Object.isFrozen(specs)).toBe(true)
    registry.register(tool('b'))
    expect(registry.getAllSpecs().map(({ function: { name } }) => name)).toEqual(['a', 'b'])
    registry.unregister('a')
    expect(registry.getAllSpecs().map(({ function: { name } }) => name)).toEqual(['b'])
    expect(specs).toHaveLength(1)
  })

  it('returns copies of its lists', () => {
    const registry = new ToolRegistry([tool('a')])
    registry.list().length = 0
    registry.names().length = 0
    expect(registry.names()).toEqual(['a'])
  })

  it('H19 stays unchanged if a tool is refused', () => {
    const registry = new ToolRegistry([tool('a')])
    for (const bad of [tool('a'), tool('b', { type: 'object', properties: { x: { type: 'objekt' } } }), { name: 'no good' }]) {
      expect(() => registry.register(bad as AnyTool)).toThrow(ToolloopError)
    }
    expect(registry.names()).toEqual(['a'])
    expect(registry.getAllSpecs()).toHaveLength(1)
  })

  it('H19 frees the name of a removed tool', () => {
    const registry = new ToolRegistry([tool('a')])
    registry.unregister('a')
    const second = tool('a')
    expect(registry.register(second).get('a')).toBe(second)
  })

  it('accepts a thousand tools whose schemas share an `$id`', () => {
    const names = Array.from({ length: 1000 }, (_, i) => `tool_${i}`)
    const registry = new ToolRegistry(names.map((name) => tool(name, { $id: 'https://example.com/args', type: 'object' })))
    expect(registry.names()).toEqual(names)
  })
})
