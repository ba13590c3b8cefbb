import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { clip } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { loadAjv2020 } from '../../tools/schema/load-ajv.cjs'
import type { JsonSchema } from '../../tools/tool.ts'
import { type Problem, pointerTo } from './problem.ts'

/**
 * Returns the first problem of a value, or all of them with `all`. Returns an empty list if the value is valid. Messages never quote the
 * value. Use `all` only for small values: a large value may have a problem in every item.
 */
export type SchemaCheck = (value: unknown, options?: { all?: boolean }) => Problem[]

interface Instances {
  first: Ajv2020
  all: Ajv2020
}

let instances: Instances | undefined
const compiled = new WeakMap<JsonSchema, SchemaCheck>()

/** Returns the check of one of this package's own schemas (JSON Schema 2020-12). The schema is compiled when the first value is checked. */
export function checkOf(schema: JsonSchema): SchemaCheck {
  return (value, options) => {
    const check = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, check)
    return check(value, options)
  }
}

/**
 * Like `checkOf`, for an object with a long schema. Compiles only the schemas of the fields that the value contains. The fields must not
 * depend on each other.
 */
export function checkByField({ properties, $defs, ...rest }: JsonSchema): SchemaCheck {
  const fields = Object.entries(isJsonObject(properties) ? properties : {})
  const whole = checkOf({ ...rest, properties: Object.fromEntries(fields.map(([name]) => [name, true])) })
  const checks = new Map(fields.map(([name, schema]) => [name, checkOf({ ...(isJsonObject(schema) ? schema : {}), $defs })]))
  return (value, options = {}) => {
    const problems = whole(value, options)
    if (!isJsonObject(value)) return problems
    for (const [name, check] of checks) {
      if (problems.length > 0 && options.all !== true) return problems
      if (!Object.hasOwn(value, name)) continue
      for (const { path, ...problem } of check(value[name], options)) problems.push({ ...problem, path: `${pointerTo('', name)}${path}` })
    }
    return problems
  }
}

function openAjv(options: { allErrors: boolean }): Ajv2020 {
  // Ajv is loaded on first use, because loading it takes longer than the rest of the start.
  const { Ajv2020 } = loadAjv2020()
  // The schemas are not validated here, because compiling the meta-schema is slow. A test validates them.
  return new Ajv2020({ ...options, strict: false, ownProperties: true, logger: false, verbose: true, validateSchema: false })
}

function compile(schema: JsonSchema): SchemaCheck {
  instances ??= { first: openAjv({ allErrors: false }), all: openAjv({ allErrors: true }) }
  const { first, all } = instances
  const { $schema: _, $id: __, ...rest } = schema
  const findFirst = first.compile(rest)
  let findAll: ValidateFunction | undefined
  const problemsBy = (validate: ValidateFunction, value: unknown): Problem[] => {
    if (validate(value)) return []
    const problems = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if').map((error, at) => inWords(error, at < mostHints))
    validate.errors = null // The errors would keep the value in memory.
    return problems
  }
  return (value, options = {}) => {
    const problems = problemsBy(findFirst, value)
    if (problems.length === 0 || options.all !== true) return problems
    findAll ??= all.compile(rest)
    return problemsBy(findAll, value)
  }
}

/** Maximum number of problems that get a "did you mean" suggestion. Finding a suggestion takes longer than finding the problem. */
const mostHints = 100

function inWords({ instancePath, keyword, params, message, schema, parentSchema }: ErrorObject, withHint: boolean): Problem {
  switch (keyword) {
    case 'required':
      return {
        path: pointerTo(instancePath, params.missingProperty),
        message: `is missing${whatItIs(params.missingProperty, parentSchema)}`,
      }
    case 'additionalProperties':
      return {
        path: pointerTo(instancePath, clip(params.additionalProperty)),
        message: `is unknown${withHint ? didYouMean(params.additionalProperty, namesIn(parentSchema?.properties)) : ''}`,
      }
    case 'type':
      return { path: instancePath, message: `must be of type ${[params.type].flat().join(' or ')}` }
    case 'enum':
      return { path: instancePath, message: `must be one of ${params.allowedValues.map(String).join(', ')}` }
    case 'const':
      return { path: instancePath, message: `must be ${JSON.stringify(schema ?? params.allowedValue)}` }
    case 'not':
    case 'false schema':
      return { path: instancePath, message: 'is not supported' }
    default:
      return { path: instancePath, message: message ?? 'is invalid' }
  }
}

function whatItIs(name: string, schema: ErrorObject['parentSchema']): string {
  const description: unknown = schema?.properties?.[name]?.description
  return typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
}

function namesIn(properties: unknown): string[] {
  return isJsonObject(properties) ? Object.keys(properties) : []
}

/** Describes the problems in one sentence. */
export function describeProblems(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) => `${path || '/'} ${message}`).join('; ')
}
