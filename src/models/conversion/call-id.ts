import { createHash } from 'node:crypto'

/** Which call ids a provider takes; others are replaced by a hash of `length` letters and digits. */
export interface CallIdRule {
  pattern: RegExp
  length: number
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** The id itself where the rule takes it, else one that is the same for call and result and in every request. */
export function fitCallId(id: string, { pattern, length }: CallIdRule): string {
  if (pattern.test(id)) return id
  const bytes = createHash('sha512').update(id).digest()
  let fitted = ''
  for (let at = 0; at < length; at++) fitted += alphabet[(bytes[at] ?? 0) % alphabet.length]
  return fitted
}

/** A tool's name as every provider takes it: what the model has called need not be one. */
export function fitToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}
