import { createHash } from 'node:crypto'

export function etagOf(content: string | Uint8Array): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 27)}"`
}

/** Whether the client already has the content with this ETag. */
export function isKnown({ headers }: Request, etag: string): boolean {
  const known = headers.get('if-none-match') ?? ''
  return known.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}
