/** The keys that a reference leads along from the root of its own document; undefined for one of another document, or by a name. */
export function keysOfReference(reference: string): string[] | undefined {
  if (reference === '#') return []
  if (!reference.startsWith('#/')) return undefined
  return reference
    .slice(2)
    .split('/')
    .map((key) => decoded(key).replaceAll('~1', '/').replaceAll('~0', '~'))
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
