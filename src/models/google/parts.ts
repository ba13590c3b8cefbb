import { type FilePart, type ImagePart, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { bytesOf } from '../conversion/part-bytes.ts'

/** Media types by file extension. They are used for URLs without a media type, because Vertex AI requires one. */
const byEnding: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
}

/** Converts an image or file to a part that contains its bytes or its URL: https://ai.google.dev/api/caching#Part */
export function googlePart(part: ImagePart | FilePart): JsonObject {
  const bytes = bytesOf(part)
  if (bytes !== undefined) return inlineData(bytes.mediaType, bytes.base64)
  const { url: fileUri = '', mediaType: mimeType } = 'url' in part ? part : {}
  const known = mimeType ?? typeByEnding(fileUri)
  return { fileData: { fileUri, ...withoutUndefined({ mimeType: known }) } }
}

/**
 * Converts an image or file of a tool result, which must be bytes. Undefined for a URL:
 * https://ai.google.dev/gemini-api/docs/function-calling
 */
export function googleResultPart(part: ImagePart | FilePart): JsonObject | undefined {
  const bytes = bytesOf(part)
  return bytes === undefined ? undefined : inlineData(bytes.mediaType, bytes.base64)
}

function inlineData(mediaType: string, data: string): JsonObject {
  // Corrects `image/jpg`, because many tools misspell the type of a JPEG.
  return { inlineData: { mimeType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data } }
}

function typeByEnding(address: string): string | undefined {
  const path = URL.parse(address)?.pathname ?? address
  return byEnding[path.slice(path.lastIndexOf('.') + 1).toLowerCase()]
}
