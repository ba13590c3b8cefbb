/** A digest of a text. `node:crypto` is loaded when it is needed: it is a good part of what importing this package would cost. */
export function digestOf(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('base64url')
}
