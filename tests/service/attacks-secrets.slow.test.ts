import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { allFrames, configFile, framesOf, json, startService } from './start-service.ts'

const manySecrets = JSON.stringify({ password: Array.from({ length: 29_000 }, (_, at) => `secret${at}`) })

/** A conversation as a client may send it, with one call and its result for each of `args`. */
function conversation(args: readonly string[]): object[] {
  return args.flatMap((json, at) => [
    { role: 'assistant', content: '', toolCalls: [{ id: `c${at}`, type: 'function', function: { name: 'echo', arguments: json } }] },
    { role: 'tool', toolCallId: `c${at}`, content: 'done' },
  ])
}

describe('what is to be hidden', () => {
  it('very many secrets in a client’s conversation keep nobody waiting', async () => {
    const service = await measuredService()
    const body = { messages: conversation([manySecrets]), input: 'hello' }
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', body)))
    expect(run).toMatchObject({ status: 'done', output: 'ok' })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('very many secrets in a call keep nobody waiting', async () => {
    const service = await measuredService()
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', { input: `call pay ${manySecrets}` })))
    expect(run).toMatchObject({ status: 'paused' })
    expect(JSON.stringify(run)).not.toContain('secret1')
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('very many calls whose arguments are no JSON objects keep nobody waiting', async () => {
    const service = await measuredService()
    const messages = conversation(Array.from({ length: 3_000 }, (_, at) => `"argument ${at}"`))
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', { messages, input: 'hello' })))
    expect(run).toMatchObject({ status: 'done', output: 'ok' })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })
})

describe('a secret in a result of a tool', () => {
  const word = 'xyzzy-plugh-4711'
  const results: [string, unknown][] = [
    ['a field', { user: 'ann', password: word }],
    ['fields below it', { credentials: { deep: [{ a: word }] }, user: 'ann' }],
    ['JSON inside of a text', `before ${JSON.stringify({ body: JSON.stringify({ api_key: word }) })} after`],
    ['JSON with its key escaped', `{"pass\\u0077ord":"${word}"}`],
    ['JSON that is cut off', `{"user":"ann","token":"${word}`],
    ['a field its tool names', { pin: [word] }],
  ]

  it.each(results)('is read by the model, and is in no event, no feed, no answer, no list, no file and no log: %s', async (_, result) => {
    const tool = defineTool({
      name: 'look',
      description: '',
      secrets: ['pin'],
      parameters: { type: 'object' },
      execute: (_args, { progress }) => {
        progress(result as string)
        return result
      },
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'seen'])
    const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
    const { post, ask, log } = await startService({ configFile: file, cwd: folder, model, tools: [tool] })
    const frames = await allFrames(await post('/v1/runs', { input: 'x', stream: true }))
    expect(frames.map(({ event }) => event)).toContain('TOOL_CALL_END')
    const { id } = JSON.parse(frames.at(-1)?.data ?? '')
    const feed = await ask('/admin/api/feed')
    const fed: object[] = []
    for await (const frame of framesOf(feed)) if (fed.push(frame) && frame.event === 'RUN_END') break
    const kept = join(folder, 'kept')
    const files = await Promise.all((await readdir(kept)).map((name) => readFile(join(kept, name), 'utf8')))
    const texts = [...['', `/${id}`, `/${id}/events`].map((path) => `/v1/runs${path}`), '/admin/api/state'].map(async (path) =>
      (await ask(path)).text(),
    )
    const shown = [JSON.stringify(frames), JSON.stringify(fed), ...files, ...(await Promise.all(texts)), log()]
    for (const text of shown) expect(text).not.toContain(word)
    expect(files.join('')).toContain(id)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(word)
  })
})
