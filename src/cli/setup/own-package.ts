import { createRequire } from 'node:module'
import type { JsonObject } from '../../core/messages.ts'

/** This package's own package.json, whether it runs from `src` or from `dist`. */
export function readOwnPackage(): JsonObject {
  return createRequire(import.meta.url)('../../../package.json') as JsonObject
}
