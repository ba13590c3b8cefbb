import { describe, expect, it } from 'vitest'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import type { Logger } from '../../src/core/logger.ts'
import { AgentRunner, asTool, defineTool, handoff, memorySessions } from '../../src/index.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** The paths of fields that are there but undefined. */
function undefinedFields(value: unknown, at: string): string[] {
  if (typeof value !== 'object' || value === null || value instanceof Error) return []
  return Object.entries(value).flatMap(([name, field]) =>
    field === undefined ? [`${at}.${name}`] : undefinedFields(field, `${at}.${name}`),
  )
}

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
  effect: 'read',
  execute: ({ a }) => a + 1,
})
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  execute: () => {
    throw new Error('broken')
  },
})
const expert = new AgentRunner({ model: scriptedModel(['Yes.', 'No.']), instructions: 'Know.' })
const tools = [
  add,
  pay,
  fail,
  asTool(expert, { name: 'ask', description: 'Asks.' }),
  handoff(expert, { name: 'expert', description: 'Knows.' }),
]

async function shown(options: RunnerOptions): Promise<string[]> {
  const runner = new AgentRunner({ tools, ...options })
  const found: string[] = []
  runner.bus.onAny((name, payload, meta) => void found.push(...undefinedFields({ ...payload, meta }, name)))
  const result = await runner.run('go')
  found.push(...undefinedFields(result, 'result'))
  if (result.state === undefined) return found
  const resumed = await runner.resume(result.state, { decisions: result.pending.map((item) => ({ ...item, approved: false })) })
  return [...found, ...undefinedFields(resumed, 'resumed')]
}

const call = (name: string, args = {}): ScriptedTurn => ({ toolCalls: [{ name, arguments: args }] })

describe('results, messages and events have no undefined field, which printing them would show', () => {
  it.each<[string, (ScriptedTurn | string)[]]>([
    ['an answer', ['Hello.']],
    ['a call', [call('add', { a: 1 }), 'Two.']],
    ['refused calls', [call('add', { a: 'x' }), call('nothing'), 'Well.']],
    ['a call that fails', [call('fail'), 'Well.']],
    ['a call that waits, and is declined', [call('pay'), 'Well.']],
    ['a nested run', [call('ask', { task: 'Is it?' }), 'Yes.']],
    ['a handoff', [call('hand_off_to_expert')]],
  ])('%s', async (_what, replies) => {
    expect(await shown({ model: scriptedModel(replies), logger: silent })).toEqual([])
  })

  it.each(['chat-completions', 'responses', 'anthropic', 'google'])('a call with %s', async (api) => {
    await using provider = await startStrictProvider({ script: [call('add', { a: 1 }), 'Two.'] })
    const { baseURL } = provider
    const name = { 'chat-completions': 'openai', responses: 'openai', anthropic: 'anthropic', google: 'google' }[api] ?? ''
    const settings = { provider: name, model: 'm', apiKey: 'test-key', baseURL, ...(name === 'openai' ? { api } : {}) }
    expect(await shown({ model: settings, sessions: memorySessions(), logger: silent })).toEqual([])
  })

  it('a model that fails', async () => {
    await using provider = await startStrictProvider({ script: [{ fault: { status: 401 } }] })
    const model = { provider: 'openai', model: 'm', apiKey: 'test-key', baseURL: provider.baseURL }
    expect(await shown({ model, logger: silent })).toEqual([])
  })
})
