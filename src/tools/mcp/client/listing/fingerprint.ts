import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../../core/messages.ts'

/** A tool as described by its server. */
export interface DescribedTool {
  /** The server's own name of the tool. */
  name: string
  description: string
  inputSchema: JsonObject
  annotations: { readOnlyHint?: unknown; idempotentHint?: unknown; destructiveHint?: unknown }
}

/**
 * A short text that changes with the description of a tool: its name, description, schema and annotations. The order of keys does not
 * matter.
 */
export function fingerprintOf({ name, description, inputSchema, annotations }: DescribedTool): string {
  const text = JSON.stringify(sorted({ name, description, inputSchema, annotations }))
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  // Pairs, because an object would sort numeric keys first and handle `__proto__` differently.
  return {
    pairs: Object.entries(value)
      .toSorted(byKey)
      .map(([key, item]) => [key, sorted(item)]),
  }
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
