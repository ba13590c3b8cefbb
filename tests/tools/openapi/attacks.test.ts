import { describe, expect, it } from 'vitest'
import { redactTokens } from '../../../src/core/redaction/redact.ts'
import { SecretTexts } from '../../../src/core/redaction/secret-texts.ts'
import { openApiTools } from '../../../src/tools/openapi/index.ts'
import { withoutBeginning } from '../../../src/tools/openapi/send-operation.ts'
import { ToolRegistry } from '../../../src/tools/registry.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callTool } from '../mcp/open-tools.ts'
import { longestStall } from '../sandbox/longest-stall.ts'
import { documentOf, type Reply, startApi } from './api-server.ts'

const secret = 'k/é&"<\\😀-9'
const json = (text: string) => JSON.stringify(text)
/** Writes every character with `write`. */
const written = (write: (unit: string) => string) => secret.split('').map(write).join('')
const hex = (unit: string, digits: number) => unit.charCodeAt(0).toString(16).padStart(digits, '0')

/** A server's ways to write the secret it received, in a body that is JSON or not. */
const echoes: [string, string][] = [
  ['as it is', `"${secret}"`],
  ['as JSON', json(secret)],
  ['as JSON with every slash escaped', json(secret).replaceAll('/', '\\/')],
  ['as JSON, every character escaped', `"${written((unit) => `\\u${hex(unit, 4)}`)}"`],
  ['as JSON, every character escaped in capitals', `"${written((unit) => `\\u${hex(unit, 4).toUpperCase()}`)}"`],
  ['as JSON inside of JSON', json(json(secret).replaceAll('/', '\\/'))],
  ['as a name', `{${json(secret)}: 1}`],
  ['as a part of an address', json(`/x?key=${encodeURIComponent(secret)}`)],
  ['as a part of an address, in small letters', json(`/x?key=${encodeURIComponent(secret).toLowerCase()}`)],
  ['as HTML', json(`<p>${secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')}</p>`)],
  ['as HTML with numbers', json([...secret].map((character) => `&#${character.codePointAt(0)};`).join(''))],
  ['as HTML with hexadecimal numbers', json([...secret].map((character) => `&#x${character.codePointAt(0)?.toString(16)};`).join(''))],
]

async function answered(reply: Reply, maxResponseBytes?: number): Promise<string> {
  await using api = await startApi(() => reply)
  const components = { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'key' } } }
  const tools = await openApiTools(documentOf({ '/x': { get: { operationId: 'op', security: [{ key: [] }] } } }, { components }), {
    baseURL: api.url,
    auth: { key: 'A_KEY' },
    env: { A_KEY: secret },
    logger: recordingLogger().logger,
    ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
  })
  const end = await callTool(new ToolRegistry(tools), 'op', {})
  return end.outcome === 'question' ? '' : String(end.content)
}

const cleanCut = (text: string, secrets: string[]) => redactTokens(withoutBeginning(text, new SecretTexts(secrets)), secrets)

describe('a secret that a server echoes', () => {
  it.each(echoes)('%s: is never shown to a model, whatever the response', async (_how, body) => {
    const found = redactTokens(body, [secret])
    expect(found).toContain('[redacted]')
    expect(found.length).toBeLessThan(body.length)
    for (const status of [200, 400]) {
      for (const type of ['application/json', 'text/plain']) {
        const content = await answered({ status, headers: { 'content-type': `${type}; charset=utf-8` }, body: `[${body}, "the end"]` })
        expect(content).toContain('[redacted]')
        expect(content).toContain('the end')
        expect(content.replaceAll('[redacted]', '')).not.toMatch(/é|e9|E9|😀|d83d|1f600|128512|-9/)
      }
    }
  })

  it('is left out even if only its beginning fits in a truncated response', async () => {
    for (let kept = 1; kept < secret.length; kept++) {
      const bytes = Buffer.from(`${'x'.repeat(1_000)}${secret.slice(0, kept).toWellFormed()}`)
      const content = await answered(
        { headers: { 'content-type': 'text/plain; charset=utf-8' }, body: Buffer.concat([bytes, Buffer.from('!')]) },
        bytes.length,
      )
      expect(content).toMatch(/^x{1000}\n\n\(… the response is longer/)
    }
  })

  it.each(echoes)('%s: truncated anywhere, nothing of it is left, and everything before it is', (_how, body) => {
    const secrets = [secret, 'another']
    const start = body.search(/k(?!ey)|\\u|&#/)
    const before = `${'x'.repeat(10)}${body.slice(0, start)}`
    for (let kept = start; kept <= body.length; kept++) {
      const text = `${'x'.repeat(10)}${body.slice(0, kept)}`
      // A backslash may start another one. A complete one may continue: `&#45` and its `;`.
      const whole = redactTokens(text, secrets).replace(/\\+$/, '')
      expect(whole.includes('[redacted]') ? [before, whole] : [before]).toContain(cleanCut(text, secrets))
    }
    expect(cleanCut(`${body}.`, secrets)).toContain('[redacted]')
  })

  it('loses nothing of a truncated response except its possible beginning', () => {
    const key = 'sk-0123456789abcdefghijklmnopqrstu'
    const text = 'an answer as short as this one, with a key of the usual length'
    expect(cleanCut(text, [key])).toBe(text)
    expect(cleanCut(`${text} sk-01`, [key])).toBe(`${text} `)
    expect(cleanCut(`${text} ${key} swor`, [key, 'swordfish'])).toBe(`${text} [redacted] `)
    // One whose end looks like its beginning, and which is complete.
    expect(cleanCut('x abcab', ['abcab'])).toBe('x ')
    expect(cleanCut('x abcabc', ['abcab'])).toBe('x ')
    expect(cleanCut('x a\\\\\\', ['a\\'])).not.toContain('a')
  })
})

it('leaves out an operation whose schema is slow to compile without blocking others, and logs why', async () => {
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`p${at}`, { type: 'string' }]))
  const components = { schemas: { Part: { type: 'object', properties: fields } } }
  const schema = { allOf: Array(500).fill({ $ref: '#/components/schemas/Part' }) }
  const operation = (operationId: string, schema: object) => ({
    post: { operationId, requestBody: { content: { 'application/json': { schema } } } },
  })
  const document = documentOf({ '/big': operation('big', schema), '/x': operation('small', { type: 'object' }) }, { components })
  const { logger, records } = recordingLogger()
  let least = Number.POSITIVE_INFINITY
  // Code that runs for the first time is slower.
  for (let tries = 0; tries < 4 && least >= 200; tries++) {
    const { value: tools, stallMs } = await longestStall(() => openApiTools(document, { logger }))
    expect(tools.map(({ name }) => name)).toEqual(['small'])
    least = Math.min(least, stallMs)
  }
  expect(records[0]).toMatchObject({ fields: { operation: 'big', reason: expect.stringContaining('is too large') } })
  expect(least).toBeLessThan(200)
})

describe('a path that leaves the API', () => {
  it.each([
    '/../admin',
    '/../../admin',
    '/a/../../admin',
    '/%2e%2e/admin',
    '/.%2E/admin',
    '/a\\..\\..\\..\\admin',
    '/{p}/../../admin',
    '/..',
  ])('%s: the operation is left out, and the log says why', async (path) => {
    const parameters = path.includes('{') ? [{ name: 'p', in: 'path', required: true, schema: { type: 'string' } }] : []
    const operation = (operationId: string) => ({ get: { operationId, parameters } })
    const { logger, records } = recordingLogger()
    const document = documentOf({ [path]: operation('out'), '/in/../x': { get: { operationId: 'in' } } })
    const tools = await openApiTools(document, { baseURL: 'http://127.0.0.1:1/base/v1', logger })
    expect(tools.map(({ name }) => name)).toEqual(['in'])
    expect(records).toMatchObject([{ fields: { operation: 'out', reason: expect.stringContaining('to stay below') } }])
  })

  it('can’t be created by arguments', async () => {
    await using api = await startApi()
    const parameters = ['a', 'b'].map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
    const document = documentOf({ '/{a}{b}/x': { get: { operationId: 'op', parameters } } })
    const tools = new ToolRegistry(await openApiTools(document, { baseURL: `${api.url}/base`, logger: recordingLogger().logger }))
    for (const [a, b] of [
      ['.', '.'],
      ['..', ''],
      ['%2e', '%2e'],
      ['../..', '/..'],
      ['..\\', '..'],
    ]) {
      await callTool(tools, 'op', { a, b })
    }
    for (const { url } of api.seen) expect(url).toMatch(/^\/base\/[^/]+\/x$/)
  })
})
