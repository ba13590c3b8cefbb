import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { createModel } from '../../src/models/create-model.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { inFolder } from '../journals/temp-folder.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

/** A text that ends with half a character. */
const half = (text: string) => `${text} \ud83d`
const whole = (text: string) => `${text} \ufffd`

const models = [
  ['openai', 'gpt-4o', '/v1'],
  ['openai-responses', 'gpt-5.2', '/v1'],
  ['anthropic', 'claude-sonnet-4-5', ''],
  ['google', 'gemini-3.5-flash', ''],
] as const

const tools = (results: unknown[]) => [
  defineTool({
    name: 'look',
    description: half('Looks.'),
    parameters: {
      type: 'object',
      properties: { place: { type: 'string', description: half('A place.'), examples: [half('Oslo')] } },
    },
    execute: (args) => {
      results.push(args)
      return { content: half('seen') }
    },
    toContent: () => [{ type: 'text' as const, text: half('seen') }],
  }),
]

/** Every text in a body, including those in JSON texts. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    try {
      const inner: unknown = JSON.parse(value)
      return typeof inner === 'object' && inner !== null ? [value, ...textsIn(inner)] : [value]
    } catch {
      return [value]
    }
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsIn(item)])
}

const malformed = (value: unknown) => textsIn(value).filter((text) => !text.isWellFormed())

describe('a lone surrogate', () => {
  it.each(models)('F25 never reaches %s, whatever its source', async (name, model, path) => {
    await using provider = await startStrictProvider({
      script: [
        {
          reasoning: half('Where?'),
          text: half('I look.'),
          toolCalls: [
            // As a model writes it: escaped, in the JSON text of its arguments.
            { id: 'call_1', name: 'look', arguments: '{"place":"Oslo \\ud83d","odd \\udc00":"\\ud83d\\ude00 \\\\ud83d"}' },
            { id: 'call_2', name: 'look', arguments: { place: half('Rome') } },
          ],
        },
        half('Done.'),
        'Bye.',
      ],
    })
    const seen: unknown[] = []
    const runner = new AgentRunner({
      model: createModel({ provider: name, model, apiKey: 'sk-ant-k', baseURL: `${provider.url}${path}`, maxRetries: 0 }),
      tools: tools(seen),
      instructions: half('Be brief.'),
      logger: recordingLogger().logger,
    })
    const first = await runner.run([{ role: 'user', content: [{ type: 'text', text: half('Where is it?') }] }])
    expect(first).toMatchObject({ stopReason: 'answered', output: whole('Done.') })
    expect(malformed(first.messages)).toEqual([])
    // The tool receives what the conversation says.
    expect(seen).toEqual([{ place: whole('Oslo'), 'odd \ufffd': '\u{1f600} \\ud83d' }, { place: whole('Rome') }])
    const second = await runner.run(half('Thanks!'), { messages: first.messages })
    expect(second).toMatchObject({ stopReason: 'answered', output: 'Bye.' })
    expect(provider.requests).toHaveLength(3)
    for (const { body } of provider.requests) expect(malformed(body)).toEqual([])
    const sent = textsIn(provider.requests.at(-1)?.body).join()
    for (const text of ['Be brief.', 'Where is it?', 'Looks.', 'A place.', 'Oslo', 'Rome', 'seen', 'Done.', 'Thanks!']) {
      expect(sent).toContain(whole(text))
    }
  })

  it('F25 is stored neither in a session nor in a journal', () =>
    inFolder(async (folder) => {
      await using provider = await startStrictProvider({
        script: [
          { text: half('I look.'), toolCalls: [{ id: 'call_1', name: 'look', arguments: '{"place":"Oslo \\ud83d"}' }] },
          half('Done.'),
        ],
      })
      const file = `${folder}/runs.db`
      const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL: provider.baseURL, maxRetries: 0 })
      const journal = sqliteJournal({ file })
      const sessions = memorySessions()
      const options = { model, tools: tools([]), instructions: half('Be brief.'), journal, sessions, logger: recordingLogger().logger }
      const { output } = await new AgentRunner(options).run(half('Where?'), { session: 'chat', metadata: { note: half('note') } })
      expect(output).toBe(whole('Done.'))
      const kept = await sessions.read('chat')
      expect(kept.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
      expect(malformed(kept)).toEqual([])
      await journal.close()
      const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
      const database = new DatabaseSync(file, { readOnly: true })
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
      const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM "${String(name)}"`).all())
      database.close()
      expect(JSON.stringify(rows)).toContain(whole('Done.'))
      expect(rows.flatMap((row) => malformed(row))).toEqual([])
    }))
})
