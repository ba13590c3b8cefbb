import type { Ajv } from 'ajv'
import { loadAjv, loadAjv2020, loadAjvFormats } from './load-ajv.cjs'
import { readPattern } from './patterns/read-pattern.ts'

export type Dialect = 'draft7' | 'draft2020'

/** The origin of schemas. In the application's own schemas, `format` is validated. In schemas from other sources, it is ignored. */
export type Origin = 'own' | 'foreign'

const instances: Record<Origin, Partial<Record<Dialect, Ajv>>> = { own: {}, foreign: {} }

/** Matches every text. It replaces a pattern that can't be read, so that this pattern is not checked. */
const anything = /(?:)/

/**
 * Returns the compiler for schemas of a dialect. It is loaded on first use, because loading it takes half of the time allowed for importing
 * this package.
 */
export function openAjv(origin: Origin, dialect: Dialect): Ajv {
  instances[origin][dialect] ??= openNew(origin, dialect)
  return instances[origin][dialect]
}

/**
 * Drops the compilers to free memory, because each compiler keeps some data of every schema that it has compiled. New compilers are created
 * on demand.
 */
export function forgetAjv(origin: Origin): void {
  instances[origin] = {}
}

/** Loads the compilers for schemas from other sources. The first time, this takes about 50 ms. */
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
    // Without this option, the inherited properties `constructor` and `toString` would count as present.
    ownProperties: true,
    allErrors: true,
    verbose: true,
    logger: false,
    validateFormats: origin === 'own',
    // `optimize` is off, because it doubles the compile time, which matters more than the validation time.
    code: { optimize: false, regExp: Object.assign((pattern: string) => readPattern(pattern) ?? anything, { code: 'readPattern' }) },
  } as const
  const ajv = dialect === 'draft7' ? new (loadAjv().Ajv)(options) : (new (loadAjv2020().Ajv2020)(options) as Ajv)
  // Compiles the meta-schema of the dialect before formats are added. With formats, the meta-schema would refuse patterns that don't match
  // the format `regex`.
  ajv.compile({})
  if (origin === 'foreign') return ajv
  loadAjvFormats().default.default(ajv)
  // Replaces the package's own check, whose time grows with the square of the text's length.
  ajv.addFormat('url', isWebUrl)
  return ajv
}

function isWebUrl(text: string): boolean {
  return /^(?:https?|ftp):\/\/[^\s/]/i.test(text) && !/\s/.test(text) && URL.canParse(text)
}
