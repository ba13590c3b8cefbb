import type { FilePart, ImagePart, JsonObject } from '../../core/messages.ts'
import { bytesOf, commonImageTypes, type PartBytes } from '../conversion/part-bytes.ts'

/** Converts an image or file to a block. Undefined if the API has no block for it. */
export function anthropicPart(part: ImagePart | FilePart): JsonObject | undefined {
  const given = bytesOf(part)
  return part.type === 'image' ? imageBlock(part, given) : fileBlock(part, given)
}

function imageBlock(part: ImagePart, given: PartBytes | undefined): JsonObject | undefined {
  if (given === undefined) return 'url' in part ? { type: 'image', source: { type: 'url', url: part.url } } : undefined
  // https://platform.claude.com/docs/en/build-with-claude/vision
  if (!commonImageTypes.includes(given.mediaType)) return undefined
  const mediaType = given.mediaType === 'image/jpg' ? 'image/jpeg' : given.mediaType
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: given.base64 } }
}

/** The API accepts a PDF by URL or as bytes, and plain text: https://platform.claude.com/docs/en/build-with-claude/pdf-support */
function fileBlock(part: FilePart, given: PartBytes | undefined): JsonObject | undefined {
  const title: JsonObject = part.name === undefined ? {} : { title: part.name }
  if (given === undefined) return 'url' in part ? { type: 'document', source: { type: 'url', url: part.url }, ...title } : undefined
  if (given.mediaType === 'application/pdf') {
    return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: given.base64 }, ...title }
  }
  if (!given.mediaType.startsWith('text/')) return undefined
  const data = Buffer.from(given.base64, 'base64').toString('utf8')
  return data.trim() === '' ? undefined : { type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...title }
}
