import type { CallToolResult, ContentBlock, JSONRPCMessage } from '@modelcontextprotocol/client'
import { type Content, type ContentPart, isBase64, isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'

/** What a call of an MCP tool returned. The model sees `content`, the app both. */
export interface McpToolResult {
  content: Content
  /** The same as data, where the tool gives it (`structuredContent`). */
  structured?: Json
}

/** Where the parts of a result lie that have been checked. */
const checked = 'toolloop/parts'

/**
 * Checks the parts of a result and puts them where the SDK doesn't: it tells of each all that is wrong with it, by each of the kinds there are,
 * which takes seconds and the whole memory where there are very many, and looks through pictures of megabytes. Of parts that are none only one
 * is left.
 */
export function checkParts(message: JSONRPCMessage): void {
  if (!('result' in message) || !Array.isArray(message.result.content)) return
  const parts = message.result.content.map(trimPart)
  if (parts.includes(undefined)) message.result.content = [null]
  else Object.assign(message.result, { content: [], _meta: { [checked]: parts } })
}

function partsOf({ content, _meta }: CallToolResult): readonly ContentBlock[] {
  return (_meta?.[checked] as readonly ContentBlock[] | undefined) ?? content
}

function trimPart(part: unknown): object | undefined {
  if (!isJsonObject(part)) return undefined
  const { type, text, data, mimeType, name, uri, description, resource } = part
  if (type === 'text') return isText(text) ? { type, text } : undefined
  if (type === 'image' || type === 'audio') return isText(data) && isBase64(data) && isText(mimeType) ? { type, data, mimeType } : undefined
  if (type === 'resource_link') return isText(name) && isText(uri) ? { type, name, uri, ...given({ mimeType, description }) } : undefined
  if (type !== 'resource' || !isJsonObject(resource) || !isText(resource.uri)) return undefined
  const content = isText(resource.text)
    ? { text: resource.text }
    : isText(resource.blob) && isBase64(resource.blob)
      ? { blob: resource.blob }
      : undefined
  return content && { type, resource: { uri: resource.uri, ...content, ...given({ mimeType: resource.mimeType }) } }
}

function given(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => isText(field[1])))
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function readCallResult(result: CallToolResult): McpToolResult {
  const structured = result.structuredContent as Json | undefined
  const parts = partsOf(result).map(partOf)
  // A server should give data as text too; not every one does.
  if (parts.length === 0 && structured !== undefined) return { content: JSON.stringify(structured), structured }
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return {
    content: texts.length === parts.length ? texts.join('\n') : parts,
    ...(structured === undefined ? {} : { structured }),
  }
}

/** The text of a call that failed; what is not text is named. */
export function failureText(result: CallToolResult): string {
  return partsOf(result)
    .map(partOf)
    .map((part) => (part.type === 'text' ? part.text : `(${part.type})`))
    .join('\n')
}

function partOf(block: ContentBlock): ContentPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      // What is called an image and is none would have the whole request refused by a provider.
      if (!block.mimeType.startsWith('image/')) return { type: 'file', data: block.data, mediaType: block.mimeType }
      return { type: 'image', data: block.data, mediaType: block.mimeType }
    case 'audio':
      return { type: 'file', data: block.data, mediaType: block.mimeType }
    case 'resource_link': {
      const { name, uri, mimeType, description } = block
      const about = description === undefined ? '' : `\n${description}`
      return { type: 'text', text: `${name}: ${uri}${mimeType === undefined ? '' : ` (${mimeType})`}${about}` }
    }
    case 'resource': {
      const { resource } = block
      if ('text' in resource) return { type: 'text', text: `${resource.uri}:\n${resource.text}` }
      const { blob: data, uri, mimeType: mediaType = 'application/octet-stream' } = resource
      if (mediaType.startsWith('text/')) return { type: 'text', text: `${uri}:\n${Buffer.from(data, 'base64').toString('utf8')}` }
      return mediaType.startsWith('image/') ? { type: 'image', data, mediaType } : { type: 'file', data, mediaType, name: lastSegment(uri) }
    }
  }
}

function lastSegment(uri: string): string {
  return (
    uri
      .split(/[?#]/)[0]
      ?.split('/')
      .findLast((segment) => segment !== '') ?? uri
  )
}
