import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../../core/messages.ts'

/** A tool as its server describes it. */
export interface DescribedTool {
  /** The tool's name on the server. */
  name: string
  description: string
  inputSchema: JsonObject
  annotations: { readOnlyHint?: unknown; idempotentHint?: unknown; destructiveHint?: unknown }
}

/**
 * Returns a short text that changes if the server changes the name, description, schema or annotations of a tool. The order of keys does
 * not matter.
 */
export function fingerprintOf({ name, description, inputSchema, annotations }: DescribedTool): string {
  const text = JSON.stringify(sorted({ name, description, inputSchema, annotations }))
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  // Uses a list of pairs, because an object would put numeric keys first and handle `__proto__` differently.
  return {
    pairs: Object.entries(value)
      .toSorted(byKey)
      .map(([key, item]) => [key, sorted(item)]),
  }
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
