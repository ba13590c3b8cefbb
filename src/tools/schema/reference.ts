/**
 * Returns the keys along the path from the root of the document to the target of a reference. Undefined if the target is in another
 * document, or if the reference refers to it by name.
 */
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
