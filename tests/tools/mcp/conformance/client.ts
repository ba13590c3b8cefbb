import { AgentRunner, type AnyTool, type JsonObject } from '../../../../src/index.ts'
import { scriptedModel } from '../../../../src/testing/index.ts'
import { connectMcpServers, type McpAuth, type McpAuthorization, type McpTokenStore, type McpUrl } from '../../../../src/tools/mcp/index.ts'

/**
 * The client that the conformance suite tests: an application of the public API that calls the tools of one scenario's server, with one run
 * per call. The suite says in environment variables what else to do.
 */
const [url = ''] = process.argv.slice(2)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context: {
  toolCalls?: { name: string; arguments: JsonObject }[]
  client_id?: string
  client_secret?: string
  private_key_pem?: string
  signing_algorithm?: string
} = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')

const server: McpUrl = { url, prefix: '', auth: authFor(scenario) }
await using tools = await connectMcpServers({ server })

const calls = context.toolCalls ?? tools.list().map((tool) => ({ name: tool.name, arguments: argumentsFor(tool) }))
for (const { name, arguments: given } of calls) {
  // The suite writes null for a missing argument, which its own schemas don't allow.
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name, args }] }, 'Done.']), tools })
  let result = await runner.run('Go.')
  // Forms are filled in with their defaults.
  while (result.stopReason === 'paused') {
    const decisions = result.pending.map((item) => ({ ...item, answer: {} }))
    result = await runner.resume(result.state, { decisions })
  }
  for (const { tool, outcome, content } of result.toolCalls) console.log(tool, outcome, content)
}

/** Values of the right type for required fields. */
function argumentsFor({ name, parameters }: AnyTool): JsonObject {
  if (name === 'json_schema_echo') return { schema: tools.get('json_schema_2020_12_tool')?.parameters as JsonObject }
  const { required = [], properties = {} } = parameters as { required?: string[]; properties?: Record<string, { type?: string }> }
  return Object.fromEntries(required.map((key) => [key, properties[key]?.type === 'string' ? 'x' : 1]))
}

function authFor(name: string): McpAuth {
  const kept = new Map<string, string>()
  const store: McpTokenStore = {
    load: (key) => kept.get(key),
    save: (key, text) => void kept.set(key, text),
    remove: (key) => void kept.delete(key),
  }
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: pem, signing_algorithm: algorithm = 'ES256' } = context
  const client = { ...(clientId === undefined ? {} : { clientId }), ...(clientSecret === undefined ? {} : { clientSecret }) }
  if (name.startsWith('auth/client-credentials')) {
    return { ...client, store, grant: 'client_credentials', ...(pem === undefined ? {} : { privateKey: { pem, algorithm } }) }
  }
  const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json'
  return { ...client, store, clientMetadataUrl, redirectUrl: 'http://localhost:3000/callback', authorize: signIn }
}

/** The browser of a user who agrees to everything. */
async function signIn({ url: page }: McpAuthorization): Promise<string> {
  const { headers } = await fetch(page, { redirect: 'manual' })
  return headers.get('location') ?? ''
}
