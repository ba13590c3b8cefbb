import { createRequire } from 'node:module'
import type { JsonObject } from './messages.ts'

/** This package's own package.json, whether it runs from `src` or from `dist`. */
export function readOwnPackage(): JsonObject {
  return createRequire(import.meta.url)('../../package.json') as JsonObject
}

/** This package's version, such as `1.2.3`. */
export function ownVersion(): string {
  return String(readOwnPackage().version)
}
