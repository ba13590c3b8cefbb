import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isJsonObject } from '../../core/messages.ts'
import { readOwnPackage } from './own-package.ts'

/** The folder of this package: the parent of `src/` or `dist/`, whichever is running. */
const packageUrl = new URL('../../../', import.meta.url)
const runsFromSource = import.meta.url.endsWith('.ts')

let registered = false

/**
 * Lets a tool module in any folder `import 'toolloop'`. If the package is not installed for the module, the import resolves to the running
 * build. A package that is installed from this folder also resolves to the running build. Other installed copies are used unchanged. See
 * https://nodejs.org/api/module.html#moduleregisterhooksoptions.
 */
export function resolveSelfForTools(): void {
  if (registered) return
  registered = true
  const { name, exports } = readOwnPackage()
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const own =
        specifier === name || specifier.startsWith(`${name}/`) ? ownModule(`.${specifier.slice(String(name).length)}`, exports) : undefined
      if (own === undefined) return nextResolve(specifier, context)
      try {
        const found = nextResolve(specifier, context)
        return found.url.startsWith(packageUrl.href) ? { url: own, shortCircuit: true } : found
      } catch {
        // The package is not installed for this module, so the running build is used.
        return { url: own, shortCircuit: true }
      }
    },
  })
}

/** Returns the URL of an entry of this package's `exports` in the running build. */
function ownModule(subpath: string, exports: unknown): string | undefined {
  const entry = isJsonObject(exports) ? exports[subpath] : undefined
  const target = isJsonObject(entry) ? entry.default : entry
  if (typeof target !== 'string') return undefined
  const source = target.replace(/^\.\/dist\//, './src/').replace(/\.js$/, '.ts')
  const url = new URL(runsFromSource ? source : target, packageUrl)
  return existsSync(fileURLToPath(url)) ? url.href : undefined
}
