import { ToolloopError } from '../../errors.ts'

export type McpClientSdk = typeof import('@modelcontextprotocol/client') & typeof import('@modelcontextprotocol/client/stdio')
export type McpServerSdk = typeof import('@modelcontextprotocol/server') & typeof import('@modelcontextprotocol/server/stdio')

/** Rejects with `missing_dependency` when the package is not installed. */
export async function loadClientSdk(): Promise<McpClientSdk> {
  try {
    return { ...(await import('@modelcontextprotocol/client')), ...(await import('@modelcontextprotocol/client/stdio')) }
  } catch (cause) {
    throw missing('@modelcontextprotocol/client', 'tools of MCP servers need', cause)
  }
}

/** Rejects with `missing_dependency` when the package is not installed. */
export async function loadServerSdk(): Promise<McpServerSdk> {
  try {
    return { ...(await import('@modelcontextprotocol/server')), ...(await import('@modelcontextprotocol/server/stdio')) }
  } catch (cause) {
    throw missing('@modelcontextprotocol/server', 'serving tools over MCP needs', cause)
  }
}

function missing(name: string, use: string, cause: unknown): ToolloopError {
  const message = `Expected the package \`${name}\`, which ${use}, got none: npm install ${name}`
  return new ToolloopError('missing_dependency', message, { cause })
}
