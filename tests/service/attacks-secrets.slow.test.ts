import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { sharedFolder, untilRun } from './killed-service.ts'
import { maxStallMs, measuredService, stallOf } from './measured-service.ts'
import { type Answer, allFrames, configFile, framesOf, json, type StartedService, startService } from './start-service.ts'

const manySecrets = JSON.stringify({ password: Array.from({ length: 9_900 }, (_, at) => `secret${at}`) })

/** A conversation as a client may send it, with one call and its result for each of `args`. */
function conversation(args: readonly string[]): object[] {
  return args.flatMap((json, at) => [
    { role: 'assistant', content: '', toolCalls: [{ id: `c${at}`, type: 'function', function: { name: 'echo', arguments: json } }] },
    { role: 'tool', toolCallId: `c${at}`, content: 'done' },
  ])
}

describe('hidden secrets', () => {
  it('very many secrets in a client’s conversation block nobody', async () => {
    const service = await measuredService()
    const body = { messages: conversation([manySecrets]), input: 'hello' }
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', body)))
    expect(run).toMatchObject({ status: 'ended', output: 'ok' })
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('very many secrets in a call block nobody', async () => {
    const service = await measuredService()
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', { input: `call pay ${manySecrets}` })))
    expect(run).toMatchObject({ status: 'waiting' })
    expect(JSON.stringify(run)).not.toContain('secret1')
    expect(stallMs).toBeLessThanOrEqual(maxStallMs)
  })

  it('very many calls whose arguments are not JSON objects block nobody', async () => {
    const service = await measuredService()
    const messages = conversation(Array.from({ length: 3_000 }, (_, at) => `"argument ${at}"`))
    const { value: run, stallMs } = await stallOf(service, () => json(service.post('/v1/runs', { messages, input: 'hello' })))
    expect(run).toMatchObject({ status: 'ended', output: 'ok' })
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

  it.each(results)('is read by the model, and is in no event, feed, answer, list, file or log: %s', async (_, result) => {
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
    const files = await filesWithout(join(folder, 'kept'), word)
    const texts = [...['', `/${id}`, `/${id}/events`].map((path) => `/v1/runs${path}`), '/admin/api/state'].map(async (path) =>
      (await ask(path)).text(),
    )
    const shown = [JSON.stringify(frames), JSON.stringify(fed), ...files, ...(await Promise.all(texts)), log()]
    for (const text of shown) expect(text).not.toContain(word)
    expect(files.join('')).toContain(id)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(word)
  })

  it.each<[string, (run: Answer, service: StartedService) => Promise<unknown>]>([
    ['it was decided', ({ id, pending }, { post }) => post(`/v1/runs/${id}/decisions`, { decisions: approvalsOf(pending) })],
    ['it was cancelled', ({ id }, { post }) => post(`/v1/runs/${id}/cancel`, {})],
  ])('is in a file while the run waits, and in none soon after %s', async (_, end) => {
    const tool = defineTool({
      name: 'pay',
      description: '',
      approval: true,
      secrets: ['pin'],
      parameters: { type: 'object', properties: { pin: { type: 'string' } } },
      execute: () => ({ password: word }),
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', args: { pin: word } }] }, `paid with ${word}`])
    const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
    const service = await startService({ configFile: file, cwd: folder, model, tools: [tool] })
    const run = await json(service.post('/v1/runs', { input: `my pin is ${word}` }))
    expect(run.status).toBe('waiting')
    await service.post(`/v1/runs/${run.id}/messages`, { input: `remember ${word}` })
    expect((await filesIn(join(folder, 'kept'))).join('')).toContain(word)
    await end(run, service)
    const files = await filesWithout(join(folder, 'kept'), word)
    expect(files.join('')).toContain(run.id)
    expect(await json(service.ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'ended', input: 'my pin is [redacted]' })
  })

  it('is in no file soon after the end of a run that a killed process had started', async () => {
    const { folder, start, world } = await sharedFolder()
    const kept = join(folder, 'kept')
    const first = await start()
    const { id } = await json(first.post('/v1/runs', { input: 'pay wait', background: true }))
    await expect.poll(world, { timeout: 30_000 }).toHaveLength(3)
    await first.kill()
    expect((await filesIn(kept)).join('')).toContain('hunter-2222')
    await writeFile(join(folder, 'go'), '')
    const second = await start()
    expect(await untilRun(second, id, ({ status }) => status === 'ended')).toMatchObject({ output: 'done [redacted]' })
    expect((await filesWithout(kept, 'hunter-2222')).join('')).toContain(id)
  })
})

/** Of a folder and all below it, as they are now. */
async function filesIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  // Any of them may go meanwhile. Bytes as they are: most of it is no text.
  return Promise.all(paths.map((path) => readFile(path, 'latin1').catch(() => '')))
}

/** The same when the word is in none of them: what a run was recorded with is deleted once it has ended. */
async function filesWithout(folder: string, word: string): Promise<string[]> {
  await expect.poll(async () => (await filesIn(folder)).filter((text) => text.includes(word))).toEqual([])
  return filesIn(folder)
}

function approvalsOf(pending: Answer['pending']): object[] {
  return pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true, acknowledgeHidden: true }))
}
