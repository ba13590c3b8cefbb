import type { JsonSchema } from '../tool.ts'

/** A schema as JSON that says all it says; undefined where JSON leaves something out or writes it otherwise. Never throws. */
export function schemaText(schema: JsonSchema): string | undefined {
  let isExact = true
  function check(this: unknown, key: string, value: unknown): unknown {
    // The first is what `toJSON` has made something else of.
    isExact &&= (this as JsonSchema)[key] === value && isPlain(value)
    return isExact ? value : null
  }
  try {
    const text = JSON.stringify(schema, check)
    return isExact ? text : undefined
  } catch {
    // Circular, or too deep: whether it can be used is for the compiler to say.
    return undefined
  }
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return value === null || typeof value === 'string' || typeof value === 'boolean'
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}
