import type { FilePart, ImagePart, JsonObject } from '../messages.ts'

/** https://platform.claude.com/docs/en/build-with-claude/vision */
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** An image or document block; undefined for what the API has no place for. */
export function anthropicPart(part: ImagePart | FilePart): JsonObject | undefined {
  const given = bytesOf(part)
  return part.type === 'image' ? imageBlock(part, given) : fileBlock(part, given)
}

function imageBlock(part: ImagePart, given: Bytes | undefined): JsonObject | undefined {
  if (given === undefined) return 'url' in part ? { type: 'image', source: { type: 'url', url: part.url } } : undefined
  // A type most tools get wrong.
  const mediaType = given.mediaType === 'image/jpg' ? 'image/jpeg' : given.mediaType
  if (!imageTypes.includes(mediaType)) return undefined
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: given.base64 } }
}

/** PDF by address or as bytes, and plain text: https://platform.claude.com/docs/en/build-with-claude/pdf-support */
function fileBlock(part: FilePart, given: Bytes | undefined): JsonObject | undefined {
  const title: JsonObject = part.name === undefined ? {} : { title: part.name }
  if (given === undefined) return 'url' in part ? { type: 'document', source: { type: 'url', url: part.url }, ...title } : undefined
  if (given.mediaType === 'application/pdf') {
    return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: given.base64 }, ...title }
  }
  if (!given.mediaType.startsWith('text/')) return undefined
  const data = Buffer.from(given.base64, 'base64').toString('utf8')
  return data.trim() === '' ? undefined : { type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...title }
}

interface Bytes {
  mediaType: string
  base64: string
}

/** The bytes of a part that brings them, as base64; undefined for one that is an address. */
function bytesOf(part: ImagePart | FilePart): Bytes | undefined {
  if ('data' in part) return { mediaType: bare(part.mediaType), base64: part.data }
  if (!part.url.startsWith('data:')) return undefined
  const comma = part.url.indexOf(',')
  const head = part.url.slice('data:'.length, comma === -1 ? undefined : comma)
  const body = comma === -1 ? '' : part.url.slice(comma + 1)
  const mediaType = bare(part.mediaType ?? head) || 'text/plain'
  return { mediaType, base64: head.endsWith(';base64') ? body : Buffer.from(unescaped(body)).toString('base64') }
}

/** `text/plain;charset=utf-8` is `text/plain`. */
function bare(mediaType: string): string {
  return mediaType.replace(/;.*$/s, '').trim().toLowerCase()
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not escaped, then: a bare percent sign is one.
    return text
  }
}
