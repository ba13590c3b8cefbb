import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { nameIn } from '../../src/service/responses/requested-tools.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { json, startService, token } from './start-service.ts'

/** What Codex CLI 0.169.0 sends with an MCP server, texts and lists of tools shortened: a question, and the result of the call that answers it. */
const { first, second } = JSON.parse(readFileSync(new URL('codex-requests.json', import.meta.url), 'utf8'))

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  return fetch(`${url}/v1/responses`, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function itemsOf(response: Response): Promise<Record<string, unknown>[]> {
  expect(response.status).toBe(200)
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('event: response.output_item.done'))
  return frames.map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)).item)
}

it('E1.1 Codex’s functions in namespaces are offered, called by their namespace, and answered in its next request', async () => {
  const call = { id: 'call_1', name: 'mcp__everything__echo', args: { message: 'hello there' } }
  const model = scriptedModel([{ text: 'calling', toolCalls: [call] }, 'all done'])
  const { url, log } = await startService({ model })
  const items = await itemsOf(await post(url, first))
  expect(items).toMatchObject([
    { type: 'message', content: [{ text: 'calling' }] },
    { type: 'function_call', call_id: 'call_1', namespace: 'mcp__everything', name: 'echo', arguments: '{"message":"hello there"}' },
  ])
  const offered = model.requests[0]?.tools?.map(({ function: { name } }) => name) ?? []
  expect(offered).toEqual(expect.arrayContaining(['exec_command', 'view_image', 'multi_agent_v1__close_agent', 'mcp__everything__echo']))
  expect(offered.join()).not.toContain('web_search')
  // The call comes back as Codex has it.
  expect(await itemsOf(await post(url, second))).toMatchObject([{ type: 'message', content: [{ text: 'all done' }] }])
  expect(model.requests[1]?.messages.slice(-2)).toMatchObject([
    { role: 'assistant', content: 'calling', toolCalls: [{ id: 'call_1', function: { name: 'mcp__everything__echo' } }] },
    { role: 'tool', toolCallId: 'call_1', content: [{ text: expect.any(String) }, { text: 'Echo: hello there' }] },
  ])
  // Told of once, though it is in each request.
  expect(log().match(/"type":"web_search"/g)).toHaveLength(1)
})

it('E1.1 hosted tools are refused if the service is set to do so', async () => {
  const model = scriptedModel(['hi'])
  const { url } = await startService({ model, config: { service: { hostedTools: 'refuse' } } })
  const refused = await post(url, first)
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { param: 'tools', message: expect.stringContaining('web_search') } },
  ])
  const { tools, ...others } = first
  const taken = await post(url, { ...others, tools: tools.filter(({ type }: { type: string }) => type !== 'web_search') })
  expect(taken.status).toBe(200)
})

it('E1.1 a function in a namespace can be chosen, has a legal name, and can’t take another’s', async () => {
  const tool = { type: 'function', name: 'echo', parameters: { type: 'object', properties: {} } }
  const long = 'n'.repeat(64)
  expect(nameIn(long, 'echo')).toMatch(/^n+_[0-9a-f]{8}$/)
  expect(nameIn(long, 'echo')).not.toBe(nameIn(long, 'look'))
  const model = scriptedModel([{ toolCalls: [{ name: nameIn(long, 'echo') }] }])
  const { url } = await startService({ model })
  const request = { model: 'toolloop', input: 'x', stream: true }
  const tool_choice = { type: 'function', name: 'echo', namespace: long }
  const items = await itemsOf(await post(url, { ...request, tools: [{ type: 'namespace', name: long, tools: [tool] }], tool_choice }))
  expect(items).toMatchObject([{ type: 'function_call', namespace: long, name: 'echo' }])
  const twice = [
    { ...tool, name: 'a__echo' },
    { type: 'namespace', name: 'a', tools: [tool] },
  ]
  expect((await post(url, { ...request, tools: twice })).status).toBe(400)
  const many = { type: 'namespace', name: 'b', tools: Array.from({ length: 300 }, (_, at) => ({ ...tool, name: `t${at}` })) }
  const tooMany = await post(url, { ...request, tools: [many, { ...many, name: 'c' }] })
  expect([tooMany.status, (await json(tooMany)).error]).toEqual([
    400,
    expect.objectContaining({ message: 'Expected at most 512 functions, got 600' }),
  ])
})
