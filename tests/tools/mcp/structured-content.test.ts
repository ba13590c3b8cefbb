import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { json, startOddHttpServer } from './odd-http-server.ts'
import { callTool, listed } from './open-tools.ts'

const text = (said: string) => ({ type: 'text', text: said })
const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
const rows = { rows: [{ id: 1, name: 'Ada' }], next: null }

/** The result of the tool `a` if its server answers with this. */
async function callFor(result: object) {
  await using server = await startOddHttpServer([listed('a')], (response, { message: { id } }) =>
    json(response, { jsonrpc: '2.0', id, result }),
  )
  await using tools = await connectMcpServers({ odd: { url: server.url, prefix: '' } }, { logger: recordingLogger().logger })
  return await callTool(tools, 'a')
}

describe.concurrent('a result with `structuredContent`', () => {
  it.each<[string, object, unknown, unknown]>([
    ['an empty text', { content: [text('')], structuredContent: rows }, JSON.stringify(rows), rows],
    ['a blank text', { content: [text(' \n')], structuredContent: rows }, JSON.stringify(rows), rows],
    ['no part', { content: [], structuredContent: rows }, JSON.stringify(rows), rows],
    ['no `content`', { structuredContent: rows }, JSON.stringify(rows), rows],
    ['a summary', { content: [text('Found 1 row.')], structuredContent: rows }, `Found 1 row.\n${JSON.stringify(rows)}`, rows],
    [
      'a summary that names values',
      { content: [text('3 of 3 passed')], structuredContent: { passed: 3, failed: 3 } },
      '3 of 3 passed\n{"passed":3,"failed":3}',
      { passed: 3, failed: 3 },
    ],
    ['a text with other JSON', { content: [text('{"rows":1}')], structuredContent: rows }, `{"rows":1}\n${JSON.stringify(rows)}`, rows],
    ['very many brackets', { content: [text('[{'.repeat(20_000))], structuredContent: [1] }, `${'[{'.repeat(20_000)}\n[1]`, [1]],
    [
      'a document that is one of its fields',
      { content: [text('long '.repeat(50))], structuredContent: { text: 'long '.repeat(50), lines: 1 } },
      `${'long '.repeat(50)}\n{"text":"(see above)","lines":1}`,
      { text: 'long '.repeat(50), lines: 1 },
    ],
    [
      'the same picture',
      { content: [{ ...image, data: 'AAAA'.repeat(100) }], structuredContent: { content: [{ ...image, data: 'AAAA'.repeat(100) }] } },
      [
        { type: 'image', data: 'AAAA'.repeat(100), mediaType: 'image/png' },
        { type: 'text', text: '{"content":[{"type":"image","data":"(see above)","mimeType":"image/png"}]}' },
      ],
      { content: [{ ...image, data: 'AAAA'.repeat(100) }] },
    ],
    [
      'a few words that are one of its fields',
      { content: [text('Ada')], structuredContent: { name: 'Ada', friend: 'Bob' } },
      'Ada\n{"name":"Ada","friend":"Bob"}',
      { name: 'Ada', friend: 'Bob' },
    ],
    ['braces that are no JSON', { content: [text('{x} and }{')], structuredContent: rows }, `{x} and }{\n${JSON.stringify(rows)}`, rows],
    [
      'a picture',
      { content: [image], structuredContent: { width: 1 } },
      [
        { type: 'image', data: 'AAAA', mediaType: 'image/png' },
        { type: 'text', text: '{"width":1}' },
      ],
      { width: 1 },
    ],
  ])('E2.3 is shown to the model in addition to %s', async (_what, result, content, structured) => {
    expect(await callFor(result)).toMatchObject({ outcome: 'ok', content, value: { structured } })
  })

  it.each<[string, unknown[], unknown]>([
    ['the same JSON', [text(JSON.stringify(rows))], rows],
    ['the same JSON, over lines', [text(JSON.stringify(rows, undefined, 2))], rows],
    ['the same JSON in another order', [text('{"next":null,"rows":[{"name":"Ada","id":1}]}')], rows],
    ['the same JSON in a fence, with words', [text(`Here:\n\`\`\`json\n${JSON.stringify(rows)}\n\`\`\`\nThat is all.`)], rows],
    ['the same JSON and a link', [text(JSON.stringify(rows)), text('docs: http://a')], rows],
    ['the same JSON behind brackets', [text(`[INFO] ${JSON.stringify(rows)}`)], rows],
    ['the text that is the field `result`', [text('It is sunny.')], { result: 'It is sunny.' }],
    ['the JSON of the field `result`', [text('[1, 2]')], { result: [1, 2] }],
    ['the text that is the only field, whatever its name', [text('Buy milk.')], { content: 'Buy milk.' }],
    ['the number that is the field `result`', [text('42')], { result: 42 }],
    ['texts of the items of a list', [text('one'), text('{"n": 2}')], { result: ['one', { n: 2 }] }],
    ['a list that is the data', [text('[1,2]')], [1, 2]],
    ['a text, and is empty', [text('Done.')], {}],
    ['a text, and is null', [text('Done.')], null],
  ])('E2.3 is not repeated next to %s', async (_what, content, structuredContent) => {
    const told = content.map((part) => (part as { text: string }).text).join('\n')
    expect(await callFor({ content, structuredContent })).toMatchObject({ outcome: 'ok', content: told })
  })

  it.each<[string, object, string]>([
    ['alone', { content: [], structuredContent: { error: 'quota' } }, '{"error":"quota"}'],
    ['beside an empty text', { content: [text('')], structuredContent: { error: 'quota' } }, '{"error":"quota"}'],
    ['without `content`', { structuredContent: { error: 'quota' } }, '{"error":"quota"}'],
    ['beside a summary', { content: [text('Failed.')], structuredContent: { error: 'quota' } }, 'Failed.\n{"error":"quota"}'],
    ['as the same text', { content: [text('{"error": "quota"}')], structuredContent: { error: 'quota' } }, '{"error": "quota"}'],
    ['nowhere', { content: [] }, 'The MCP server `odd` says that the call failed, but not why.'],
    ['nowhere, in an empty text', { content: [text(' ')] }, 'The MCP server `odd` says that the call failed, but not why.'],
    ['nowhere, beside null', { content: [], structuredContent: null }, 'The MCP server `odd` says that the call failed, but not why.'],
  ])('E2.3 says why a call failed, %s', async (_where, result, content) => {
    expect(await callFor({ ...result, isError: true })).toMatchObject({ outcome: 'failed', content })
  })

  it('E2.3 that is nested too deeply fails the call, not the connection', async () => {
    const depth = 20_000
    const deep = '['.repeat(depth) + ']'.repeat(depth)
    await using server = await startOddHttpServer([listed('a')], (response, { message: { id } }) => {
      const result = `{"content":[{"type":"text","text":${JSON.stringify(deep)}}],"structuredContent":${deep}}`
      response.setHeader('content-type', 'application/json').end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
    })
    await using tools = await connectMcpServers({ odd: { url: server.url, prefix: '' } }, { logger: recordingLogger().logger })
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'a', args: {} }] }, 'done']), tools, logger })
    const { output, toolCalls } = await runner.run('go')
    expect(output).toBe('done')
    expect(toolCalls[0]?.content).toBe('The MCP server `odd` answered with something other than a tool result.')
    expect(tools.servers()).toMatchObject([{ state: 'ready' }])
  })
})
