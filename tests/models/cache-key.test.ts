import { describe, expect, it } from 'vitest'
import { AgentRunner, createModel, handoff, type JsonObject, type ModelSettings, memorySessions, type RunOptions } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hello } from './one-request.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

/** The bodies sent to an address, which is really that of a server on this machine. */
async function sentTo(baseURL: string | undefined, settings: Partial<ModelSettings> = {}, cacheKey: string | undefined = 'chat-1') {
  await using server = await startStrictProvider({ script: ['Hello.'] })
  const bodies: JsonObject[] = []
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    bodies.push(JSON.parse(String(init?.body)))
    const path = settings.provider === 'openai-responses' ? '/responses' : '/chat/completions'
    return globalThis.fetch(`${server.baseURL}${path}`, { method: 'POST', headers: init?.headers ?? {}, body: String(init?.body) })
  }
  const address = baseURL === undefined ? {} : { baseURL }
  const model = createModel({ provider: 'openai', model: 'gpt-5.2', apiKey: 'k', fetch, ...address, ...settings })
  await model.generate({ messages: hello, ...(cacheKey === undefined ? {} : { cacheKey }) })
  expect(bodies).toHaveLength(1)
  return bodies[0] ?? {}
}

describe.each(['openai', 'openai-responses'])('the key of the cache: %s', (provider) => {
  it.each([undefined, 'https://api.openai.com/v1', 'https://eu.api.openai.com/v1'])(
    'is sent to OpenAI’s own address (%s)',
    async (baseURL) => {
      expect(await sentTo(baseURL, { provider })).toMatchObject({ prompt_cache_key: 'chat-1' })
    },
  )

  it.each([
    'https://api.groq.com/openai/v1',
    'https://x.openai.azure.com/openai/v1',
    'https://api.openai.com.evil.example/v1',
    'https://evilapi.openai.com/v1',
  ])('is not sent to another server, which may refuse unknown fields (%s)', async (baseURL) => {
    expect(await sentTo(baseURL, { provider })).not.toHaveProperty('prompt_cache_key')
  })

  it('is sent or not as the model’s quirks say', async () => {
    const quirks = (promptCacheKey: boolean) => ({ provider, quirks: { promptCacheKey } })
    expect(await sentTo('https://llm.example/v1', quirks(true))).toMatchObject({ prompt_cache_key: 'chat-1' })
    expect(await sentTo(undefined, quirks(false))).not.toHaveProperty('prompt_cache_key')
    expect(() => createModel({ provider, model: 'm', quirks: { promptCacheKey: 'yes' } })).toThrow('true, false or null')
  })

  it('is not sent if there is none, is overridden by `providerOptions`, and is shortened if too long', async () => {
    expect(await sentTo(undefined, { provider, providerOptions: { prompt_cache_key: 'theirs' } })).toMatchObject({
      prompt_cache_key: 'theirs',
    })
    const { prompt_cache_key: short } = await sentTo(undefined, { provider }, 'x'.repeat(65))
    expect(short).toMatch(/^[\w-]{43}$/)
    expect(await sentTo(undefined, { provider }, 'x'.repeat(64))).toMatchObject({ prompt_cache_key: 'x'.repeat(64) })
  })
})

describe('the key of a run', () => {
  async function keysOf(options: RunOptions, runs = 1): Promise<(string | undefined)[]> {
    const model = scriptedModel(() => 'Hello.')
    const runner = new AgentRunner({ model, sessions: memorySessions() })
    for (let run = 0; run < runs; run++) await runner.run('go', options)
    return model.requests.map(({ cacheKey }) => cacheKey)
  }

  it('is derived from its session without containing its id; without a session, it is derived from nothing', async () => {
    const [first, second] = await keysOf({ session: 'ann@example.org/1' }, 2)
    expect(first).toMatch(/^[\w-]{43}$/)
    expect(second).toBe(first)
    expect(await keysOf({ session: { id: 'ann@example.org/1' } })).toEqual([first])
    expect(await keysOf({ session: 'ann@example.org/2' })).not.toEqual([first])
    expect(await keysOf({})).toEqual([undefined])
  })

  it('is the given one; false turns it off', async () => {
    expect(await keysOf({ cacheKey: 'tenant-7' })).toEqual(['tenant-7'])
    expect(await keysOf({ session: 's', cacheKey: 'tenant-7' })).toEqual(['tenant-7'])
    expect(await keysOf({ session: 's', cacheKey: false })).toEqual([undefined])
    await expect(keysOf({ cacheKey: '' })).rejects.toThrow('`cacheKey`')
  })

  it('stays the same when a paused run in a session continues', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'hand_off_to_b' }] }, 'Hello.'])
    const runner = new AgentRunner({
      model,
      sessions: memorySessions(),
      tools: [{ ...handoff(new AgentRunner({ model }), { name: 'b', description: 'b' }), approval: true }],
    })
    const { state, pending } = await runner.run('go', { session: 's' })
    await runner.resume(state, { decisions: pending.map((item) => ({ ...item, approved: true as const })) })
    const [first, second] = model.requests.map(({ cacheKey }) => cacheKey)
    expect(second).toBe(first)
    expect(first).toBeDefined()
  })
})
