import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ChatModel, ModelRequest, ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { type MockProviderOptions, recordProvider, startMockProvider } from '../../src/testing/index.ts'
import { tempFolder } from '../cli/temp-folder.ts'

const request: ModelRequest = {
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: {} } } }],
}
const turn = {
  reasoning: 'Hm.',
  text: 'Grüße – 五.',
  toolCalls: [{ id: 'c1', name: 'add', arguments: { a: 2, b: 'x"y' } }],
  usage: { inputTokens: 3, outputTokens: 4 },
}
const drivers = ['openai', 'openai-responses', 'anthropic', 'google'] as const
const keys = { openai: 'key-of-openai', 'openai-responses': 'key-of-responses', anthropic: 'key-of-anthropic', google: 'key-of-google' }

function modelOf(
  driver: (typeof drivers)[number],
  { url, baseURL }: { url: string; baseURL: string },
  fetch?: typeof globalThis.fetch,
): ChatModel {
  const at = driver === 'openai' || driver === 'openai-responses' ? baseURL : url
  const settings = { model: 'any', apiKey: keys[driver], baseURL: at, maxRetries: 1, ...(fetch === undefined ? {} : { fetch }) }
  return createModel({ ...settings, provider: driver === 'openai' ? 'custom' : driver })
}

/** The response while it was recorded, and from the recording. */
async function both(driver: (typeof drivers)[number], script: MockProviderOptions['script'], more: Partial<ModelRequest> = {}) {
  const recorder = recordProvider()
  const ask = async (options: MockProviderOptions, fetch?: typeof globalThis.fetch): Promise<ModelResponse> => {
    await using provider = await startMockProvider(options)
    return await modelOf(driver, provider, fetch).generate({ ...request, ...more }, {})
  }
  const came = await ask({ script: script ?? [] }, recorder.fetch)
  const replayed = await ask({ recordings: recorder.recordings })
  const { timeToFirstTokenMs: _, retries: __, ...first } = came
  const { timeToFirstTokenMs: ___, retries: ____, ...second } = replayed
  return { first, second, recorder }
}

describe('recordProvider', () => {
  it.each(drivers)('%s: the recording answers like the provider, streamed or not', async (driver) => {
    for (const more of [{}, { stream: false }]) {
      const { first, second, recorder } = await both(driver, [turn], more)
      expect(second).toEqual(first)
      expect(first.toolCalls[0]?.function.name).toBe('add')
      expect(recorder.recordings).toHaveLength(1)
      expect(recorder.recordings.join()).not.toContain(keys[driver])
    }
  })

  it('skips a failed response: the result of the retry is recorded', async () => {
    const { second, recorder } = await both('openai', [{ text: '', fault: { status: 429, headers: { 'retry-after': '0' } } }, 'Yes.'])
    expect(second.text).toBe('Yes.')
    expect(recorder.recordings).toHaveLength(1)
  })

  it('removes secrets, even if a stream has split them', async () => {
    const secret = 'sk-abcdefghijklmnopqrstuvwx'
    await using provider = await startMockProvider({
      script: [{ text: `It is ${secret}, or ${keys.openai}, or my-own-secret.` }],
      pieceLength: 3,
    })
    const recorder = recordProvider({ secrets: ['my-own-secret'] })
    const { text } = await modelOf('openai', provider, recorder.fetch).generate(request, {})
    expect(text).toContain(secret)
    await using again = await startMockProvider({ recordings: recorder.recordings })
    expect((await modelOf('openai', again).generate(request, {})).text).toBe('It is [redacted], or [redacted], or [redacted].')
  })

  it('records what arrived before the client broke off, and then stops the provider’s stream', async () => {
    await using provider = await startMockProvider({ script: [{ text: 'One moment', hang: true }] })
    const recorder = recordProvider()
    const abort = new AbortController()
    const text = (delta: string) => delta.endsWith('nt') && abort.abort()
    const asked = modelOf('openai', provider, recorder.fetch).generate(
      { ...request, signal: abort.signal },
      { text: (delta) => void text(delta) },
    )
    await expect(asked).rejects.toMatchObject({ code: 'aborted' })
    expect((await provider.waitForEnd()).aborted).toBe(true)
    expect(recorder.recordings.flat().join()).toContain('nt')
  })

  it('saves one file per response, readable by its owner only', async () => {
    const { recorder } = await both('openai', ['Yes.'])
    const folder = join(await tempFolder(), 'recordings/yes')
    const files = await recorder.save(folder)
    expect(files).toEqual([join(folder, '1.jsonl')])
    expect((await stat(files[0] ?? '')).mode & 0o777).toBe(0o600)
    const lines = (await readFile(files[0] ?? '', 'utf8')).trimEnd().split('\n')
    expect(lines).toEqual(recorder.recordings[0])
  })
})
