import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { framesOf, json, type SseFrame, type StartedService, startService } from './start-service.ts'

const key = 'sk-proj-0123456789abcdefghijklmn'

interface Listed {
  data: { id: string; input: string; output: string; finishedAt: string; events: { first: number; last: number } }[]
}

async function chat({ post }: Pick<StartedService, 'post'>, content: string, stream = false): Promise<string> {
  const response = await post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content }], stream })
  await response.text()
  return response.headers.get('x-run-id') ?? ''
}

async function eventsOf({ ask }: Pick<StartedService, 'ask'>, path: string, last: string): Promise<SseFrame[]> {
  const frames = []
  for await (const frame of framesOf(await ask(path))) {
    frames.push(frame)
    if (frame.event === last) break
  }
  return frames
}

describe('chat completions without an observer', () => {
  it('are listed and found afterwards, with all their events and without secrets', async () => {
    const parameters = { type: 'object', properties: { pin: { type: 'string' } } } as const
    const execute = () => 'the pin was 4711-4711'
    const tool = defineTool({ name: 'sign_in', description: 'Signs in.', parameters, secrets: ['pin'], execute })
    const model = scriptedModel([
      { toolCalls: [{ name: 'sign_in', args: { pin: '4711-4711' } }] },
      `The key is ${key}, the pin 4711-4711.`,
      'Second.',
    ])
    const service = await startService({ model, tools: [tool] })
    const before = Date.now()
    const first = await chat(service, `my key is ${key}`)
    const between = Date.now()
    const second = await chat(service, 'second', true)
    const { data } = (await (await service.ask('/v1/runs')).json()) as Listed
    expect(data.map(({ id }) => id)).toEqual([second, first])
    const [, listed] = data
    expect(listed?.output).toMatch(/^The key is .*, the pin .*\.$/)
    const finishedAt = Date.parse(listed?.finishedAt ?? '')
    expect(finishedAt).toBeGreaterThanOrEqual(before)
    expect(finishedAt).toBeLessThanOrEqual(between)
    const events = await eventsOf(service, `/v1/runs/${first}/events`, 'RESULT')
    expect(events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['RUN_START', 'TOOL_CALL_START', 'TOOL_CALL_END', 'TEXT_DELTA', 'RUN_END', 'RESULT']),
    )
    expect(listed?.events).toEqual({ first: 1, last: Number(events.at(-2)?.id) })
    const shown = JSON.stringify([data, events, await (await service.ask(`/v1/runs/${first}`)).text()])
    expect(shown).not.toContain('0123456789abcdef')
    expect(shown).not.toContain('4711')
  })

  it('are found only by their id, and not by another token', async () => {
    const service = await startService({
      model: scriptedModel(() => 'Done.'),
      authenticate: (request) => ({ name: request.headers.get('x-user') ?? 'ann', roles: ['run'] }),
    })
    const id = await chat(service, 'hello')
    expect((await service.ask(`/v1/runs/${id}`, { headers: { 'x-user': 'bob' } })).status).toBe(404)
    expect(await json(service.ask(`/v1/runs/${id}`))).toMatchObject({ id, status: 'ended', output: 'Done.', input: 'hello' })
    expect(await json(service.ask(`/v1/runs/${id}`))).toMatchObject({ id, status: 'ended', output: 'Done.', input: 'hello' })
  })

  it('of a token with many do not displace those of another', async () => {
    const config = { service: { keepRuns: { count: 4 } } }
    const authenticate = (request: Request) => ({ name: request.headers.get('x-user') ?? 'ann', roles: ['admin' as const] })
    const service = await startService({ model: scriptedModel(() => 'Done.'), config, authenticate })
    const say = async (user: string, content: string) => {
      const body = { model: 'toolloop', messages: [{ role: 'user', content }] }
      await (await service.post('/v1/chat/completions', body, { 'x-user': user })).text()
    }
    for (const said of ['first', 'second']) await say('quiet', said)
    for (const said of ['1', '2', '3', '4', '5', '6']) await say('busy', said)
    const inputs = async () => ((await (await service.ask('/v1/runs')).json()) as Listed).data.map(({ input }) => input)
    expect(await inputs()).toEqual(['6', '5', 'second', 'first'])
    for (const said of ['7', '8']) await say('busy', said)
    expect(await inputs()).toEqual(['8', '7', 'second', 'first'])
  })

  it('are in the feed of a later reader', async () => {
    const service = await startService({ model: scriptedModel(() => 'Done.') })
    const ids = [await chat(service, 'one'), await chat(service, 'two', true)]
    const ended: string[] = []
    for await (const { event, data } of framesOf(await service.ask('/admin/api/feed'))) {
      if (event !== 'RUN_END') continue
      ended.push(JSON.parse(data).meta.runId)
      if (ended.length === 2) ids.push(await chat(service, 'three'))
      if (ended.length === 3) break
    }
    expect(ended).toEqual(ids)
  })

  it('are stored within the limits of finished runs', async () => {
    const config = { service: { keepRuns: { count: 3 } } }
    const service = await startService({ config, model: scriptedModel(() => 'Done.') })
    const ids = []
    for (let at = 0; at < 5; at++) ids.push(await chat(service, `${at}`))
    expect((await service.ask(`/v1/runs/${ids[1]}`)).status).toBe(404)
    const { data } = (await (await service.ask('/v1/runs')).json()) as Listed
    expect(data.map(({ id }) => id)).toEqual(ids.slice(2).reverse())
  })

  it('show the events so far, and those that follow, to a reader that connects while they run', async () => {
    const asked = Promise.withResolvers<string>()
    const looked = Promise.withResolvers<void>()
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      execute: async (_args, { runId }) => {
        asked.resolve(runId)
        await looked.promise
        return 'seen'
      },
    })
    const service = await startService({ model: scriptedModel([{ toolCalls: [{ name: 'wait' }] }, 'Done.']), tools: [wait] })
    const reply = chat(service, 'wait')
    const seen: string[] = []
    for await (const { event } of framesOf(await service.ask(`/v1/runs/${await asked.promise}/events`))) {
      seen.push(event)
      if (event === 'TOOL_CALL_START') looked.resolve()
      if (event === 'RESULT') break
    }
    expect(seen.slice(0, 2)).toEqual(['RUN_START', 'MODEL_START'])
    expect(seen.slice(-3)).toEqual(['MODEL_END', 'RUN_END', 'RESULT'])
    await reply
  })
})
