import type { Ajv } from 'ajv'
import { loadAjv, loadAjv2020, loadAjvFormats } from './load-ajv.cjs'
import { readPattern } from './patterns/read-pattern.ts'

export type Dialect = 'draft7' | 'draft2020'

/** Who wrote the schemas: `format` is asserted in the application's own, and ignored in those of others. */
export type Origin = 'own' | 'foreign'

const instances: Record<Origin, Partial<Record<Dialect, Ajv>>> = { own: {}, foreign: {} }

/** Matches everything. Replaces a pattern that can't be read, which is therefore not checked. */
const anything = /(?:)/

/** The compiler for schemas of a dialect. Loaded on first use: loading it takes half of the time allowed for importing this package. */
export function openAjv(origin: Origin, dialect: Dialect): Ajv {
  instances[origin][dialect] ??= openNew(origin, dialect)
  return instances[origin][dialect]
}

/** Drops the compilers, each of which keeps something of every schema it has compiled. New ones are created on demand. */
export function forgetAjv(origin: Origin): void {
  instances[origin] = {}
}

/** Loads the compilers for the schemas of others, which takes about 50 ms the first time. */
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
    // Otherwise an inherited `constructor` or `toString` would count as present.
    ownProperties: true,
    allErrors: true,
    verbose: true,
    logger: false,
    validateFormats: origin === 'own',
    // `optimize` doubles the compile time, which matters more than the validation time.
    code: { optimize: false, regExp: Object.assign((pattern: string) => readPattern(pattern) ?? anything, { code: 'readPattern' }) },
  } as const
  const ajv = dialect === 'draft7' ? new (loadAjv().Ajv)(options) : (new (loadAjv2020().Ajv2020)(options) as Ajv)
  // Compiles the schema of the dialect before formats are added: with them, it would refuse patterns by their format.
  ajv.compile({})
  if (origin === 'foreign') return ajv
  loadAjvFormats().default.default(ajv)
  // The package's own check takes time that grows with the square of the text's length.
  ajv.addFormat('url', isWebUrl)
  return ajv
}

function isWebUrl(text: string): boolean {
  return /^(?:https?|ftp):\/\/[^\s/]/i.test(text) && !/\s/.test(text) && URL.canParse(text)
}
