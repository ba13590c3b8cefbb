import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isJsonObject } from '../../core/messages.ts'

const require = createRequire(import.meta.url)

/**
 * The version of a package as this one would import it; undefined when it is not installed. Its package.json is read from disk, because
 * many packages do not export it.
 */
export function installedVersion(name: string): string | undefined {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      const found: unknown = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'))
      if (isJsonObject(found) && typeof found.version === 'string') return found.version
    } catch {
      // Not in this folder; Node.js looks in the next one too.
    }
  }
  return undefined
}
