import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../../core/messages.ts'

/** The folder of this package, whether it runs from `src` or from `dist`. */
export const packageFolder: string = fileURLToPath(new URL('../../../', import.meta.url))

export function readOwnPackage(): JsonObject {
  return createRequire(import.meta.url)('../../../package.json') as JsonObject
}
