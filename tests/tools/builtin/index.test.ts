import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtinTools } from '../../../src/tools/builtin/index.ts'
import { ToolRegistry } from '../../../src/tools/registry.ts'
import { parametersOf } from '../../../src/tools/schema/schema.ts'
import { callTool, errorOf, makeTree } from './workbench.ts'

describe('builtinTools', () => {
  it('returns six tools that only read, with valid schemas and a description of every argument', () => {
    const tools = builtinTools()
    expect(tools.map(({ name }) => name)).toEqual(['list_files', 'read_file', 'search_files', 'calculate', 'current_time', 'fetch_url'])
    expect(tools.every(({ effect }) => effect === 'read')).toBe(true)
    expect(() => new ToolRegistry(tools)).not.toThrow()
    for (const tool of tools) {
      const parameters = parametersOf(tool)
      const properties = Object.values(parameters.properties as Record<string, { description?: string }>)
      expect(properties.every(({ description }) => description !== undefined)).toBe(true)
      expect(parameters.additionalProperties).toBe(false)
    }
  })

  it('shares workspace, clock and rules among the tools', async () => {
    const workspace = makeTree({ 'a.txt': 'needle\n' })
    const tools = new ToolRegistry(builtinTools({ workspace, now: () => new Date('2026-02-03T04:05:06Z') }))
    const call = async (name: string, args: object) => {
      const tool = tools.get(name)
      if (tool === undefined) throw new TypeError(`Expected a tool ${name}`)
      return callTool(tool, args)
    }
    expect(await call('list_files', {})).toMatchObject({ count: 1 })
    expect(await call('read_file', { path: 'a.txt' })).toMatchObject({ text: 'needle\n' })
    expect(await call('search_files', { query: 'needle' })).toMatchObject({ count: 1 })
    expect(await call('current_time', { timeZone: 'UTC' })).toMatchObject({ date: '2026-02-03' })
    expect(await errorOf(call('fetch_url', { url: 'http://127.0.0.1/' }))).toMatchObject({ code: 'tool_denied' })
  })

  it('throws if the workspace does not exist', () => {
    expect(() => builtinTools({ workspace: join(makeTree(), 'nothing') })).toThrow('Expected `workspace` to be a folder that exists')
  })
})
