import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fitArguments } from '../../../src/tools/arguments.ts'
import { type OpenApiOptions, openApiTools } from '../../../src/tools/openapi/index.ts'
import { ToolRegistry } from '../../../src/tools/registry.ts'
import { parametersOf } from '../../../src/tools/schema/schema.ts'
import type { AnyTool } from '../../../src/tools/tool.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callText } from '../mcp/open-tools.ts'
import { documentOf, startApi } from './api-server.ts'

const yaml = `
openapi: 3.0.3
info: { title: Pets, version: '1' }
servers: [{ url: 'https://{host}/v1', variables: { host: { default: pets.example.com } } }]
paths:
  /pets:
    parameters: [{ $ref: '#/components/parameters/Limit' }]
    get: { operationId: list pets, tags: [read], summary: Lists pets., description: All of them. }
    post:
      operationId: addPet
      tags: [write]
      requestBody: { $ref: '#/components/requestBodies/Pet' }
  /pets/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
    delete: { tags: [write] }
    put: { operationId: setPet, parameters: [{ name: id, in: path, required: true, schema: { type: string } }] }
    patch: { operationId: upload, requestBody: { required: true, content: { image/png: {} } } }
components:
  parameters:
    Limit: { name: 'page[limit]', in: query, description: How many., schema: { type: integer, minimum: 0, exclusiveMinimum: true } }
  requestBodies:
    Pet: { required: true, content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } } }
  schemas:
    Pet:
      type: object
      required: [id, name]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, nullable: true, example: Rex, xml: { name: n } }
        kind: { type: string, enum: [cat, dog], nullable: true }
        mother: { $ref: '#/components/schemas/Pet' }
        secret: { type: string, format: password }
        $ref: { type: string }
`

async function read(source: string | object, options: OpenApiOptions = {}) {
  const { logger, records } = recordingLogger()
  const tools = await openApiTools(source, { logger, ...options })
  return { tools, names: tools.map(({ name }) => name), warnings: records.filter(({ level }) => level === 'warn') }
}

describe('openApiTools', () => {
  it('returns names, descriptions, effects, and one schema with all arguments', async () => {
    const { tools, names, warnings } = await read(yaml)
    expect(names).toEqual(['list_pets', 'addPet', 'setPet', 'delete_pets_id_'])
    expect(tools.map(({ effect }) => effect)).toEqual(['read', 'unsafe', 'idempotent', 'idempotent'])
    expect(tools[0]).toMatchObject({
      description: 'Lists pets.\n\nAll of them.\n\nGET /pets',
      parameters: {
        properties: { page_limit: { type: 'integer', exclusiveMinimum: 0, description: 'How many.' } },
        additionalProperties: false,
      },
    })
    expect(tools[1]?.secrets).toEqual(['secret'])
    expect(tools[1]?.parameters).toEqual({
      type: 'object',
      properties: {
        page_limit: { type: 'integer', exclusiveMinimum: 0, description: 'How many.' },
        name: { type: ['string', 'null'] },
        kind: { type: ['string', 'null'], enum: ['cat', 'dog', null] },
        mother: { $ref: '#/$defs/Pet' },
        secret: { type: 'string', format: 'password' },
        ref: { type: 'string' },
      },
      required: ['name'],
      additionalProperties: false,
      $defs: {
        Pet: {
          type: 'object',
          required: ['name'],
          properties: {
            name: { type: ['string', 'null'] },
            kind: { type: ['string', 'null'], enum: ['cat', 'dog', null] },
            mother: { $ref: '#/$defs/Pet' },
            secret: { type: 'string', format: 'password' },
            $ref: { type: 'string' },
          },
        },
      },
    })
    // The operation's own parameter replaces that of its path.
    expect(tools[2]?.parameters).toMatchObject({ properties: { id: { type: 'string' } }, required: ['id'] })
    expect(warnings).toMatchObject([{ fields: { operation: 'upload', reason: expect.stringMatching(/got image\/png/) } }])
    expect(new ToolRegistry(tools).size).toBe(4)
  })

  it('accepts an object, JSON and a file', async () => {
    const { names } = await read(yaml)
    const object = documentOf({ '/x': { get: { operationId: 'x' } } })
    const before = structuredClone(object)
    expect((await read(object)).names).toEqual(['x'])
    expect(object).toEqual(before)
    expect((await read(JSON.stringify(object))).names).toEqual(['x'])
    const folder = await tempFolder()
    await writeFile(join(folder, 'api.yaml'), yaml)
    expect((await read(join(folder, 'api.yaml'))).names).toEqual(names)
  })

  it('filters by operation, tag and method; adds a prefix and approvals', async () => {
    const names = async (options: OpenApiOptions) => (await read(yaml, options)).names
    expect(await names({ operations: ['addPet', 'delete /pets/{id}'] })).toEqual(['addPet', 'delete_pets_id_'])
    expect(await names({ tags: ['write'], methods: ['post', 'get'] })).toEqual(['addPet'])
    expect(await names({ tags: ['read'], prefix: 'pets' })).toEqual(['pets__list_pets'])
    const { tools } = await read(yaml, { approval: ['addPet'] })
    expect(tools.filter(({ approval }) => approval).map(({ name }) => name)).toEqual(['addPet'])
    await expect(read(yaml, { operations: ['none'] })).rejects.toThrow(
      /Expected `operations` to name operations of the document \(list pets, .*got `none`/,
    )
    await expect(read(yaml, { tags: ['none'] })).rejects.toThrow(/to select operations of the document, got none of its/)
  })

  it('keeps arguments with the same name apart, always in the same way', async () => {
    const parameters = ['cookie', 'header', 'query'].map((place) => ({ name: 'id', in: place, schema: { type: 'string' } }))
    const schema = { type: 'object', properties: { id: {}, query_id: {} } }
    const requestBody = { required: true, content: { 'application/json': { schema } } }
    const { tools } = await read(documentOf({ '/x': { post: { parameters, requestBody } } }))
    const { tools: turned } = await read(documentOf({ '/x': { post: { parameters: parameters.toReversed(), requestBody } } }))
    expect(Object.keys(parametersOf(tools[0] as AnyTool).properties ?? {})).toEqual(['id', 'header_id', 'cookie_id', 'body_id', 'query_id'])
    expect(turned[0]?.parameters).toEqual(tools[0]?.parameters)
  })

  it.each([
    ['http://127.0.0.1:PORT/schema.json', /Expected only references within the OpenAPI document/],
    ['./other.yaml#/x', /Expected only references within the OpenAPI document/],
    ['file:///etc/passwd', /Expected only references within the OpenAPI document/],
    ['#/components/schemas/None', /leads nowhere/],
    ['#/components/schemas/Loop', /leads in a circle/],
  ])('does not follow a reference to %s: that operation is left out', async (reference, reason) => {
    await using api = await startApi()
    const $ref = reference.replace('PORT', new URL(api.url).port)
    const asParameter = { get: { operationId: 'a', parameters: [{ $ref }] } }
    const asSchema = { get: { operationId: 'b', parameters: [{ name: 'p', in: 'query', schema: { type: 'array', items: { $ref } } }] } }
    const components = { schemas: { Loop: { $ref: '#/components/schemas/Loop' } } }
    const { names, warnings } = await read(
      documentOf({ '/a': asParameter, '/b': asSchema, '/c': { get: { operationId: 'c' } } }, { components }),
    )
    expect(names).toEqual(['c'])
    expect(warnings.map(({ fields }) => fields)).toMatchObject([
      { operation: 'a', reason: expect.stringMatching(reason) },
      { operation: 'b', reason: expect.stringMatching(reason) },
    ])
    expect(api.seen).toEqual([])
  })

  it.each<[string, string | object, OpenApiOptions, RegExp]>([
    ['that is none', 'just\nwords', {}, /Expected an OpenAPI document, got `"just words"`/],
    ['of an old version', { swagger: '2.0' }, {}, /version 3.0 or 3.1, got `"swagger 2.0"`/],
    ['that is broken', '{"openapi":', {}, /is neither JSON nor YAML/],
    ['that is not there', 'no/such.yaml', {}, /"no\/such.yaml" can't be read/],
    ['at an address', 'https://example.com/openapi.json', {}, /fetch it, look at it, and give its text/],
    ['without operations', documentOf({}), {}, /to select operations of the document, got none of its 0/],
    ['without a server', documentOf({ '/x': { get: {} } }, { servers: undefined }), {}, /Expected `baseURL` to say where the API is/],
    ['with a relative server', documentOf({ '/x': { get: {} } }, { servers: [{ url: '/v3' }] }), {}, /got `\/v3`: give `baseURL`/],
    ['with a server that is a file', documentOf({ '/x': { get: {} } }, { servers: [{ url: 'file:///x' }] }), {}, /an http or https URL/],
    [
      'with a `baseURL` that is none',
      documentOf({ '/x': { get: {} } }),
      { baseURL: 'key@nowhere' },
      /Expected `baseURL` to be an http or https URL$/,
    ],
    ['with a password in the address', documentOf({ '/x': { get: {} } }), { baseURL: 'http://a:b@c' }, /without a user name or password/],
    ['with a path without its parameter', documentOf({ '/x/{id}': { get: {} } }), {}, /got none/],
  ])('refuses a document %s', async (_what, source, options, message) => {
    await expect(read(source, options)).rejects.toMatchObject({ code: 'invalid_option', message: expect.stringMatching(message) })
  })

  it('refuses private networks unless the user allows them', async () => {
    await using api = await startApi()
    const document = documentOf({ '/x': { get: { operationId: 'x' } } }, { servers: [{ url: api.url }] })
    const text = async (options: OpenApiOptions) => callText(new ToolRegistry((await read(document, options)).tools), 'x')
    expect(await text({})).toMatch(/Expected a host on the public internet/)
    expect(api.seen).toEqual([])
    expect(await text({ allowPrivateAddresses: ['127.0.0.1/32'] })).toBe('{}')
    expect(await text({ baseURL: api.url })).toBe('{}')
  })

  it('E3.3 E3.5 repairs schemas that can be read in only one way, with a warning, and does not assert a format', async () => {
    const operation = (schema: object) => ({
      post: { operationId: 'save', requestBody: { required: true, content: { 'application/json': { schema } } } },
    })
    const schema = {
      type: 'object',
      properties: {
        id: { type: 'string', format: 'uuid' },
        day: { type: 'string', pattern: '^\\d{4}\\-\\d{2}$' },
        note: { type: 'str', required: true },
        odd: { type: 'file', enum: null },
      },
      required: ['id', 'id'],
    }
    const { tools, warnings } = await read(documentOf({ '/x': operation(schema) }))
    expect(tools[0]?.parameters).toMatchObject({ required: ['id', 'note'], properties: { note: { type: 'string' }, odd: {} } })
    const right = { id: 'b1946ac924924d23a5b61f0a8f5b7c3d', day: '2024-05', note: 'x', odd: 1 }
    const [tool] = tools
    if (tool === undefined) throw new Error('no tool')
    expect(await fitArguments(tool, right)).toEqual({ input: right })
    expect(await fitArguments(tool, { ...right, day: '2024/05' })).toHaveProperty('problems')
    expect(await fitArguments(tool, { ...right, note: 1 })).toHaveProperty('problems')
    expect(warnings.map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ operation: 'save', notes: expect.arrayContaining(['#/properties/note/type: "str" read as "string"']) }),
    )
  })

  it('yields to the event loop during a document with very many operations', async () => {
    const parameters = Array.from({ length: 100 }, (_, at) => ({ name: `p${at}`, in: 'query', schema: { type: 'string' } }))
    const many = Array.from({ length: 60 }, (_, at) => [`/x${at}`, { get: { operationId: `x${at}`, parameters } }])
    const unusable = { get: { parameters: [{ name: 'p', in: 'query', schema: { $ref: '#/components/none' } }] } }
    const turns: number[] = []
    let turn = 0
    const warn = () => {
      turns.push(turn)
      setImmediate(() => turn++)
    }
    const logger = { ...recordingLogger().logger, warn }
    const document = documentOf({ '/first': unusable, ...Object.fromEntries(many), '/last': unusable })
    expect(await openApiTools(document, { logger })).toHaveLength(60)
    expect(turns).toEqual([0, 1])
  })

  it('warns of operations whose credentials are missing', async () => {
    const document = documentOf({ '/x': { get: { operationId: 'x', security: [{ key: [] }] } } })
    expect((await read(document)).warnings).toMatchObject([{ fields: { operation: 'x', security: [['key']] } }])
    expect((await read(document, { headers: { 'x-key': 'given' } })).warnings).toEqual([])
  })
})
