import { ToolloopError } from '../../../core/errors.ts'

export type McpClientSdk = typeof import('@modelcontextprotocol/client') & typeof import('@modelcontextprotocol/client/stdio')

/** Rejects with `missing_dependency` when the package is not installed. */
export async function loadClientSdk(): Promise<McpClientSdk> {
  try {
    return { ...(await import('@modelcontextprotocol/client')), ...(await import('@modelcontextprotocol/client/stdio')) }
  } catch (cause) {
    throw missingPackage('@modelcontextprotocol/client', 'tools of MCP servers need', cause)
  }
}

/** What is thrown for an optional package that is not there. */
export function missingPackage(name: string, use: string, cause: unknown): ToolloopError {
  const message = `Expected the package \`${name}\`, which ${use}, got none: npm install ${name}`
  return new ToolloopError('missing_dependency', message, { cause })
}
