import type { FilePart, ImagePart } from '../../core/messages.ts'

export interface PartBytes {
  mediaType: string
  base64: string
}

/** The bytes of a part that brings them, as base64; undefined for one that is an address. */
export function bytesOf(part: ImagePart | FilePart): PartBytes | undefined {
  if ('data' in part) return { mediaType: bare(part.mediaType), base64: part.data }
  if (!part.url.startsWith('data:')) return undefined
  const comma = part.url.indexOf(',')
  const head = part.url.slice('data:'.length, comma === -1 ? undefined : comma)
  const body = comma === -1 ? '' : part.url.slice(comma + 1)
  const mediaType = bare(part.mediaType ?? head) || 'text/plain'
  return { mediaType, base64: head.endsWith(';base64') ? body : Buffer.from(unescaped(body)).toString('base64') }
}

/** Types of images that every model with eyes takes. Most tools get the type of a JPEG wrong. */
export const commonImageTypes: readonly string[] = ['image/jpeg', 'image/jpg', 'image/png', 'image/gif', 'image/webp']

/** Whether a part that nobody has chosen for this provider, because a tool returned it, will hardly be refused. */
export function isCommonPart(part: ImagePart | FilePart): boolean {
  const type = bytesOf(part)?.mediaType
  if (part.type === 'file') return type === 'application/pdf'
  return type === undefined || commonImageTypes.includes(type)
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
