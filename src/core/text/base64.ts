/** Whether `atob` accepts a text as base64. `atob` ignores whitespace, and padding is optional. Fast even for megabytes. */
export function isBase64(text: string): boolean {
  // If decoding gives exactly the expected length, every character was valid.
  const isExact = text.length % 4 === 0 && Buffer.from(text, 'base64').length === Buffer.byteLength(text, 'base64')
  if (isExact && !text.includes('-') && !text.includes('_')) return true
  const plain = text.replace(/\s/g, '')
  return /^[A-Za-z0-9+/]*={0,2}$/.test(plain) && plain.length % 4 !== 1 && (plain.length % 4 === 0 || !plain.endsWith('='))
}
