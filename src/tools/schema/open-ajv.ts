import type { Ajv } from 'ajv'
import { loadAjv, loadAjv2020, loadAjvFormats } from './load-ajv.cjs'
import { readPattern } from './patterns/read-pattern.ts'

export type Dialect = 'draft7' | 'draft2020'

/** Who wrote a schema: the application's developer (`own`) or somebody else (`foreign`). `format` is validated only in `own` schemas. */
export type Origin = 'own' | 'foreign'

const instances: Record<Origin, Partial<Record<Dialect, Ajv>>> = { own: {}, foreign: {} }

/** Replaces a pattern that can't be read. */
const anything = /(?:)/

/** Returns the compiler for a dialect. Loaded on first use, because loading takes long. */
export function openAjv(origin: Origin, dialect: Dialect): Ajv {
  instances[origin][dialect] ??= openNew(origin, dialect)
  return instances[origin][dialect]
}

/** Drops the compilers, because each keeps data of every schema that it has compiled. */
export function forgetAjv(origin: Origin): void {
  instances[origin] = {}
}

/** Loads the compilers for `foreign` schemas. The first time, this takes about 50 ms. */
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
    // Inherited properties such as `constructor` don't count as present.
    ownProperties: true,
    allErrors: true,
    verbose: true,
    logger: false,
    validateFormats: origin === 'own',
    // `optimize` would double the compile time.
    code: { optimize: false, regExp: Object.assign((pattern: string) => readPattern(pattern) ?? anything, { code: 'readPattern' }) },
  } as const
  const ajv = dialect === 'draft7' ? new (loadAjv().Ajv)(options) : (new (loadAjv2020().Ajv2020)(options) as Ajv)
  // Compiles the meta-schema before the format `regex` is added, because that format refuses some usable patterns.
  ajv.compile({})
  if (origin === 'foreign') return ajv
  loadAjvFormats().default.default(ajv)
  // The URL check of `ajv-formats` takes quadratic time.
  ajv.addFormat('url', isWebUrl)
  return ajv
}

function isWebUrl(text: string): boolean {
  return /^(?:https?|ftp):\/\/[^\s/]/i.test(text) && !/\s/.test(text) && URL.canParse(text)
}
