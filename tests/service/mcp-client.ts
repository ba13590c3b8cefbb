import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { token } from './start-service.ts'

export type Era = 'legacy' | 'modern'

/** The SDK's own client, connected to the service over real HTTP; closed with the test. */
export async function connectClient(
  url: string,
  {
    era = 'modern',
    bearer = token,
    headers = {},
    setUp,
    ...options
  }: ClientOptions & {
    era?: Era
    bearer?: string
    headers?: Record<string, string>
    setUp?(client: Client): void
  } = {},
): Promise<{ client: Client; transport: StreamableHTTPClientTransport; errors: Error[] }> {
  const negotiation = era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}
  const client = new Client({ name: 'test', version: '1' }, { ...negotiation, ...options })
  const errors: Error[] = []
  client.onerror = (error) => void errors.push(error)
  setUp?.(client)
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${bearer}`, ...headers } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, transport, errors }
}

/** The text of a call's result. */
export async function textOf(called: ReturnType<Client['callTool']>): Promise<string> {
  const { content } = await called
  return content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('')
}
