import * as nodeModule from 'node:module'
import { clip } from '../../../core/errors.ts'

/** What the engine calls a script that a model has written. */
export const inlineName = 'script.js'

/** The one module of such a script: its code in the function that is its default export, without types. It can import nothing. */
export class InlineModule {
  readonly #code: string
  #isSpoiled = false

  constructor(code: string) {
    this.#code = code
  }

  /** What takes types away broke down, and may go on to break down over any other script in this thread. */
  get isSpoiled(): boolean {
    return this.#isSpoiled
  }

  resolve(_from: string, specifier: string): string {
    throw new Error(`"${clip(specifier)}" can't be imported: the script has only \`tools\` and the JavaScript language.`)
  }

  load(): string {
    // On one line with the first of the code, so that lines keep their numbers.
    const written = `const main = async (tools) => {${this.#code}\n}\nexport { main as default }`
    return parses(this.#code) ? written : this.#withoutTypes(written)
  }

  /** The code as it is if it is no TypeScript either: the engine says what is wrong with it. */
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

/** Whether the code is JavaScript. It is only parsed. */
function parses(code: string): boolean {
  try {
    new AsyncFunction(code)
    return true
  } catch {
    return false
  }
}
