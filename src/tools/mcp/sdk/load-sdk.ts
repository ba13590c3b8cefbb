import { rethrow, ToolloopError } from '../../../core/errors.ts'

export type McpClientSdk = typeof import('@modelcontextprotocol/client') & typeof import('@modelcontextprotocol/client/stdio')

/** Loads the SDK. Rejects with `missing_dependency` if the package is not installed. */
export async function loadClientSdk(): Promise<McpClientSdk> {
  try {
    const sdk = await import('@modelcontextprotocol/client').catch(rethrow)
    return { ...sdk, ...(await import('@modelcontextprotocol/client/stdio').catch(rethrow)) }
  } catch (cause) {
    throw missingPackage('@modelcontextprotocol/client', 'Tools of MCP servers need', cause)
  }
}

/** Creates the error for an optional package that is not installed. The message starts with `use`, such as `Tools of MCP servers need`. */
export function missingPackage(name: string, use: string, cause: unknown): ToolloopError {
  const message = `${use} the package \`${name}\`: npm install ${name}`
  return new ToolloopError('missing_dependency', message, { cause })
}
