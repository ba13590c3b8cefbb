import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { connectMcpServers } from '../../src/tools/mcp/index.ts'
import type { ToolSet } from '../../src/tools/registry.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { json, startOddHttpServer } from '../tools/mcp/odd-http-server.ts'

/** A tool like those of servers with hundreds of tools, for issues or mail. */
const listedTool = (n: number) => ({
  name: n === 42 ? 'create_invoice' : `service_${n}_operation`,
  description: `${n === 42 ? 'Creates an invoice for a customer.' : `Does the operation number ${n} of the service.`} ${'Explains at length what it is for. '.repeat(5)}`,
  inputSchema: {
    type: 'object',
    properties: {
      customer: { type: 'string', description: 'The id of the customer.' },
      lines: {
        type: 'array',
        items: { type: 'object', properties: { sku: { type: 'string' }, count: { type: 'integer' } }, required: ['sku'] },
      },
      currency: { enum: ['EUR', 'USD'] },
    },
    required: ['customer'],
  },
})

/** The declarations in the definition of `code`. */
function declarationsIn(set: ToolSet): string {
  const { description, parameters } = set.getAllSpecs().at(-1)?.function ?? {}
  expect(String(description).length).toBeLessThan(1_024)
  const properties = parameters?.properties as { code: { description: string } } | undefined
  return String(properties?.code.description)
}

const logger = () => recordingLogger().logger

/** A model that runs these scripts, one after another, and then repeats the last result. */
function scripts(...codes: string[]) {
  return scriptedModel(({ messages }) => {
    const asked = messages.filter(({ role }) => role === 'assistant').length
    const code = codes[asked]
    return code === undefined ? String(messages.at(-1)?.content) : { toolCalls: [{ name: 'run_script', args: { code } }] }
  })
}

describe('hundreds of tools', () => {
  it('of an MCP server cost fewer than 1,000 tokens, are found in a script, and give it their data', async () => {
    const rows = { id: 'inv_1', lines: [{ sku: 'a', count: 2 }] }
    const called: unknown[] = []
    await using server = await startOddHttpServer(
      Array.from({ length: 100 }, (_, n) => listedTool(n)),
      (response, { message: { id, params } }) => {
        called.push(params)
        json(response, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'Created 1 invoice.' }], structuredContent: rows } })
      },
    )
    await using tools = await connectMcpServers({ erp: { url: server.url, prefix: '', approval: false } }, { logger: logger() })
    const set = codeMode(tools)
    const specs = JSON.stringify(set.getAllSpecs())
    expect(set.names()).toEqual(['run_script'])
    // A token has about four characters.
    expect(specs.length / 4).toBeLessThan(1_000)
    expect(JSON.stringify(tools.getAllSpecs()).length / 4).toBeGreaterThan(10_000)
    const model = scripts(
      "return await tools.search_tools({ query: 'create invoice' })",
      "const made = await tools.create_invoice({ customer: 'c1', lines: [{ sku: 'a', count: 2 }] })\nreturn [made.id, made.lines.length]",
    )
    const { output, toolCalls } = await new AgentRunner({ model, tools: set, logger: logger() }).run('go')
    const [declaration] = JSON.parse(String(toolCalls[0]?.content)).tools
    expect(declaration).toContain(
      'create_invoice(args: { /** The id of the customer. */ customer: string; lines?: Array<{ sku: string; count?: number }>; currency?: "EUR" | "USD" }): Promise<unknown>',
    )
    expect(declaration).toContain('/** Creates an invoice for a customer.')
    expect([output, called]).toMatchObject(['["inv_1",1]', [{ name: 'create_invoice' }]])
  })

  it('follow changes of the set: a few are declared, many are searched', () => {
    const tools: AnyTool[] = []
    const add = (count: number) => {
      for (let n = 0; n < count; n++)
        tools.push(defineTool({ name: `tool_${tools.length}`, description: 'Does something that is useful.', execute: () => 1 }))
    }
    add(5)
    const declared = declarationsIn(codeMode(tools))
    expect(declared).toContain('tool_4(args?: {}): Promise<unknown>')
    add(200)
    const searched = declarationsIn(codeMode(tools))
    expect([searched.includes('tool_4'), searched.includes('205 tools'), searched.includes('search_tools')]).toEqual([false, true, true])
    expect(declarationsIn(codeMode(tools, { declaredCharacters: 100_000 }))).toContain('tool_204')
  })

  it('whose results a hook has changed don’t pass their data around the hook', async () => {
    const person = defineTool({
      name: 'person',
      description: 'x',
      outputSchema: { type: 'object', properties: { name: { type: 'string' } } },
      toContent: ({ name }: { name: string }) => `It is ${name}.`,
      execute: () => ({ name: 'Ada' }),
    })
    const run = async (hide: boolean) => {
      const hooks = hide
        ? [{ afterTool: ({ tool }: { tool: string }) => (tool === 'person' ? { content: 'It is hidden.' } : undefined) }]
        : []
      return (
        await new AgentRunner({ model: scripts('return await tools.person()'), tools: codeMode([person]), hooks, logger: logger() }).run(
          'go',
        )
      ).output
    }
    expect(await run(false)).toBe('{"name":"Ada"}')
    expect(await run(true)).toBe('It is hidden.')
  })
})

describe('declarations', () => {
  const declared = (parameters: object) => {
    const tool = defineTool({ name: 'a', description: '', parameters: parameters as never, execute: () => 1 })
    return declarationsIn(codeMode([tool]))
      .split('\n')
      .find((line) => line.trim().startsWith('a('))
      ?.trim()
  }

  it('express the schemas, without anything that would end a comment', () => {
    expect(declared({ type: 'object', properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: { type: ['string', 'null'] } } })).toBe(
      'a(args?: { a?: string | null }): Promise<unknown>',
    )
    expect(
      declared({
        type: 'object',
        properties: { 'x-y': { description: 'ends */ here', anyOf: [{ type: 'integer' }, { const: 'all' }] } },
        required: ['x-y'],
      }),
    ).toBe('a(args: { /** ends * / here */ "x-y": number | "all" }): Promise<unknown>')
    expect(declared({ type: 'object', additionalProperties: { type: 'array', items: { type: 'boolean' } } })).toBe(
      'a(args?: Record<string, Array<boolean>>): Promise<unknown>',
    )
  })

  it('of schemas that refer to themselves, or are very wide, stay short', () => {
    const tree = {
      type: 'object',
      properties: { node: { $ref: '#/$defs/node' } },
      $defs: {
        node: { type: 'object', properties: Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`n${n}`, { $ref: '#/$defs/node' }])) },
      },
    }
    const started = performance.now()
    expect(codeMode([defineTool({ name: 'a', description: 'x', parameters: tree as never, execute: () => 1 })]).getAllSpecs()).toHaveLength(
      1,
    )
    expect(performance.now() - started).toBeLessThan(1_000)
  })
})
