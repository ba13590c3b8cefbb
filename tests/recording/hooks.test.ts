import { expect, it } from 'vitest'
import { AgentRunner, defineTool, type Hooks, type ModelResponse, type RunResult } from '../../src/index.ts'
import { requestsOf } from '../../src/recording/format.ts'
import { type RecordedRunOptions, replayRun } from '../../src/recording/index.ts'
import { replayModel, replayTools, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { playsByteEqual, recorded } from './recorded.ts'

const usage = { inputTokens: 10, outputTokens: 2 }
const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks up.',
  parameters: { type: 'object', properties: { id: { type: 'number' } } },
  execute: ({ id }: { id?: number }) => ({ id, name: 'Ada' }),
})
const calling = (id: number) => ({ id: `call_${id}`, type: 'function' as const, function: { name: 'look_up', arguments: `{"id":${id}}` } })
/** Answers a request by itself as long as there are fewer results than this. */
const answers = (turns: number): Hooks => ({
  aroundModel({ messages }, next) {
    const done = messages.filter(({ role }) => role === 'tool').length
    const answer: ModelResponse = { text: '', toolCalls: [calling(done + 1)], finishReason: 'tool_calls' }
    return done < turns ? answer : next()
  },
})

it('a response from a hook is a turn of the recording, with the calls it made', async () => {
  const runner = new AgentRunner({ model: scriptedModel([{ text: 'It is Ada.', usage }]), tools: [lookUp], hooks: [answers(2)] })
  const { recording } = await playsByteEqual((record) => runner.run('Who?', record))
  const answered = requestsOf(recording).map(([where, { answeredBy }]) => [where, answeredBy])
  expect(answered).toEqual([
    ['1.model', 'hook'],
    ['2.model', 'hook'],
    ['3.model', undefined],
  ])
  expect(Object.keys(recording.steps)).toEqual(['1.model', '1.tool.0', '2.model', '2.tool.0', '3.model'])
})

it('a response from a hook is also replayed in a test that has the hook', async () => {
  const runner = new AgentRunner({ model: scriptedModel([{ text: 'It is Ada.', usage }]), tools: [lookUp], hooks: [answers(1)] })
  const { recording } = await recorded((record) => runner.run('Who?', record))
  const again = new AgentRunner({ model: replayModel(recording), tools: replayTools(recording), hooks: [answers(1)] })
  expect(await again.run('Who?')).toMatchObject({ stopReason: 'answered', output: 'It is Ada.', toolCalls: [{ outcome: 'ok' }] })
})

it('a response that a hook has changed is not a turn of its own', async () => {
  const hook: Hooks = { aroundModel: async (_, next) => ({ ...(await next()), text: 'changed' }) }
  const runner = new AgentRunner({ model: scriptedModel([{ text: 'It is Ada.', usage }]), hooks: [hook] })
  const { recording } = await recorded((record) => runner.run('Who?', record))
  expect(requestsOf(recording).map(([, { answeredBy, response }]) => [answeredBy, response?.text])).toEqual([[undefined, 'It is Ada.']])
})

it('a recorder that fails does not affect the run, and is logged once', async () => {
  const { logger, records } = recordingLogger()
  const model = scriptedModel([{ toolCalls: [{ name: 'look_up', args: { id: 7 } }], usage }, 'Done.'])
  const toJSON = () => {
    throw new Error('unreadable')
  }
  const unreadable = { nativeTools: true, toJSON }
  const runner = new AgentRunner({ model: { ...model, capabilities: unreadable }, tools: [lookUp], logger })
  let result: RunResult | undefined
  const start = async (record: RecordedRunOptions) => {
    result = await runner.run('go', record)
  }
  await expect(recorded(start)).rejects.toThrow('no run was recorded')
  expect(result).toMatchObject({ stopReason: 'answered', output: 'Done.', toolCalls: [{ outcome: 'ok' }] })
  const failures = records.filter(({ message }) => message === 'the recorder failed; the run continues')
  expect(failures).toMatchObject([{ level: 'error', fields: { runId: result?.runId, error: 'unreadable' } }])
})

it('a hook around a tool gets the value that the tool returned when that is replayed', async () => {
  const seen: unknown[] = []
  const hook: Hooks = {
    async aroundTool(_, next) {
      seen.push(await next())
      return undefined
    },
  }
  const say = defineTool({ name: 'say', description: 'Says.', execute: () => 'as it is' })
  const model = scriptedModel([
    { toolCalls: [{ name: 'look_up', args: { id: 7 } }, { name: 'say' }], usage },
    { text: 'Done.', usage },
  ])
  const { recording } = await recorded((record) => new AgentRunner({ model, tools: [lookUp, say], hooks: [hook] }).run('go', record))
  await new AgentRunner({ model: replayModel(recording), tools: replayTools(recording), hooks: [hook] }).run('go')
  expect(seen).toEqual([{ id: 7, name: 'Ada' }, 'as it is', { id: 7, name: 'Ada' }, 'as it is'])
  expect((await replayRun(recording)).difference).toBeUndefined()
})

it.each<[string, Hooks]>([
  ['aroundTool', { aroundTool: () => ({ id: 7, name: 'Grace' }) }],
  ['beforeTool', { beforeTool: () => ({ result: { id: 7, name: 'Grace' } }) }],
])('a call that %s answers instead of its tool is in the recording, and is replayed', async (_, hook) => {
  const model = scriptedModel([
    { toolCalls: [{ name: 'look_up', args: { id: 7 } }], usage },
    { text: 'Done.', usage },
  ])
  const { recording } = await playsByteEqual((record) => new AgentRunner({ model, tools: [lookUp], hooks: [hook] }).run('go', record))
  expect(recording.steps['1.tool.0']).toMatchObject({ outcome: 'ok', content: '{"id":7,"name":"Grace"}' })
})
