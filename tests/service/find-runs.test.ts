import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { configFile, json, payTool, type StartedService, startService } from './start-service.ts'

async function inFolder(): Promise<{ configFile: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-find-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { configFile: (await configFile(`service: { keepRuns: { folder: ${folder} } }\n`)).file }
}

interface Listed {
  data: { id: string; input: string; toolCalls: number; tools: string[]; output: string }[]
}

for (const [where, options] of Object.entries({ 'in memory': async () => ({}), 'in a folder': inFolder }))
  describe(`runs ${where}`, () => {
    it('are found by words, ending, time, id and owner; an invalid query is refused', async () => {
      const look = defineTool({ name: 'look_up', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
      const model = scriptedModel([
        { toolCalls: [{ name: 'look_up' }] },
        'The ÄNSWER is 42',
        'x'.repeat(2_000),
        { error: new Error('broken') },
      ])
      const { post, ask } = await startService({ ...(await options()), model, tools: [look] })
      for (const input of ['first Question', 'second question', 'third question']) await post('/v1/runs', { input })
      const list = async (query: string) => (await (await ask(`/v1/runs?${query}`)).json()) as Listed
      const inputs = async (query: string) => (await list(query)).data.map(({ input }) => input)
      expect(await inputs('')).toEqual(['third question', 'second question', 'first Question'])
      expect(await inputs('q=QUESTION+first')).toEqual(['first Question'])
      expect(await inputs(`q=${encodeURIComponent('tool:look_up änswer')}`)).toEqual(['first Question'])
      expect(await inputs('q=user:operator+second')).toEqual(['second question'])
      expect(await inputs('q=nothing')).toEqual([])
      expect(await inputs('stopReason=model_error')).toEqual(['third question'])
      expect(await inputs('owner=operator&limit=1')).toEqual(['third question'])
      expect(await inputs('owner=another')).toEqual([])
      expect(await inputs(`before=${new Date(0).toISOString()}`)).toEqual([])
      expect(await inputs(`after=${new Date(0).toISOString()}`)).toHaveLength(3)
      expect(await inputs('minCostUsd=1')).toEqual([])
      const [third, second, first] = (await list('')).data
      expect(first).toMatchObject({ toolCalls: 1, tools: ['look_up'] })
      expect(await inputs(`id=${first?.id},none,${third?.id}`)).toEqual(['third question', 'first Question'])
      expect((await list(`output=short&id=${second?.id}`)).data[0]?.output).toBe('x'.repeat(500))
      for (const query of [
        'q=1+2+3+4+5+6+7+8+9+10+11',
        'after=yesterday',
        'minCostUsd=-1',
        `id=${'a,'.repeat(100)}`,
        'minCostUsd=',
        'limit=',
        'stopReason=',
      ])
        expect([query, (await ask(`/v1/runs?${query}`)).status]).toEqual([query, 400])
      expect(await (await ask('/v1/runs?sort=cost&sort=-created')).json()).toMatchObject({
        error: { message: 'Expected one value, got several', param: 'sort' },
      })
      expect(await (await ask('/v1/runs?minCostUsd=')).json()).toMatchObject({ error: { message: 'Expected a value, got none' } })
      expect(await inputs('q=')).toHaveLength(3)
    })

    it('are each on one page, even if the clock is set back between them', async () => {
      const { post, ask } = await startService({ ...(await options()), model: scriptedModel(() => 'Done.') })
      onTestFinished(() => void vi.useRealTimers())
      // By less than the time for which runs in memory are kept.
      for (const [number, minute] of [10, 12, 11, 10, 12, 11].entries()) {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1, 10, minute) })
        await post('/v1/runs', { input: `run ${number}` })
      }
      const inputs: string[] = []
      for (let next: string | undefined = ''; next !== undefined; ) {
        const page = (await (await ask(`/v1/runs?limit=2${next && `&cursor=${next}`}`)).json()) as Listed & { next?: string }
        inputs.push(...page.data.map(({ input }) => input))
        next = page.next
      }
      expect(inputs).toEqual(['run 4', 'run 5', 'run 2', 'run 3', 'run 1', 'run 0'])
    })

    it('are listed newest first, each on one page, with a chat that is stored after runs that started later', async () => {
      const held = Promise.withResolvers<void>()
      const turns = [{ before: held.promise, text: 'Chat.' }, 'Done.', 'Done.']
      const { post, ask } = await startService({ ...(await options()), model: scriptedModel(turns) })
      const list = async (query: string) => (await (await ask(`/v1/runs?${query}`)).json()) as Listed & { next?: string }
      const chat = post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content: 'chat' }] })
      await expect.poll(async () => (await list('')).data.length).toBe(1)
      for (const input of ['second', 'third']) await post('/v1/runs', { input })
      const inputs = async (query: string) => (await list(query)).data.map(({ input }) => input)
      expect(await inputs('')).toEqual(['third', 'second', 'chat'])
      held.resolve()
      await (await chat).text()
      expect(await inputs('')).toEqual(['third', 'second', 'chat'])
      const { data, next } = await list('limit=2')
      expect([...data.map(({ input }) => input), ...(await inputs(`limit=2&cursor=${next}`))].toSorted()).toEqual([
        'chat',
        'second',
        'third',
      ])
    })

    it('are found by their chat, their last model, metadata, and whether their process is alive', async () => {
      const { tool } = payTool()
      const held = Promise.withResolvers<void>()
      const turns = [
        'In a chat.',
        'By itself.',
        { toolCalls: [{ name: 'pay', arguments: { euros: 1 } }] },
        { before: held.promise, text: 'Later.' },
      ]
      const { post, ask } = await startService({ ...(await options()), model: scriptedModel(turns), tools: [tool] })
      const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hello' }] }]
      await (await post('/ui/chat', { id: 'c1', messages })).text()
      await post('/v1/runs', { input: 'alone', metadata: { ticket: 17 } })
      await post('/v1/runs', { input: 'pay' })
      await post('/v1/runs', { input: 'long', background: true })
      const list = async (query: string) => (await (await ask(`/v1/runs?${query}`)).json()) as Listed
      const inputs = async (query: string) => (await list(query)).data.map(({ input }) => input)
      expect((await list('session=ui/c1')).data).toMatchObject([
        { input: 'hello', session: 'ui/c1', answeredBy: 'scripted/scripted-model' },
      ])
      expect([await inputs('session=c1'), await inputs('session=ui/c1&status=running')]).toEqual([[], []])
      expect(await inputs('model=scripted/scripted-model')).toEqual(['pay', 'alone', 'hello'])
      expect(await inputs('model=toolloop&metadata.ticket=17')).toEqual(['alone'])
      expect([await inputs('model=scripted/other'), await inputs('model=model')]).toEqual([[], []])
      expect(await inputs('model=scripted-model')).toEqual(['pay', 'alone', 'hello'])
      expect(await inputs('stopReason=paused')).toEqual(['pay'])
      expect([await inputs('process=alive'), await inputs('process=gone'), await inputs('process=alive&status=waiting')]).toEqual([
        ['long'],
        [],
        [],
      ])
      for (const query of ['process=dead', 'status=done']) expect([query, (await ask(`/v1/runs?${query}`)).status]).toEqual([query, 400])
      held.resolve()
    })

    it('are sorted, paged and added up, with running and waiting time apart', async () => {
      const { tool } = payTool()
      const held = Promise.withResolvers<void>()
      const turns = [
        { text: 'a', usage: { inputTokens: 1, outputTokens: 1 } },
        { text: 'b', usage: { inputTokens: 19, outputTokens: 1 } },
        { toolCalls: [{ name: 'pay', arguments: { euros: 1 } }], usage: { inputTokens: 4, outputTokens: 1 } },
        { text: 'paid', usage: { inputTokens: 4, outputTokens: 1 } },
        { before: held.promise, text: 'Chat.' },
      ]
      const { post, ask } = await startService({ ...(await options()), model: scriptedModel(turns), tools: [tool] })
      const at = Date.now()
      vi.useFakeTimers({ toFake: ['Date'], now: at })
      onTestFinished(() => void vi.useRealTimers())
      for (const input of ['first', 'second']) await post('/v1/runs', { input, session: 'my session' })
      const { id, pending } = await json(post('/v1/runs', { input: 'third' }))
      vi.setSystemTime(at + 60_000)
      const { toolCallId, fingerprint } = pending[0]
      await post(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true }] })
      const chat = post('/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content: 'chat' }] })
      const list = async (query: string) => (await (await ask(`/v1/runs?${query}`)).json()) as Listed & { next?: string; totals?: object }
      await expect.poll(async () => (await list('status=running')).data.length).toBe(1)
      const inputs = async (query: string) => (await list(query)).data.map(({ input }) => input).join(' ')
      expect(await inputs('sort=-tokens')).toBe('second third first chat')
      expect(await inputs('sort=tokens')).toBe('first third second chat')
      expect(await inputs('sort=-waited')).toMatch(/^third /)
      expect([await inputs('offset=1'), await inputs('sort=-tokens&offset=3'), await inputs('offset=9')]).toEqual([
        'third second first',
        'chat',
        '',
      ])
      const seen: string[] = []
      for (let next: string | undefined = ''; next !== undefined; ) {
        const page = await list(`limit=1&sort=-tokens${next && `&cursor=${next}`}`)
        seen.push(...page.data.map(({ input }) => input))
        next = page.next
      }
      expect(seen.join(' ')).toBe('second third first chat')
      const { totals, data } = await list('limit=1&totals=true')
      expect(data).toHaveLength(1)
      expect(totals).toMatchObject({ runs: 4, running: 1, waiting: 0, tokens: 32 })
      expect((await list('totals=true&tool=pay')).totals).toMatchObject({ runs: 1, tokens: 10 })
      expect((await list('totals=true&owner=nobody')).totals).toMatchObject({ runs: 0, tokens: 0 })
      expect(await inputs('minWorkedMs=30000')).toBe('')
      const [third] = (await list(`id=${id}`)).data
      expect(third).toMatchObject({ workedMs: 0, waitedMs: 60_000 })
      expect(await json(ask(`/v1/runs/${id}`))).toMatchObject({ workedMs: 0, waitedMs: 60_000 })
      const sessions = (await (await ask('/v1/sessions?limit=1')).json()) as object
      expect(sessions).toMatchObject({ data: [{ session: 'my session', input: 'first', runs: 2, tokens: 22 }] })
      const { error } = await json(ask('/v1/runs?stopreason=answered'))
      expect(error).toMatchObject({ code: 'invalid_request', param: 'stopreason' })
      expect(error.message).toMatch(/^Expected only the parameters `cursor`, .*`stopReason`.*, got `stopreason`$/)
      expect((await ask('/v1/sessions?totals=true')).status).toBe(400)
      for (const query of [
        'sort=size',
        'offset=-1',
        'offset=1.5',
        'minWorkedMs=x',
        'cursor=x',
        'sort=tokens&cursor=x',
        'sort=tokens&cursor=1.',
        'limit=0',
        'limit=abc',
        'limit=1001',
        'totals=maybe',
        'output=x',
      ])
        expect([query, (await ask(`/v1/runs?${query}`)).status]).toEqual([query, 400])
      held.resolve()
      await (await chat).text()
    })

    it('an unchanged list and an unchanged state are not sent again', async () => {
      const { post, ask } = await startService({ ...(await options()), model: scriptedModel(['one', 'two']) })
      await post('/v1/runs', { input: 'first' })
      for (const path of ['/v1/runs', '/admin/api/state?runs=none']) {
        const etag = (await ask(path)).headers.get('etag') ?? ''
        const again = await ask(path, { headers: { 'if-none-match': etag } })
        expect([again.status, await again.text()]).toEqual([304, ''])
        // With `no-store`, a browser would forget what it has.
        expect(again.headers.get('cache-control')).toBe('private, no-cache')
      }
      const before = (await ask('/v1/runs')).headers.get('etag') ?? ''
      await post('/v1/runs', { input: 'second' })
      expect((await ask('/v1/runs', { headers: { 'if-none-match': before } })).status).toBe(200)
    })

    it('a run has who decided what, without secrets; a refused decision is not in it', async () => {
      const { tool } = payTool()
      const secret = defineTool({ ...tool, secrets: ['pin'], parameters: { type: 'object' }, execute: () => 'paid' })
      const asks = { toolCalls: [{ name: 'pay', arguments: { euros: 1, pin: 'hunter-2222' } }] }
      const service = await startService({ ...(await options()), model: scriptedModel([asks, 'paid', asks, 'not paid']), tools: [secret] })
      const decided = async (input: string, verdict: object) => {
        const { id, pending } = await json(service.post('/v1/runs', { input }))
        const { toolCallId, fingerprint } = pending[0]
        const path = `/v1/runs/${id}/decisions`
        expect((await service.post(path, { decisions: [{ toolCallId, fingerprint: 'another', approved: true }] })).status).toBe(409)
        await service.post(path, { decisions: [{ toolCallId, fingerprint, ...verdict }] })
        return decisionsOf(service, id)
      }
      const args = { euros: 1, pin: '[redacted]' }
      expect(await decided('one', { approved: true, args: { euros: 2, pin: 'mine-3333' } })).toEqual([
        { by: 'operator', kind: 'approval', tool: 'pay', verdict: 'edited', args, edited: { euros: 2, pin: '[redacted]' } },
      ])
      expect(await decided('two', { approved: false, reason: 'hunter-2222 is too much' })).toEqual([
        { by: 'operator', kind: 'approval', tool: 'pay', verdict: 'rejected', args, reason: '[redacted] is too much' },
      ])
    })
  })

async function decisionsOf({ ask }: StartedService, id: string): Promise<object[]> {
  const { decisions } = (await (await ask(`/v1/runs/${id}`)).json()) as { decisions: { at: string; toolCallId: string }[] }
  return decisions.map(({ at, toolCallId: _toolCallId, ...decision }) => {
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000)
    return decision
  })
}
