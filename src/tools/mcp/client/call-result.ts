import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'
import type { Content, ContentPart, Json } from '../../../core/messages.ts'

/** What a call of an MCP tool returned. The model sees `content`, the app both. */
export interface McpToolResult {
  content: Content
  /** The same as data, where the tool gives it (`structuredContent`). */
  structured?: Json
}

export function readCallResult({ content, structuredContent }: CallToolResult): McpToolResult {
  const structured = structuredContent as Json | undefined
  const parts = content.map(partOf)
  // A server should give data as text too; not every one does.
  if (parts.length === 0 && structured !== undefined) return { content: JSON.stringify(structured), structured }
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return {
    content: texts.length === parts.length ? texts.join('\n') : parts,
    ...(structured === undefined ? {} : { structured }),
  }
}

/** The text of a call that failed; what is not text is named. */
export function failureText({ content }: CallToolResult): string {
  return content
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
