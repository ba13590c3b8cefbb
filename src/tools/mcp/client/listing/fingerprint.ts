import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../../core/messages.ts'

/** What a server says of a tool. */
export interface DescribedTool {
  /** The server's name for it. */
  name: string
  description: string
  inputSchema: JsonObject
  annotations: { readOnlyHint?: unknown; idempotentHint?: unknown; destructiveHint?: unknown }
}

/**
 * What a server says of a tool, as a short text that changes with it: its name, description, schema and annotations. The order of keys
 * doesn't matter.
 */
export function fingerprintOf({ name, description, inputSchema, annotations }: DescribedTool): string {
  const text = JSON.stringify(sorted({ name, description, inputSchema, annotations }))
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  // Pairs, not an object: it would put keys that are numbers into an order of its own, and takes `__proto__` for something else.
  return {
    pairs: Object.entries(value)
      .toSorted(byKey)
      .map(([key, item]) => [key, sorted(item)]),
  }
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
