import { createRequire } from 'node:module'
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import { messageOf, show, ToolloopError } from '../errors.ts'
import type { JsonSchema } from './tool.ts'

/** A compiled schema: the problems of a value in words for the model, or none. */
export type Validator = (value: unknown) => string[]

const compiled = new WeakMap<JsonSchema, Validator>()
/** Enough to correct a call; more would only drown it. */
const mostProblems = 8

let instances: { draft7: Ajv; draft2020: Ajv } | undefined

function ajvFor(schema: JsonSchema): Ajv {
  if (instances === undefined) {
    // Loaded on first use: it is half of what importing this package may cost.
    const require = createRequire(import.meta.url)
    const { Ajv: Draft7 } = require('ajv') as typeof import('ajv')
    const { Ajv2020: Draft2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
    const { default: addFormats } = require('ajv-formats') as typeof import('ajv-formats')
    // `addUsedSchema: false`: two tools may carry schemas of the same `$id`.
    const options = { strict: false, allErrors: true, addUsedSchema: false, verbose: true, validateFormats: true, logger: false } as const
    instances = { draft7: new Draft7(options), draft2020: new Draft2020(options) as Ajv }
    addFormats.default(instances.draft7)
    addFormats.default(instances.draft2020)
  }
  return String(schema.$schema ?? '').includes('draft-07') ? instances.draft7 : instances.draft2020
}

/** Compiles a schema, once for each schema object. Throws `invalid_tool` for one that is not usable. */
export function compileSchema(schema: JsonSchema, toolName: string): Validator {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  let validate: ValidateFunction
  try {
    validate = ajvFor(schema).compile(schema)
  } catch (error) {
    throw new ToolloopError('invalid_tool', `Tool \`${toolName}\`: its parameters are not a usable JSON Schema: ${messageOf(error)}`, {
      cause: error,
    })
  }
  const validator: Validator = (value) => (validate(value) ? [] : describe(validate.errors ?? []))
  compiled.set(schema, validator)
  return validator
}

function describe(errors: ErrorObject[]): string[] {
  const lines = new Set<string>()
  for (const error of errors) lines.add(inWords(error))
  const all = [...lines]
  return all.length <= mostProblems ? all : [...all.slice(0, mostProblems), `and ${all.length - mostProblems} more`]
}

/** One violation as the model can act on it: the field, what was expected, what came. */
function inWords({ instancePath, keyword, params, message, data }: ErrorObject): string {
  const at = instancePath === '' ? 'arguments' : `\`${fieldName(instancePath)}\``
  switch (keyword) {
    case 'required':
      return `${at}: missing required \`${params.missingProperty}\``
    case 'additionalProperties':
      return `${at}: unknown \`${params.additionalProperty}\``
    case 'unevaluatedProperties':
      return `${at}: unknown \`${params.unevaluatedProperty}\``
    case 'type':
      return `${at}: expected ${[params.type].flat().join(' or ')}, got ${kindOf(data)}${data === null ? '' : ` ${show(data)}`}`
    case 'enum':
      return `${at}: expected one of ${show(params.allowedValues)}, got ${show(data)}`
    case 'const':
      return `${at}: expected ${show(params.allowedValue)}, got ${show(data)}`
    default:
      return `${at}: ${message ?? `violates \`${keyword}\``}, got ${show(data)}`
  }
}

/** `/items/0/na~1me` → `items[0].na/me`. */
function fieldName(pointer: string): string {
  let name = ''
  for (const raw of pointer.slice(1).split('/')) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    name += /^\d+$/.test(key) ? `[${key}]` : name === '' ? key : `.${key}`
  }
  return name
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
