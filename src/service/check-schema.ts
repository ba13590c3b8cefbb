import { createRequire } from 'node:module'
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js'
import { clip } from '../errors.ts'
import type { JsonSchema } from '../tools/tool.ts'
import type { Problem } from './http/problem.ts'

/** What is wrong with a value, by the place in it; nothing: it fits. */
export type SchemaCheck = (value: unknown) => Problem[]

let ajv: Ajv2020 | undefined
const compiled = new WeakMap<JsonSchema, SchemaCheck>()

/** Compiles a schema of this package's own (2020-12), once. All problems are told, and none of them quotes a value. */
export function compileCheck(schema: JsonSchema): SchemaCheck {
  const check = compiled.get(schema) ?? compile(schema)
  compiled.set(schema, check)
  return check
}

function compile(schema: JsonSchema): SchemaCheck {
  if (ajv === undefined) {
    // Loaded on first use, as everywhere: it takes longer than the rest of a start.
    const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
    ajv = new Ajv2020({ allErrors: true, strict: false, ownProperties: true, logger: false })
  }
  const { $schema: _, $id: __, ...rest } = schema
  const validate = ajv.compile(rest)
  return (value) => {
    if (validate(value)) return []
    const problems = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(inWords)
    validate.errors = null // They hold on to the value.
    return problems
  }
}

function inWords({ instancePath, keyword, params, message, schema }: ErrorObject): Problem {
  const at = (key: string) => `${instancePath}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
  switch (keyword) {
    case 'required':
      return { path: at(params.missingProperty), message: 'is missing' }
    case 'additionalProperties':
      return { path: at(clip(params.additionalProperty)), message: 'is not known' }
    case 'type':
      return { path: instancePath, message: `must be of type ${[params.type].flat().join(' or ')}` }
    case 'enum':
      return { path: instancePath, message: `must be one of ${params.allowedValues.join(', ')}` }
    case 'const':
      return { path: instancePath, message: `must be ${JSON.stringify(schema ?? params.allowedValue)}` }
    case 'false schema':
      return { path: instancePath, message: 'is not supported' }
    default:
      return { path: instancePath, message: message ?? 'does not fit' }
  }
}

/** The problems as one sentence. */
export function describeProblems(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) => `${path || '/'} ${message}`).join('; ')
}
