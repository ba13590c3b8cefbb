import { AgentRunner, type AnyTool, type JsonObject } from '../../../../src/index.ts'
import { scriptedModel } from '../../../../src/testing/index.ts'
import { connectMcpServers, type McpUrl } from '../../../../src/tools/mcp/index.ts'

/**
 * The client that the conformance suite tests: an application of the public API, which calls the tools of one scenario's server with a run for
 * each. What it is to do besides stands in the variables that the suite sets.
 */
const [url = ''] = process.argv.slice(2)
const context: { toolCalls?: { name: string; arguments: JsonObject }[] } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')

const server: McpUrl = { url, prefix: '' }
await using tools = await connectMcpServers({ server })

const calls = context.toolCalls ?? tools.list().map((tool) => ({ name: tool.name, arguments: argumentsFor(tool) }))
for (const { name, arguments: given } of calls) {
  // The suite writes null for an argument that is left out, which its own schemas don't allow.
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name, args }] }, 'Done.']), tools })
  let result = await runner.run('Go.')
  // Forms are filled in with their defaults: with nothing.
  while (result.stopReason === 'paused') {
    const decisions = result.pending.map((item) => ({ ...item, answer: {} }))
    result = await runner.resume(result.state, { decisions })
  }
  for (const { tool, outcome, content } of result.toolCalls) console.log(tool, outcome, content)
}

/** Values of the right type for what is required. */
function argumentsFor({ name, parameters }: AnyTool): JsonObject {
  if (name === 'json_schema_echo') return { schema: tools.get('json_schema_2020_12_tool')?.parameters as JsonObject }
  const { required = [], properties = {} } = parameters as { required?: string[]; properties?: Record<string, { type?: string }> }
  return Object.fromEntries(required.map((key) => [key, properties[key]?.type === 'string' ? 'x' : 1]))
}
