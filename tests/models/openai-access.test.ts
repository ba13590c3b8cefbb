import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { hello, send } from './one-request.ts'

describe('keys, addresses and headers', () => {
  it('S3-18 treat an empty key as absent and use the environment’s', async () => {
    process.env.XAI_API_KEY = ' from-env '
    try {
      for (const apiKey of ['', '  ']) {
        const { sent } = await send({}, { provider: 'xai', apiKey })
        expect(sent.headers.authorization).toBe('Bearer from-env')
      }
    } finally {
      delete process.env.XAI_API_KEY
    }
  })

  it('S3-18 report a missing key with the request, not before', async () => {
    const model = createModel({ provider: 'xai', model: 'grok-4', apiKey: '' })
    await expect(model.generate({ messages: hello })).rejects.toMatchObject({
      code: 'missing_api_key',
      provider: 'xai',
      message: expect.stringContaining('XAI_API_KEY'),
    })
  })

  it('allow servers on this machine without a key', async () => {
    for (const provider of ['ollama', 'vllm', 'lmstudio', 'custom']) {
      const { sent } = await send({}, { provider, apiKey: '' })
      expect(sent.headers.authorization).toBe('Bearer none')
    }
  })

  it('speak to Azure’s v1 API with its own key header', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const endpoint = new URL(server.baseURL).origin
    const model = createModel({ provider: 'azure', model: 'my-deployment', apiKey: 'azure-key', baseURL: `${endpoint}/` })
    await model.generate({ messages: hello })
    process.env.AZURE_OPENAI_ENDPOINT = endpoint
    try {
      await createModel({ provider: 'azure', model: 'my-deployment', apiKey: 'azure-key' }).generate({ messages: hello })
    } finally {
      delete process.env.AZURE_OPENAI_ENDPOINT
    }
    await expect(createModel({ provider: 'azure', model: 'm', apiKey: 'k' }).generate({ messages: hello })).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining('AZURE_OPENAI_ENDPOINT'),
    })
    expect(server.requests.map(({ url, headers }) => [url, headers['api-key'], headers.authorization])).toEqual(
      Array(2).fill(['/openai/v1/chat/completions', 'azure-key', undefined]),
    )
  })

  it('include custom headers, and OpenAI’s account only for OpenAI', async () => {
    const set = {
      OPENAI_ORG_ID: 'org-1',
      OPENAI_PROJECT_ID: 'proj-1',
      OPENAI_CUSTOM_HEADERS: 'X-Gateway: g\nAuthorization: Bearer gateway',
      OPENAI_ADMIN_KEY: 'admin',
    }
    Object.assign(process.env, set)
    try {
      const own = await send({}, { headers: { 'X-Own': 'yes' } })
      expect(own.sent.headers).toMatchObject({
        'x-own': 'yes',
        'openai-organization': 'org-1',
        'openai-project': 'proj-1',
        'x-gateway': 'g',
      })
      const other = await send({}, { provider: 'deepseek' })
      for (const name of ['openai-organization', 'openai-project', 'x-gateway']) expect(other.sent.headers).not.toHaveProperty(name)
      expect(other.sent.headers.authorization).toBe('Bearer test-key')
      expect(JSON.stringify(other.sent.headers)).not.toContain('admin')
    } finally {
      for (const name of Object.keys(set)) delete process.env[name]
    }
  })

  it('send no header from the environment to another server, whenever it is set', async () => {
    await using server = await startServer((response, { body }) => {
      if (body.stream === true) eventStream(response).end(textEvents('streamed'))
      else response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices: [{ message: { content: 'whole' } }] }))
    })
    const model = createModel({ provider: 'deepseek', model: 'm', apiKey: 'sk-of-theirs', baseURL: server.baseURL })
    await model.generate({ messages: hello, stream: false })
    process.env.OPENAI_CUSTOM_HEADERS = 'Authorization: Bearer of-ours\nX-Gateway: g'
    try {
      await model.generate({ messages: hello })
      await model.generate({ messages: hello, stream: false })
    } finally {
      delete process.env.OPENAI_CUSTOM_HEADERS
    }
    const sent = server.requests.map(({ headers }) => [headers.authorization, headers['x-gateway']])
    expect(sent).toEqual(Array(3).fill(['Bearer sk-of-theirs', undefined]))
  })

  it('use the fetch of the settings', async () => {
    const asked: string[] = []
    const own: typeof fetch = async (input) => {
      asked.push(String(input))
      return new Response(textEvents('from my fetch'), { headers: { 'content-type': 'text/event-stream' } })
    }
    const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL: 'http://nowhere.invalid/v1', fetch: own })
    expect((await model.generate({ messages: hello })).text).toBe('from my fetch')
    expect(asked).toEqual(['http://nowhere.invalid/v1/chat/completions'])
  })
})
