import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { telemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { keepContext, startTracing } from '../telemetry/tracing.ts'
import { allFrames, configFile, framesOf, json, startService } from './start-service.ts'

/** An argument of a call, and a key in the service's environment. */
const [argument, key] = ['Zq7/xk w&rd-Plover', 'env+Key/92 "Qx"-Tulip'] as const
const secrets = [argument, key]

const json1 = (text: string) => JSON.stringify(text).slice(1, -1)
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')

/** A secret in every form. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const each = (write: (code: number) => string) => [...bytes].map(write).join('')
  const base64 = ['', 'x', 'xy'].map((before) => Buffer.from(before + secret).toString('base64'))
  const forms = [
    secret,
    secret.toUpperCase(),
    secret.toLowerCase(),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    new URLSearchParams({ a: secret }).toString().slice(2),
    each((code) => `%${hex(code, 2)}`),
    secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('/', '&sol;'),
    each((code) => `&#${code};`),
    each((code) => `&#x${hex(code, 2)};`),
    json1(secret).replaceAll('/', '\\/'),
    json1(json1(secret).replaceAll('/', '\\/')),
    each((code) => `\\u${hex(code, 4)}`),
    each((code) => `\\\\u${hex(code, 4)}`),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64,
    ...base64.map((form) => form.replaceAll('=', '').replaceAll('+', '-').replaceAll('/', '_')),
  ]
  return [...new Set(forms)]
}

const forms = secrets.flatMap(formsOf)
const shapes = ['?access_token=Zq-shape-1&', 'password: zq5shape2', '{"api_key":"Zq-shape-3"}', 'Cookie: sid=Zq-shape-4']
const said = [...forms, ...shapes].map((form) => `<${form}>`).join('\n')

/** Those that can be read in a text, which may have been written into JSON or in lower case. */
function seenIn(text: string): string[] {
  const all = text.toLowerCase()
  const inner = [...forms.map((form) => form.slice(1, -4)), 'zq-shape', 'zq5shape']
  return inner.filter((form) => [form, json1(form), json1(json1(form))].some((one) => all.includes(one.toLowerCase())))
}

async function filesIn(folder: string): Promise<string> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return (await Promise.all(paths.map((path) => readFile(path, 'latin1').catch(() => '')))).join('\n')
}

describe('a secret in any form, and its placeholders', () => {
  it('X5 reaches the model, and is in no event, result, error, list, search, metric, recording, file, log or span', async () => {
    using _context = keepContext()
    await using tracing = startTracing()
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      secrets: ['pin'],
      parameters: { type: 'object' },
      execute: (_args, { progress }) => {
        progress(said)
        return said
      },
    })
    const fail = defineTool({
      name: 'fail',
      description: 'Fails.',
      parameters: { type: 'object' },
      execute: () => {
        throw new Error(`it failed: ${said}`)
      },
    })
    const model = scriptedModel([
      { toolCalls: [{ name: 'look', args: { pin: argument } }] },
      { text: said, toolCalls: [{ name: 'fail', args: { password: argument } }, { name: `made up ${argument}` }] },
      { text: `The answer: ${said}`, reasoning: said },
      { toolCalls: [{ name: 'look', args: { pin: argument } }] },
      { error: new Error(`broken: ${said}`) },
    ])
    const { folder, file } = await configFile('service: { keepRuns: { folder: kept, recordingMegabytes: 8 } }\n')
    const { post, ask, log } = await startService({
      configFile: file,
      cwd: folder,
      model,
      tools: [look, fail],
      env: { SHOP_API_KEY: key },
      telemetry: telemetry({ tracer: tracing.tracer, content: true }),
    })
    const frames = await allFrames(await post('/v1/runs', { input: said, stream: true }))
    const { id } = JSON.parse(frames.at(-1)?.data ?? '')
    const failed = await json(post('/v1/runs', { input: said }))
    expect(failed).toMatchObject({ stopReason: 'model_error' })
    expect(JSON.stringify(model.requests[1]?.messages)).toContain(json1(json1(argument)).replaceAll('\\\\', '\\'))
    expect(seenIn(JSON.stringify(model.requests[1]?.messages)).length).toBeGreaterThan(forms.length)

    const feed: object[] = []
    for await (const frame of framesOf(await ask('/admin/api/feed'))) if (feed.push(frame) && frame.event === 'RUN_END') break
    const text = async (path: string) => (await ask(path)).text()
    const kept = join(folder, 'kept')
    await expect.poll(async () => seenIn(await filesIn(kept))).toEqual([])
    const sinks: Record<string, string> = {
      'the stream': JSON.stringify(frames),
      'its texts': frames
        .map(({ event, data }) => (event === 'TEXT_DELTA' || event === 'REASONING_DELTA' ? JSON.parse(data).text : ''))
        .join(''),
      'the run': await text(`/v1/runs/${id}`),
      'the failed run': JSON.stringify(failed),
      'the events': await text(`/v1/runs/${id}/events`),
      'the recording': await text(`/v1/runs/${id}/recording`),
      'the list': await text('/v1/runs'),
      'the feed': JSON.stringify(feed),
      'the state': await text('/admin/api/state'),
      'the metrics': await text('/metrics'),
      'the log': log(),
      'the files': await filesIn(kept),
    }
    for (const [name, shown] of Object.entries(sinks)) expect([name, seenIn(shown)]).toEqual([name, []])
    for (const name of ['the run', 'the recording', 'the events', 'the log'])
      expect([name, sinks[name]]).toEqual([name, expect.stringContaining('[redacted]')])
    for (const secret of [...secrets, 'zq5shape2'])
      expect([secret, JSON.parse(await text(`/v1/runs?q=${encodeURIComponent(secret.split(/\s/)[0] ?? '')}`)).data]).toEqual([secret, []])
    // What was said before a call had the secret was exported as it was, and a tracer doesn't know the service's environment.
    const spans = tracing
      .spans()
      .map(({ name, attributes: { 'gen_ai.input.messages': _, ...attributes }, events, status }) => ({ name, attributes, events, status }))
    const ofArgument = formsOf(argument).map((form) => form.slice(1, -4))
    expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining(['execute_tool look', 'execute_tool fail', 'invoke_agent']))
    expect(seenIn(JSON.stringify(spans)).filter((form) => ofArgument.includes(form) || form.startsWith('zq'))).toEqual([])
  }, 60_000)
})
