import { keysOfReference } from '../reference.ts'

/** Counts the values that the compiler visits in a schema, including repeated visits through references. Stops at `most`. */
export function compiledSize(schema: object, most: number): number {
  const known = new Set<string>()
  const open: unknown[] = [schema]
  let size = 0
  while (open.length > 0 && size <= most) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      size++
      if (size > most) break
      if (!isReference(key, inner)) open.push(inner)
      else {
        const target = targetOf(schema, inner)
        // The compiler reuses a target that itself contains references. Any other target is compiled again for each reference.
        if (!known.has(inner) || !refers(target, most)) open.push(target)
        known.add(inner)
      }
    }
  }
  return size
}

function isReference(key: string, value: unknown): value is string {
  return (key === '$ref' || key === '$dynamicRef') && typeof value === 'string'
}

function refers(target: unknown, most: number): boolean {
  const open: unknown[] = [target]
  let looked = 0
  while (open.length > 0 && looked <= most) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      if (isReference(key, inner)) return true
      looked++
      open.push(inner)
    }
  }
  return false
}

/** Returns the target of a reference, or the whole schema if the target can't be found by its path. */
function targetOf(schema: object, reference: string): unknown {
  let value: unknown = schema
  for (const name of keysOfReference(reference) ?? []) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return schema
    value = Reflect.get(value, name)
  }
  return value
}
