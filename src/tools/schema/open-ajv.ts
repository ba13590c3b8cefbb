import type { Ajv } from 'ajv'
import { loadAjv, loadAjv2020, loadAjvFormats } from './load-ajv.cjs'
import { readPattern } from './patterns/read-pattern.ts'

export type Dialect = 'draft7' | 'draft2020'

/** Whose schemas they are: `format` is asserted in the program's own, and says nothing in those that come from elsewhere. */
export type Origin = 'own' | 'foreign'

const instances: Record<Origin, Partial<Record<Dialect, Ajv>>> = { own: {}, foreign: {} }

/** Matches everything: what can't be read is not checked. */
const anything = /(?:)/

/** The compiler for schemas of a dialect. Loaded on first use: it is half of what importing this package may cost. */
export function openAjv(origin: Origin, dialect: Dialect): Ajv {
  instances[origin][dialect] ??= openNew(origin, dialect)
  return instances[origin][dialect]
}

/** Drops the compilers, because each keeps a piece of every schema it has compiled. New ones are opened when they are needed. */
export function forgetAjv(origin: Origin): void {
  instances[origin] = {}
}

/** Loads and opens the compilers for schemas from elsewhere, which takes some 50 ms the first time. */
export function openForeignAjv(): void {
  if (instances.foreign.draft2020 !== undefined && instances.foreign.draft7 !== undefined) return
  loadAjvFormats()
  openAjv('foreign', 'draft2020')
  openAjv('foreign', 'draft7')
}

function openNew(origin: Origin, dialect: Dialect): Ajv {
  const options = {
    strict: false,
    strictNumbers: true,
    // Else an inherited `constructor` or `toString` would count as given.
    ownProperties: true,
    allErrors: true,
    verbose: true,
    logger: false,
    validateFormats: origin === 'own',
    // `optimize` halves the time to compile, which counts more than the time to validate.
    code: { optimize: false, regExp: Object.assign((pattern: string) => readPattern(pattern) ?? anything, { code: 'readPattern' }) },
  } as const
  const ajv = dialect === 'draft7' ? new (loadAjv().Ajv)(options) : (new (loadAjv2020().Ajv2020)(options) as Ajv)
  // Compiles the schema of the dialect, which would refuse patterns by their format if there were formats by then.
  ajv.compile({})
  if (origin === 'foreign') return ajv
  loadAjvFormats().default.default(ajv)
  // Theirs takes a time that grows with the square of the text's length.
  ajv.addFormat('url', isWebUrl)
  return ajv
}

function isWebUrl(text: string): boolean {
  return /^(?:https?|ftp):\/\/[^\s/]/i.test(text) && !/\s/.test(text) && URL.canParse(text)
}
