import { readFileSync, realpathSync, statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, extname, isAbsolute, join, posix, sep } from 'node:path'
import { clip } from '../../../core/errors.ts'
import { leadsOutside } from '../../builtin/files/links.ts'

const mostBytes = 1_048_576
const mostPathCharacters = 4_096

/**
 * The modules that a script in the VM may import. These are the files of its Skill, by relative path. Errors are worded for the script's
 * author and a model.
 */
export class ScriptModules {
  readonly #folder: string
  #isSpoiled = false

  constructor(folder: string) {
    this.#folder = realpathSync(folder)
  }

  /** Whether removing the types of a module has crashed. After a crash, it may crash for every other module in this thread. */
  get isSpoiled(): boolean {
    return this.#isSpoiled
  }

  /** Returns the path, relative to the folder, of an import in the module `from`. */
  resolve(from: string, specifier: string): string {
    if (/^\.\.?\//.test(specifier) && specifier.length <= mostPathCharacters) return posix.normalize(posix.join(dirname(from), specifier))
    throw new Error(
      `"${clip(specifier)}" can't be imported: the VM has only the Skill's own files, by relative path. ` +
        'Declare a script that needs Node.js or packages with `runtime: node`.',
    )
  }

  /** Returns the source of a module as JavaScript. */
  load(path: string): string {
    const source = this.#read(path)
    // The JSON is parsed in the VM, where `__proto__` is then an ordinary key.
    if (extname(path) === '.json') return `const value = JSON.parse(${JSON.stringify(source)})\nexport { value as default }`
    return ['.ts', '.mts'].includes(extname(path)) ? this.#withoutTypes(source, path) : source
  }

  /**
   * Removes types. Throws for TypeScript syntax that is more than types, such as enums. See
   * https://nodejs.org/api/module.html#modulestriptypescripttypescode-options
   */
  #withoutTypes(source: string, path: string): string {
    const strip: ((code: string) => string) | undefined = nodeModule.stripTypeScriptTypes
    if (strip === undefined)
      throw new Error(`"${clip(path)}" is TypeScript, which this version of Node.js can't run here; write it as JavaScript`)
    try {
      return strip(source)
    } catch (error) {
      if (error instanceof Error && 'code' in error && /_TYPESCRIPT_SYNTAX$/.test(String(error.code))) throw error
      this.#isSpoiled = true
      throw new Error(`"${clip(path)}" can't be read as TypeScript; it may be nested too deeply`)
    }
  }

  #read(path: string): string {
    // The path is refused before the disk is read, so that the error reveals nothing about files outside.
    if (path === '..' || path.startsWith('../') || isAbsolute(path)) throw outside(path)
    const absolute = join(this.#folder, path)
    let real: string
    try {
      real = realpathSync(absolute)
    } catch {
      throw leadsOutside(this.#folder, absolute) ? outside(path) : new Error(`"${clip(path)}" does not exist`)
    }
    if (!real.startsWith(this.#folder + sep)) throw outside(path)
    const stats = statSync(real)
    if (!stats.isFile() || stats.size > mostBytes) throw new Error(`"${clip(path)}" is not a file of at most ${mostBytes} bytes`)
    return readFileSync(real, 'utf8')
  }
}

function outside(path: string): Error {
  return new Error(`"${clip(path)}" is outside of the Skill's folder`)
}
