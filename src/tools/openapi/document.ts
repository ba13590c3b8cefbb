import { readFile } from 'node:fs/promises'
import { messageOf, rethrow, show, ToolloopError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'

export interface OpenApiDocument {
  root: JsonObject
  /** Whether the document uses OpenAPI 3.0, in which schemas differ from JSON Schema. */
  is30: boolean
  /**
   * Returns the target of a reference, or `value` itself if it is not a reference. Throws `invalid_option` for a reference that is broken
   * or circular, or that leads outside the document.
   */
  resolve(value: unknown): unknown
}

/**
 * Reads an OpenAPI document: an object, its text as JSON or YAML, or the path of a file. Rejects with `invalid_option` for an invalid
 * document, and with `missing_dependency` if the package that resolves references is not installed.
 */
export async function loadDocument(source: string | URL | object): Promise<OpenApiDocument> {
  const root = await read(source)
  const version = typeof root.openapi === 'string' ? root.openapi : undefined
  if (version === undefined || !/^3\.[01](\.|$)/.test(version)) {
    const got = root.openapi ?? (root.swagger === undefined ? undefined : `swagger ${root.swagger}`)
    throw problem(`Expected an OpenAPI document of version 3.0 or 3.1, got \`${show(got)}\``)
  }
  if (!isJsonObject(root.paths ?? {})) throw problem('Expected `paths` of the OpenAPI document to be a mapping')
  const { $RefParser } = await loadRefParser()
  // The document is copied, because the package may change it.
  const refs = await new $RefParser().resolve(structuredClone(root), { resolve: { external: false } })
  return {
    root,
    is30: version.startsWith('3.0'),
    resolve: (value) => {
      if (!isReference(value)) return value
      const { $ref } = value
      if (!$ref.startsWith('#'))
        throw problem(`Expected only references within the OpenAPI document, got ${show($ref)}; other references are not followed`)
      let found: unknown
      try {
        found = refs.get($ref)
      } catch (error) {
        throw problem(`The reference ${show($ref)} leads nowhere: ${messageOf(error)}`)
      }
      if (isReference(found)) throw problem(`The reference ${show($ref)} leads in a circle`)
      return found
    },
  }
}

export function isReference(value: unknown): value is { $ref: string } {
  return isJsonObject(value) && typeof value.$ref === 'string'
}

export function problem(message: string, cause?: unknown): ToolloopError {
  return new ToolloopError('invalid_option', message, cause === undefined ? {} : { cause })
}

async function read(source: string | URL | object): Promise<JsonObject> {
  const content: unknown = typeof source === 'string' || source instanceof URL ? await parse(await textOf(source), source) : source
  if (!isJsonObject(content)) throw problem(`Expected an OpenAPI document, got \`${show(content)}\``)
  return content
}

/** A text with several lines or a brace at the start is the document itself. Any other text is a path. */
async function textOf(source: string | URL): Promise<string> {
  if (typeof source === 'string' && (source.includes('\n') || source.trimStart().startsWith('{'))) return source
  if (/^https?:/i.test(String(source))) {
    throw problem(`Expected an OpenAPI document or the path of one, got ${show(String(source))}: fetch it, look at it, and give its text`)
  }
  return readFile(source, 'utf8').catch((error: unknown) => {
    throw problem(`The OpenAPI document ${show(String(source))} can't be read: ${messageOf(error)}`, error)
  })
}

async function parse(text: string, source: string | URL): Promise<unknown> {
  const { parse: parseYaml } = await import('../../core/yaml.ts')
  try {
    // JSON is also valid YAML, but parsing it as YAML is far slower.
    return text.trimStart().startsWith('{') ? JSON.parse(text) : parseYaml(text)
  } catch (error) {
    const name = text === source ? 'The OpenAPI document' : `The OpenAPI document ${show(String(source))}`
    throw problem(`${name} is neither JSON nor YAML: ${messageOf(error)}`, error)
  }
}

async function loadRefParser(): Promise<typeof import('@apidevtools/json-schema-ref-parser')> {
  try {
    return await import('@apidevtools/json-schema-ref-parser').catch(rethrow)
  } catch (cause) {
    const name = '@apidevtools/json-schema-ref-parser'
    const message = `OpenAPI tools need the package \`${name}\`: npm install ${name}`
    throw new ToolloopError('missing_dependency', message, { cause })
  }
}
