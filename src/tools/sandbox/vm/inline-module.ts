import * as nodeModule from 'node:module'
import { clip } from '../../../core/errors.ts'

/** The file name that the engine uses for a script written by a model. */
export const inlineName = 'script.js'

/**
 * The only module of a script written by a model. It wraps the code in a function, which is the default export, and removes types. It can't
 * import other modules.
 */
export class InlineModule {
  readonly #code: string
  #isSpoiled = false

  constructor(code: string) {
    this.#code = code
  }

  /** Whether removing types failed with an internal error. After such an error, it may fail for any other script in this thread. */
  get isSpoiled(): boolean {
    return this.#isSpoiled
  }

  resolve(_from: string, specifier: string): string {
    throw new Error(`"${clip(specifier)}" can't be imported: the script has only \`tools\` and the JavaScript language.`)
  }

  load(): string {
    // The function starts on the first line of the code, so that the line numbers stay the same.
    const written = `const main = async (tools) => {${this.#code}\n}\nexport { main as default }`
    return parses(this.#code) ? written : this.#withoutTypes(written)
  }

  /** Removes types from the code. If the code isn't TypeScript either, returns it unchanged, because the engine then reports the error. */
  #withoutTypes(written: string): string {
    const strip: ((code: string) => string) | undefined = nodeModule.stripTypeScriptTypes
    try {
      return strip?.(written) ?? written
    } catch (error) {
      this.#isSpoiled = !(error instanceof Error && 'code' in error && /_TYPESCRIPT_SYNTAX$/.test(String(error.code)))
      return written
    }
  }
}

const AsyncFunction: new (...parts: string[]) => unknown = Object.getPrototypeOf(async () => {}).constructor

/** Whether the code is valid JavaScript. The code is only parsed, not run. */
function parses(code: string): boolean {
  try {
    new AsyncFunction(code)
    return true
  } catch {
    return false
  }
}
