import type { ContentBlock } from '@modelcontextprotocol/client'
import { type Content, type ContentPart, isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../../../core/messages.ts'
import { isBase64 } from '../../../../core/text/base64.ts'
import { withoutPage } from '../../../../core/text/html-page.ts'
import { asideOf } from '../set-aside.ts'
import { withData } from './data-beside-text.ts'

/** The result of a call to an MCP tool. The model sees only `content`. The application sees both fields. */
export interface McpToolResult {
  /** If the text does not include the structured data, the data is appended as JSON. */
  content: Content
  /** The structured data of the result (`structuredContent`). Absent if the result has none. */
  structured?: Json
}

/** Returns the content blocks of a result, even if `setAside` moved them. */
function listOf(result: JsonObject): readonly unknown[] | undefined {
  const list = asideOf(result).content ?? result.content
  return Array.isArray(list) ? list : undefined
}

/** Converts MCP content blocks to content parts. Undefined if a block is invalid. */
export function readParts(list: readonly unknown[]): ContentPart[] | undefined {
  const parts: ContentPart[] = []
  for (const given of list) {
    const part = trimPart(given)
    if (part === undefined) return undefined
    parts.push(partOf(part))
  }
  return parts
}

/** Converts the contents of resources. Undefined if one of the contents is invalid. */
export function readContents(list: readonly unknown[]): ContentPart[] | undefined {
  return readParts(list.map((resource) => ({ type: 'resource', resource })))
}

/** Returns the addresses to which a result links. */
export function linksIn(result: JsonObject): string[] {
  return (listOf(result) ?? []).flatMap((part) =>
    isJsonObject(part) && part.type === 'resource_link' && isText(part.uri) ? [part.uri] : [],
  )
}

function trimPart(part: unknown): ContentBlock | undefined {
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

/** Reads the result of a call. Undefined if the result is invalid. `failure` is empty if the server gives no reason. */
export function readCallResult(result: JsonObject): McpToolResult | { failure: string } | undefined {
  // Some servers send null instead of omitting the data.
  const structured = asideOf(result).data ?? (result.structuredContent as Json | undefined) ?? undefined
  const list = listOf(result) ?? (structured === undefined ? undefined : [])
  const given = list && readParts(list)
  const parts = given === undefined || structured === undefined ? given : withData(given, structured)
  if (parts === undefined) return undefined
  if (result.isError === true) return { failure: withoutPage(failureText(parts)).trim() }
  return { content: contentOf(parts), ...withoutUndefined({ structured }) }
}

/** Joins all parts into one text if all of them are texts. */
export function contentOf(parts: ContentPart[]): Content {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.length === parts.length ? texts.join('\n') : parts
}

/** Returns the text of a failed call. A part that is not a text is represented by its type. */
function failureText(parts: readonly ContentPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('\n')
}

function partOf(block: ContentBlock): ContentPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'image':
      // Data with any other media type is sent as a file, because a provider refuses the whole request if an image part is not an image.
      if (!block.mimeType.startsWith('image/')) return { type: 'file', data: block.data, mediaType: block.mimeType }
      return { type: 'image', data: block.data, mediaType: block.mimeType }
    case 'audio':
      return { type: 'file', data: block.data, mediaType: block.mimeType }
    case 'resource_link': {
      const { name, uri, mimeType, description } = block
      const about = description === undefined ? '' : `\n${description}`
      return { type: 'text', text: `${name}: ${uri}${mimeType === undefined ? '' : ` (${mimeType})`}${about}` }
    }
    case 'resource':
      return contentsOf(block.resource)
  }
}

/** Returns the content of a resource: a text preceded by its address, or a picture or file. */
function contentsOf(resource: Extract<ContentBlock, { type: 'resource' }>['resource']): ContentPart {
  if ('text' in resource) return { type: 'text', text: `${resource.uri}:\n${resource.text}` }
  const { blob: data, uri, mimeType: mediaType = 'application/octet-stream' } = resource
  if (mediaType.startsWith('text/')) return { type: 'text', text: `${uri}:\n${Buffer.from(data, 'base64').toString('utf8')}` }
  return mediaType.startsWith('image/') ? { type: 'image', data, mediaType } : { type: 'file', data, mediaType, name: lastSegment(uri) }
}

function lastSegment(uri: string): string {
  return (
    uri
      .split(/[?#]/)[0]
      ?.split('/')
      .findLast((segment) => segment !== '') ?? uri
  )
}
