import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { AgentRunner, type JsonObject, type RunResult } from '../../../src/index.ts'
import { memoryJournal, scriptedModel } from '../../../src/testing/index.ts'
import { connectMcpServers, type McpServerOptions } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { inFolder } from '../../journals/temp-folder.ts'
import { callTool } from './open-tools.ts'

const packages = fileURLToPath(new URL('../../../.ci/conformance/node_modules/@modelcontextprotocol/', import.meta.url))
const programs = Object.fromEntries(
  ['everything', 'filesystem', 'memory', 'sequential-thinking'].map((name) => [name, join(packages, `server-${name}`, 'dist', 'index.js')]),
)
const areThere = Object.values(programs).every((program) => existsSync(program))

type Options = McpServerOptions & { args?: string[]; env?: Record<string, string> }

function open(name: string, { args = [], ...options }: Options = {}) {
  const server = { command: process.execPath, args: [programs[name] ?? '', ...args], prefix: '', ...options }
  return connectMcpServers({ [name]: server }, { logger: recordingLogger().logger })
}

type Tools = Awaited<ReturnType<typeof open>>

const resultOf = async (tools: Tools, name: string, args: object = {}): Promise<JsonObject> => {
  const end = await callTool(tools, name, args)
  expect(end).toMatchObject({ outcome: 'ok' })
  return (end.outcome === 'ok' ? end.value : {}) as JsonObject
}

/** A run that calls one tool; its model answers the server's requests. */
function runOf(tools: Tools, name: string, args: JsonObject = {}, options: object = {}) {
  const model = scriptedModel(({ messages }) => {
    if (messages.every(({ content }) => content !== 'Go.')) return 'the words of the model'
    return messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name, args }] }
  })
  return new AgentRunner({ model, tools, logger: recordingLogger().logger, ...options })
}
const contentOf = ({ toolCalls: [call] }: Pick<RunResult, 'toolCalls'>) => JSON.stringify(call?.content)

describe.skipIf(!areThere)('the official servers (skipped without `npm ci --prefix .ci/conformance`)', () => {
  it('everything: returns pictures, links, resources, prompts, and instructions', async () => {
    await using tools = await open('everything', { resources: 'all', prompts: true, instructions: true })
    expect(await resultOf(tools, 'get-tiny-image')).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: 'image' })]),
    })
    const resources = await tools.resources('everything')
    expect(resources.length).toBeGreaterThan(0)
    const [first] = resources
    expect(await tools.readResource('everything', first?.uri ?? '')).toHaveLength(1)
    expect((await tools.resourceTemplates('everything')).length).toBeGreaterThan(0)
    const prompts = await tools.prompts('everything')
    expect(prompts.map(({ name }) => name)).toEqual(expect.arrayContaining(['simple-prompt', 'args-prompt']))
    expect(await tools.prompt('everything', 'args-prompt', { city: 'Oslo' })).toMatchObject([
      { role: 'user', content: expect.stringContaining('Oslo') },
    ])
    expect(await callTool(tools, 'list_resources', { search: 'demo' })).toMatchObject({ outcome: 'ok' })
    expect((await tools.instructions()).length).toBeGreaterThan(100)
  })

  it('everything: lets the run read a link that it received', async () => {
    await using tools = await open('everything', { resources: 'links' })
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'tool') return { toolCalls: [{ name: 'get-resource-links', args: { count: 2 } }] }
      const uri = /demo:\/\/[^\s)]+/.exec(JSON.stringify(last.content).replaceAll('\\n', ' '))?.[0]
      return uri === undefined || messages.length > 4 ? 'Done.' : { toolCalls: [{ name: 'read_resource', args: { uri } }] }
    })
    const { toolCalls } = await new AgentRunner({ model, tools, logger: recordingLogger().logger }).run('Go.')
    expect(toolCalls.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['get-resource-links', 'ok'],
      ['read_resource', 'ok'],
    ])
  })

  it('everything: asks people and the model', async () => {
    await using tools = await open('everything', { sampling: true })
    const asking = runOf(tools, 'trigger-elicitation-request')
    const paused = await asking.run('Go.')
    expect(paused.pending).toMatchObject([{ kind: 'question', about: { mcpServer: 'everything' } }])
    const answer = { action: 'decline' }
    const result = await asking.resume(paused.state, { decisions: paused.pending.map((item) => ({ ...item, answer })) })
    expect(contentOf(result)).toMatch(/declined/i)
    const sampled = await runOf(tools, 'trigger-sampling-request', { prompt: 'Say something.', maxTokens: 20 }).run('Go.')
    expect(contentOf(sampled)).toContain('the words of the model')
    expect(sampled.toolCalls[0]).toMatchObject({ outcome: 'ok', nested: { usage: { totalTokens: expect.any(Number) } } })
  })

  it('everything: runs research as a task that asks a question', async () => {
    await using tools = await open('everything')
    const runner = runOf(tools, 'simulate-research-query', { topic: 'python', ambiguous: true }, { journal: memoryJournal() })
    const paused = await runner.run('Go.', { runId: 'research' })
    expect(paused.pending).toMatchObject([{ kind: 'question', schema: { required: ['interpretation'] } }])
    const [item] = paused.pending
    const { properties } = (item?.schema ?? {}) as { properties: { interpretation: { oneOf: { const: string }[] } } }
    const interpretation = properties.interpretation.oneOf[0]?.const ?? ''
    const result = await runner.resume('research', { decisions: paused.pending.map((one) => ({ ...one, answer: { interpretation } })) })
    expect(result.toolCalls[0]).toMatchObject({ outcome: 'ok' })
    expect(contentOf(result)).toMatch(/Research Report/)
  })

  it('filesystem: returns folders, texts, pictures and structured results; nothing outside of its folder', async () => {
    await inFolder(async (folder) => {
      writeFileSync(join(folder, 'note.txt'), 'Buy milk.')
      const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
      writeFileSync(join(folder, 'dot.png'), png)
      await using tools = await open('filesystem', { args: [folder], trustAnnotations: true })
      expect(tools.get('read_text_file')).toMatchObject({ effect: 'read' })
      expect(JSON.stringify(await resultOf(tools, 'list_directory', { path: folder }))).toMatch(/note\.txt/)
      expect(await resultOf(tools, 'read_text_file', { path: join(folder, 'note.txt') })).toMatchObject({
        content: 'Buy milk.',
        structured: {},
      })
      const media = await resultOf(tools, 'read_media_file', { path: join(folder, 'dot.png') })
      expect(JSON.stringify(media.content)).toContain(png.toString('base64'))
      const text = 'Buy milk. '.repeat(100)
      writeFileSync(join(folder, 'long.txt'), text)
      expect(await resultOf(tools, 'read_text_file', { path: join(folder, 'long.txt') })).toMatchObject({ content: text })
      expect(await callTool(tools, 'read_text_file', { path: '/etc/passwd' })).toMatchObject({ outcome: 'failed' })
    })
  })

  it('memory: remembers across restarts', async () => {
    await inFolder(async (folder) => {
      const file = join(folder, 'memory.json')
      const options = { env: { MEMORY_FILE_PATH: file } }
      {
        await using tools = await open('memory', options)
        const entities = [{ name: 'Ann', entityType: 'person', observations: ['likes tea'] }]
        expect(await resultOf(tools, 'create_entities', { entities })).toMatchObject({ structured: { entities: [{ name: 'Ann' }] } })
      }
      expect(readFileSync(file, 'utf8')).toContain('likes tea')
      await using tools = await open('memory', options)
      expect(await resultOf(tools, 'search_nodes', { query: 'tea' })).toMatchObject({ structured: { entities: [{ name: 'Ann' }] } })
    })
  })

  it('sequential-thinking: thinks', async () => {
    await using tools = await open('sequential-thinking')
    const thought = { thought: 'First things first.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
    expect(JSON.stringify(await resultOf(tools, 'sequentialthinking', thought))).toMatch(/thoughtNumber/)
  })
})
