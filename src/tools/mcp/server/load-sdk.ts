import { rethrow } from '../../../core/errors.ts'
import { missingPackage } from '../sdk/load-sdk.ts'

export type McpServerSdk = typeof import('@modelcontextprotocol/server') & typeof import('@modelcontextprotocol/server/stdio')

/** Loads the SDK. Rejects with `missing_dependency` if the package is not installed. */
export async function loadServerSdk(): Promise<McpServerSdk> {
  try {
    const sdk = await import('@modelcontextprotocol/server').catch(rethrow)
    return { ...sdk, ...(await import('@modelcontextprotocol/server/stdio').catch(rethrow)) }
  } catch (cause) {
    throw missingPackage('@modelcontextprotocol/server', 'Serving tools over MCP needs', cause)
  }
}
