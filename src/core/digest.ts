/**
 * Returns the SHA-256 digest of a text as base64url. Loads `node:crypto` on first use, because it would make importing this package much
 * slower.
 */
export function digestOf(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('base64url')
}
