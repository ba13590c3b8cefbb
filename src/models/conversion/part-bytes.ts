import type { FilePart, ImagePart } from '../../core/messages.ts'

export interface PartBytes {
  mediaType: string
  base64: string
}

/** The bytes of a part as base64. Undefined if the part is a URL. */
export function bytesOf(part: ImagePart | FilePart): PartBytes | undefined {
  if ('data' in part) return { mediaType: bare(part.mediaType), base64: part.data }
  if (!part.url.startsWith('data:')) return undefined
  const comma = part.url.indexOf(',')
  const head = part.url.slice('data:'.length, comma === -1 ? undefined : comma)
  const body = comma === -1 ? '' : part.url.slice(comma + 1)
  const mediaType = bare(part.mediaType ?? head) || 'text/plain'
  return { mediaType, base64: head.endsWith(';base64') ? body : Buffer.from(unescaped(body)).toString('base64') }
}

/** The image types that every vision model accepts. Includes `image/jpg`, because many tools misspell the type of a JPEG. */
export const commonImageTypes: readonly string[] = ['image/jpeg', 'image/jpg', 'image/png', 'image/gif', 'image/webp']

/** Whether providers are likely to accept a part. Asked of parts that a tool returned, which nobody chose for this provider. */
export function isCommonPart(part: ImagePart | FilePart): boolean {
  const type = bytesOf(part)?.mediaType
  if (part.type === 'file') return type === 'application/pdf'
  return type === undefined || commonImageTypes.includes(type)
}

/** Removes parameters: `text/plain;charset=utf-8` becomes `text/plain`. */
function bare(mediaType: string): string {
  return mediaType.replace(/;.*$/s, '').trim().toLowerCase()
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Left unchanged, because the percent sign is literal.
    return text
  }
}
