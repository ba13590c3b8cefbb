import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Decision } from '../../src/agent/decisions/decisions.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { PendingItem, RunnerOptions } from '../../src/agent/types/options.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { agUiFormat, toAgUiResponse, toUIMessageResponse } from '../../src/ui/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const pin = 'sesame-77'
const parameters = { type: 'object', properties: { pin: { type: 'string' }, door: { type: 'string' } } } as const
const opened: unknown[] = []
const openDoor = (approval: boolean) =>
  defineTool({
    name: 'open_door',
    description: 'Opens.',
    parameters,
    secrets: ['pin'],
    approval,
    execute: (args, { progress }) => {
      opened.push(args)
      progress({ tried: args.pin ?? '' })
      return { said: `opened with ${args.pin}`, pin: args.pin, door: args.door }
    },
  })
const turns = ({ messages }: { messages: readonly { role: string }[] }) =>
  messages.at(-1)?.role === 'user' ? { toolCalls: [{ id: 'c', name: 'open_door', args: { pin, door: 'front' } }] } : 'done'

/** Runs, approves the pending calls, and returns everything that listeners and responses received. */
async function told(settings: Partial<RunnerOptions>, decide: (item: PendingItem) => Decision = (item) => ({ ...item, approved: true })) {
  opened.length = 0
  const runner = new AgentRunner({ model: scriptedModel(turns), ...settings })
  const events: unknown[] = []
  runner.bus.onAny((name, payload) => void events.push([name, payload]))
  const responses: string[] = []
  const watch = async (run: ReturnType<AgentRunner['stream']>) => {
    const all = [run.toResponse(), toUIMessageResponse(run), toAgUiResponse(run), run.toResponse({ format: agUiFormat() })]
    responses.push(...(await Promise.all(all.map((response) => response.text()))))
    return run.result
  }
  let result = await watch(runner.stream('go'))
  if (result.stopReason === 'paused') result = await watch(runner.resumeStream(result.state, { decisions: result.pending.map(decide) }))
  return { result, events, responses }
}

describe.each([
  ['without an approval', [openDoor(false)]],
  ['with an approval', [openDoor(true)]],
  ['in an agent inside a call', undefined],
])('a tool with secrets, %s', (_name, tools) => {
  const inner = asTool(new AgentRunner({ model: scriptedModel(turns), tools: [openDoor(true)] }), { name: 'open_door', description: 'x' })
  const settings =
    tools === undefined
      ? {
          tools: [inner],
          model: scriptedModel(({ messages }) =>
            messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'open_door', args: { task: 'x' } }] } : 'done',
          ),
        }
      : { tools }

  it('P3.5 no event and no UI stream shows them; the tool and the model have them', async () => {
    const { result, events, responses } = await told(settings)
    expect(opened).toEqual([{ pin, door: 'front' }])
    expect(JSON.stringify(events)).not.toContain(pin)
    for (const text of responses) expect(text).not.toContain(pin)
    expect(JSON.stringify(events)).toContain(tools === undefined ? 'open_door' : '"pin":"[redacted]"')
    expect(JSON.stringify(result.messages).includes(pin)).toBe(tools !== undefined)
  })
})

it('P3.5 other arguments are shown, and so is the rest of the result', async () => {
  const { events } = await told({ tools: [openDoor(false)] })
  const shown = { pin: '[redacted]', door: 'front' }
  expect(events).toContainEqual(['TOOL_CALL_START', { tool: 'open_door', args: shown }])
  expect(events).toContainEqual(['TOOL_PROGRESS', { tool: 'open_door', update: { tried: '[redacted]' } }])
  const result = '{"said":"opened with [redacted]","pin":"[redacted]","door":"front"}'
  const end = { result, bytes: result.length, args: shown, value: { said: 'opened with [redacted]', ...shown } }
  expect(events).toContainEqual(['TOOL_CALL_END', expect.objectContaining(end)])
  const deltas = events.filter((event) => Array.isArray(event) && event[0] === 'TOOL_INPUT_DELTA')
  expect(deltas).toEqual([['TOOL_INPUT_DELTA', { index: 0, id: 'c', json: JSON.stringify(shown) }]])
})

it.each([
  [
    { pin: '[redacted]', door: 'front' },
    { pin, door: 'front' },
  ],
  [
    { pin: '[redacted]', door: 'back' },
    { pin, door: 'back' },
  ],
  [
    { pin: 'other', door: 'front' },
    { pin: 'other', door: 'front' },
  ],
])('P3.5 an approval with a page’s arguments keeps what was hidden: %j', async (args, expected) => {
  await told({ tools: [openDoor(true)] }, (item) => ({ ...item, approved: true, args }))
  expect(opened).toEqual([expected])
})

it('P3.5 the outer run hides the secrets of inner runs in its log', async () => {
  const { logger, records } = recordingLogger()
  const inner = scriptedModel([
    { toolCalls: [{ name: 'open_door', args: { pin, door: 'front' } }] },
    { text: `It was ${pin}.`, finishReason: 'refusal' },
  ])
  const ask = asTool(new AgentRunner({ model: inner, tools: [openDoor(false)], logger }), { name: 'ask', description: 'x' })
  const model = scriptedModel([{ toolCalls: [{ name: 'ask', args: { task: 'x' } }] }, 'done'])
  const { toolCalls } = await new AgentRunner({ model, tools: [ask], logger }).run('go')
  expect(toolCalls[0]).toMatchObject({ outcome: 'failed', content: expect.stringContaining(pin) })
  expect(records.length).toBeGreaterThan(0)
  expect(JSON.stringify(records)).not.toContain(pin)
})
