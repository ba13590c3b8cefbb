import { messageOf } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { type OpenApiDocument, problem } from './document.ts'
import type { ParameterStyle, Place } from './serialize.ts'

/** The HTTP method of an operation. */
export type Method = 'get' | 'head' | 'put' | 'delete' | 'post' | 'patch'
export const methods: readonly Method[] = ['get', 'head', 'put', 'delete', 'post', 'patch']

/** An operation of a document, with its references resolved. */
export interface Operation {
  /** The `operationId`, or the method and path. */
  id: string
  method: Method
  /** The path, with `{parameters}`. */
  path: string
  tags: string[]
  description: string
  parameters: (ParameterStyle & { schema: Json | undefined; description: string; isRequired: boolean })[]
  body: OperationBody | undefined
  /** The alternatives for authentication, each a list of names of security schemes. Empty if no authentication is needed. */
  security: string[][]
  /** Undefined if the operation uses the servers of the document. */
  servers: Json | undefined
}

interface OperationBody {
  mediaType: string
  form: 'json' | 'urlencoded' | 'text'
  schema: Json | undefined
  description: string
  isRequired: boolean
}

/** Headers that do not become arguments: the specification ignores them, or they belong to the connection. */
const notParameters = /^(accept|content-type|authorization|host|connection|content-length|transfer-encoding|expect|upgrade|proxy-.*)$/i

/** Returns all operations, in the order of the document. Leaves out operations that can't be used, and reports them to `onProblem`. */
export function listOperations(document: OpenApiDocument, onProblem: (operation: string, reason: string) => void): Operation[] {
  const operations: Operation[] = []
  for (const [path, given] of Object.entries(document.root.paths ?? {})) {
    const item = document.resolve(given)
    if (!isJsonObject(item)) continue
    for (const method of methods) {
      const operation = item[method]
      if (!isJsonObject(operation)) continue
      const id = typeof operation.operationId === 'string' && operation.operationId !== '' ? operation.operationId : `${method} ${path}`
      try {
        operations.push(readOperation(document, { id, method, path, item, operation }))
      } catch (error) {
        onProblem(id, messageOf(error))
      }
    }
  }
  return operations
}

interface GivenOperation {
  id: string
  method: Method
  path: string
  item: JsonObject
  operation: JsonObject
}

function readOperation(document: OpenApiDocument, { id, method, path, item, operation }: GivenOperation): Operation {
  // Parameters of the operation override parameters of its path.
  const all = [...parametersOf(document, item), ...parametersOf(document, operation)]
  const parameters = [...new Map(all.map((parameter) => [`${parameter.place} ${parameter.name}`, parameter])).values()]
  for (const [, name] of path.matchAll(/\{([^{}]+)\}/g)) {
    if (parameters.some((parameter) => parameter.place === 'path' && parameter.name === name)) continue
    throw problem(`Expected the path ${path} to have a parameter \`${name}\``)
  }
  return {
    id,
    method,
    path,
    tags: Array.isArray(operation.tags) ? operation.tags.map(String) : [],
    description: describe(operation, method, path),
    parameters,
    body: bodyOf(document, operation),
    security: securityOf(operation.security ?? document.root.security),
    servers: operation.servers ?? item.servers,
  }
}

/** Returns the tool's description, limited to the 1,024 characters that some providers accept. */
function describe({ summary, description }: JsonObject, method: Method, path: string): string {
  const said = [summary, description].filter((text): text is string => typeof text === 'string' && text.trim() !== '')
  const place = `${method.toUpperCase()} ${path}`
  const text = [...new Set(said.map((part) => part.trim())), place].join('\n\n')
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - place.length - 3)}…\n\n${place}`
}

const maxCharacters = 1024

function parametersOf(document: OpenApiDocument, { parameters = [] }: JsonObject): Operation['parameters'] {
  if (!Array.isArray(parameters)) throw problem('Expected `parameters` to be a list')
  return parameters.flatMap((given) => {
    const parameter = document.resolve(given)
    if (!isJsonObject(parameter) || typeof parameter.name !== 'string') throw problem('Expected a parameter to have a name')
    const { name, in: place, schema, content, description, required } = parameter
    if (place !== 'path' && place !== 'query' && place !== 'header' && place !== 'cookie') return []
    if (place === 'header' && notParameters.test(name)) return []
    const style = typeof parameter.style === 'string' ? parameter.style : defaultStyles[place]
    return [
      {
        name,
        place,
        style,
        explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form',
        isJson: content !== undefined,
        allowReserved: parameter.allowReserved === true,
        schema: isJsonObject(content) ? schemaOf(Object.values(content)[0]) : schema,
        description: typeof description === 'string' ? description : '',
        isRequired: required === true || place === 'path',
      },
    ]
  })
}

const defaultStyles: Readonly<Record<Place, string>> = { path: 'simple', query: 'form', header: 'simple', cookie: 'form' }

function schemaOf(mediaType: Json | undefined): Json | undefined {
  return isJsonObject(mediaType) ? mediaType.schema : undefined
}

/** Returns the body with the best supported media type. Throws if no media type is supported. */
function bodyOf(document: OpenApiDocument, { requestBody }: JsonObject): OperationBody | undefined {
  const body = document.resolve(requestBody)
  if (!isJsonObject(body) || !isJsonObject(body.content)) return undefined
  const description = typeof body.description === 'string' ? body.description : ''
  for (const [form, wanted] of bodyForms) {
    const found = Object.entries(body.content).find(([mediaType]) => wanted.test(mediaType))
    if (found === undefined) continue
    const [mediaType, media] = found
    return {
      mediaType: mediaType.replace('*/*', 'application/json'),
      form,
      schema: schemaOf(media),
      description,
      isRequired: body.required === true,
    }
  }
  if (body.required !== true) return undefined
  throw problem(`Expected a body that can be written as JSON, a form or text, got ${Object.keys(body.content).join(', ')}`)
}

const bodyForms: [OperationBody['form'], RegExp][] = [
  ['json', /^application\/(json|[\w.+-]+\+json)\b|^\*\/\*/i],
  ['urlencoded', /^application\/x-www-form-urlencoded\b/i],
  ['text', /^text\/(?!\*)/i],
]

function securityOf(given: Json | undefined): string[][] {
  return Array.isArray(given) ? given.filter(isJsonObject).map((requirement) => Object.keys(requirement)) : []
}
