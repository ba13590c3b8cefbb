import type { CallToolResult, ContentBlock, Tool as WireTool } from '@modelcontextprotocol/server'
import type { Content, ContentPart } from '../../../core/messages.ts'
import { parametersOf } from '../../schema/schema.ts'
import type { AnyTool } from '../../tool.ts'

/** Returns the tool if an MCP client can call it: it has `execute`, and needs no approval. */
export function servable(tool: AnyTool | undefined): AnyTool | undefined {
  return tool?.execute === undefined || (tool.approval !== undefined && tool.approval !== false) ? undefined : tool
}

/** Converts a tool to the form in which MCP lists it. */
export function wireTool(tool: AnyTool): WireTool {
  const { name, description, effect = 'unsafe', outputSchema } = tool
  const annotations = effect === 'unsafe' ? undefined : { readOnlyHint: effect === 'read', idempotentHint: true }
  const inputSchema = { ...parametersOf(tool), type: 'object' as const }
  return {
    name,
    description,
    inputSchema,
    outputSchema: outputSchema && { ...outputSchema, type: 'object' as const },
    annotations,
  }
}

/** Creates the result of a failed call. `text`: the error for the model. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Converts the content of a tool's result to blocks. */
export function blocksOf(content: Content): ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content.map(blockOf)
}

function blockOf(part: ContentPart): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const given = 'data' in part ? part : inDataUrl(part.url)
  const name = part.type === 'file' && part.name !== undefined ? part.name : part.type
  if (given === undefined) {
    const { mediaType, url: uri } = part as { mediaType?: string; url: string }
    return { type: 'resource_link', name, uri, mimeType: mediaType }
  }
  const { data, mediaType: mimeType } = given
  if (part.type === 'image') return { type: 'image', data, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType }
  return { type: 'resource', resource: { uri: `file:///${encodeURIComponent(name)}`, blob: data, mimeType } }
}

function inDataUrl(url: string): { data: string; mediaType: string } | undefined {
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return mediaType === undefined || data === undefined ? undefined : { data, mediaType }
}
