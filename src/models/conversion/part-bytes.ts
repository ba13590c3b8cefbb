import type { FilePart, ImagePart } from '../../core/messages.ts'

export interface PartBytes {
  mediaType: string
  base64: string
}

/**
 * The bytes of a part as base64. Undefined if the part is a URL. The type of an image is determined from its bytes, because Claude refuses
 * a type that doesn't fit them: https://github.com/anthropics/claude-code/issues/11975
 */
export function bytesOf(part: ImagePart | FilePart): PartBytes | undefined {
  const told = toldBytesOf(part)
  return part.type === 'image' && told !== undefined ? { ...told, mediaType: imageTypeOf(told.base64) ?? told.mediaType } : told
}

/** Returns the part's URL. If the part has none, returns a `data:` URL with the part's bytes. */
export function urlOf(part: ImagePart | FilePart): string {
  const bytes = part.type === 'image' ? bytesOf(part) : undefined
  const type = bytes && imageTypeOf(bytes.base64)
  if ('data' in part) return `data:${type ?? part.mediaType};base64,${part.data}`
  return type === undefined || part.url.toLowerCase().startsWith(`data:${type}`) ? part.url : `data:${type};base64,${bytes?.base64}`
}

/** The first base64 characters of files of each type. */
const beginnings: readonly (readonly [type: string, beginning: RegExp])[] = [
  ['image/png', /^iVBORw0KGgo/],
  ['image/jpeg', /^\/9j\//],
  ['image/gif', /^R0lGOD/],
  ['image/webp', /^UklGR.{7}RUJQ/],
]

function imageTypeOf(base64: string): string | undefined {
  return beginnings.find(([, beginning]) => beginning.test(base64))?.[0]
}

function toldBytesOf(part: ImagePart | FilePart): PartBytes | undefined {
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

/**
 * Whether providers are likely to accept a part. Used for parts of tool results, because tools do not know which provider will receive
 * them.
 */
export function isCommonPart(part: ImagePart | FilePart): boolean {
  const type = bytesOf(part)?.mediaType
  if (part.type === 'file') return type === 'application/pdf'
  return type === undefined || commonImageTypes.includes(type)
}

/** Removes parameters from a media type: `text/plain;charset=utf-8` becomes `text/plain`. */
function bare(mediaType: string): string {
  return mediaType.replace(/;.*$/s, '').trim().toLowerCase()
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // An invalid escape means that the percent sign is literal.
    return text
  }
}
