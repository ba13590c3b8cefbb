import { TextDecoder } from 'node:util'
import { looksBinary } from '../files/text-file.ts'

/**
 * Number of bytes of a document that are searched for its declared encoding: https://html.spec.whatwg.org/multipage/semantics.html#charset
 */
const sniffedBytes = 1024

/** Decodes a body with the encoding that the body or its content type declares, otherwise as UTF-8. Undefined if the body is not text. */
export function decodeText(body: Buffer, contentType: string): string | undefined {
  const label = bomOf(body) ?? /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1] ?? declaredEncoding(body) ?? 'utf-8'
  const decoder = decoderFor(label)
  // UTF-16 is excluded, because UTF-16 text contains many zero bytes.
  if (!decoder.encoding.startsWith('utf-16') && looksBinary(body)) return undefined
  // `stream` is set, because a body that was cut may end inside a character.
  return decoder.decode(body, { stream: true })
}

export function isHtml(contentType: string, text: string): boolean {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? ''
  if (type === '' || type === 'application/octet-stream') return /^\s*<(!doctype html|html)\b/i.test(text.slice(0, sniffedBytes))
  return type === 'text/html' || type === 'application/xhtml+xml'
}

function bomOf(body: Buffer): string | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be'
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le'
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 'utf-8' : undefined
}

/** Returns the encoding in `<meta charset>` or in an XML declaration. */
function declaredEncoding(body: Buffer): string | undefined {
  const start = body.toString('latin1', 0, sniffedBytes)
  return (
    /<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})/i.exec(start)?.[1] ??
    /^<\?xml[^>]{0,200}?encoding=["']([\w.:-]{1,40})/.exec(start)?.[1]
  )
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch {
    // If the encoding is unknown, UTF-8 still makes most of the text readable.
    return new TextDecoder('utf-8')
  }
}
