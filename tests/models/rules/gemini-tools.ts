import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'
import { refuseGeminiJsonSchema } from './tool-schemas.ts'

/** The reason why Gemini would refuse a request's tools or their schemas. Source: https://ai.google.dev/api/caching#Tool */
export function refuseGeminiTools({ tools, toolConfig }: JsonObject): string | undefined {
  const all = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  const names = new Set<string>()
  for (const [at, { functionDeclarations }] of all.entries()) {
    for (const [index, declaration] of (Array.isArray(functionDeclarations) ? functionDeclarations : []).entries()) {
      const where = `tools[${at}].function_declarations[${index}]`
      const problem = isJsonObject(declaration) ? refuseDeclaration(declaration, where, names) : `Invalid value at '${where}'`
      if (problem !== undefined) return problem
    }
  }
  return refuseChoice(toolConfig, names)
}

const declarationFields = new Set([
  'name',
  'description',
  'behavior',
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
])

function refuseDeclaration(declaration: JsonObject, where: string, names: Set<string>): string | undefined {
  const { name, parameters, parametersJsonSchema } = declaration
  const unknown = unknownName(declaration, declarationFields, where)
  if (unknown !== undefined) return unknown
  if (typeof name !== 'string' || !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name)) {
    return `* GenerateContentRequest.${where}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`
  }
  if (names.has(name)) return `Duplicate function declaration found: ${name}`
  names.add(name)
  if (parameters !== undefined && parametersJsonSchema !== undefined)
    return `${where}: only one of parameters and parameters_json_schema may be set`
  if (isJsonObject(parametersJsonSchema)) {
    const problem = refuseGeminiJsonSchema(parametersJsonSchema)
    return problem && `${where}.parameters_json_schema: ${problem}`
  }
  if (parameters === undefined) return undefined
  if (!isJsonObject(parameters) || parameters.type !== 'OBJECT') return `${where}.parameters: schema must be of type OBJECT`
  return refuseSchema(parameters, `${where}.parameters`)
}

/** https://ai.google.dev/api/caching#Schema */
const schemaFields = new Set([
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'maxItems', 'minItems', 'properties', 'required', 'minProperties'],
  ...[
    'maxProperties',
    'minLength',
    'maxLength',
    'pattern',
    'example',
    'anyOf',
    'propertyOrdering',
    'default',
    'items',
    'minimum',
    'maximum',
  ],
])
const types = new Set(['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'])
const formats: Readonly<Record<string, readonly string[]>> = {
  STRING: ['enum', 'date-time'],
  NUMBER: ['float', 'double'],
  INTEGER: ['int32', 'int64'],
}

function refuseSchema(schema: Json, where: string): string | undefined {
  if (!isJsonObject(schema)) return `Invalid value at '${where}'`
  const { type, format, items, properties, required, anyOf } = schema
  const unknown = unknownName(schema, schemaFields, where)
  if (unknown !== undefined) return unknown
  if (Array.isArray(anyOf)) return firstOf(anyOf, (one, at) => refuseSchema(one, `${where}.any_of[${at}]`))
  if (typeof type !== 'string' || !types.has(type))
    return `Invalid value at '${where}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "${String(type)}"`
  if (typeof format === 'string' && formats[type]?.includes(format) !== true)
    return `* ${where}.format: only specific formats are supported for ${type} type`
  if (
    schema.enum !== undefined &&
    (type !== 'STRING' || !Array.isArray(schema.enum) || schema.enum.some((value) => typeof value !== 'string' || value === ''))
  ) {
    return `* ${where}.enum: only allowed for STRING type, and cannot be empty`
  }
  if (type === 'ARRAY') return items === undefined ? `* ${where}.items: missing field.` : refuseSchema(items, `${where}.items`)
  if (type !== 'OBJECT' || !isJsonObject(properties)) return undefined
  const names = Object.keys(properties)
  if (names.length === 0) return `* ${where}.properties: should be non-empty for OBJECT type`
  const stray = (Array.isArray(required) ? required : []).find((name) => !names.includes(String(name)))
  if (stray !== undefined) return `* ${where}.required: property is not defined: ${String(stray)}`
  return firstOf(Object.entries(properties), ([name, one]) => refuseSchema(one, `${where}.properties[${name}]`))
}

function refuseChoice(config: Json | undefined, names: ReadonlySet<string>): string | undefined {
  const calling = isJsonObject(config) ? config.functionCallingConfig : undefined
  if (!isJsonObject(calling)) return undefined
  if (names.size === 0) return 'Function calling config is set without function_declarations.'
  const { mode, allowedFunctionNames } = calling
  if (!['AUTO', 'ANY', 'NONE', 'VALIDATED'].includes(String(mode)))
    return `Invalid value at 'tool_config.function_calling_config.mode', "${String(mode)}"`
  if (!Array.isArray(allowedFunctionNames)) return undefined
  if (mode === 'AUTO' || mode === 'NONE') return 'Allowed function names should only be set when function calling mode is ANY or VALIDATED.'
  const stray = allowedFunctionNames.find((name) => !names.has(String(name)))
  return stray === undefined ? undefined : `Allowed function name ${String(stray)} is not declared.`
}

export function unknownName(value: JsonObject, known: ReadonlySet<string>, where: string): string | undefined {
  const name = Object.keys(value).find((key) => !known.has(key))
  return name === undefined ? undefined : `Invalid JSON payload received. Unknown name "${name}" at '${where}': Cannot find field.`
}

function firstOf<T>(list: readonly T[], find: (one: T, at: number) => string | undefined): string | undefined {
  for (const [at, one] of list.entries()) {
    const found = find(one, at)
    if (found !== undefined) return found
  }
  return undefined
}
