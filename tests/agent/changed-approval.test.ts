import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ApprovalDecision } from '../../src/agent/types/options.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

async function paying(decision: ApprovalDecision) {
  const paid: unknown[] = []
  const parameters = {
    type: 'object',
    properties: { euros: { type: 'number' } },
    required: ['euros'],
    additionalProperties: false,
  } as const
  const pay = defineTool({ name: 'pay', description: 'Pays.', parameters, approval: true, execute: (args) => void paid.push(args) })
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', args: { euros: 250 } }] }, 'Done.'])
  const { logger, records } = recordingLogger()
  const result = await new AgentRunner({ model, tools: [pay], logger, approve: () => decision }).run('Pay.')
  return { paid, result, told: JSON.stringify(model.requests[1]?.messages), records }
}

it('a call runs with the arguments that `approve` returns, and its model is told', async () => {
  const { paid, result, told } = await paying({ approved: true, args: { euros: 20 } })
  expect(paid).toEqual([{ euros: 20 }])
  expect(result.toolCalls[0]).toMatchObject({ args: { euros: 20 }, repairs: ['arguments changed by whoever approved the call'] })
  expect(told).toContain('run with other arguments: {\\"euros\\":20}')
})

it('the same arguments are not a change', async () => {
  const { paid, result, told } = await paying({ approved: true, args: { euros: 250 } })
  expect(paid).toEqual([{ euros: 250 }])
  expect(result.toolCalls[0]?.repairs).toBeUndefined()
  expect(told).not.toContain('other arguments')
})

it('a call is refused if `approve` returns invalid arguments or does not approve', async () => {
  for (const decision of [
    { approved: true, args: { euros: 'many' } },
    { approved: false, args: { euros: 20 } },
  ]) {
    const { paid, result } = await paying(decision)
    expect(paid).toEqual([])
    expect(result.toolCalls[0]).toMatchObject({ outcome: 'denied' })
  }
})

it('the log has no secret of the invalid arguments that `approve` returned', async () => {
  const parameters = { type: 'object', properties: { pin: { type: 'string' } }, additionalProperties: false } as const
  const login = defineTool({ name: 'login', description: '', parameters, secrets: ['pin'], approval: true, execute: () => 'in' })
  const wrong: JsonObject[] = [{ pin: 'sesame-77', other: 1 }, { pin: { said: 'sesame-77' } }]
  for (const args of wrong) {
    const model = scriptedModel([{ toolCalls: [{ name: 'login', args: { pin: 'none' } }] }, 'Done.'])
    const { logger, records } = recordingLogger()
    await new AgentRunner({ model, tools: [login], logger, approve: () => ({ approved: true, args }) }).run('Log in.')
    expect(records.map(({ message }) => message)).toEqual(['approve threw; the call is refused'])
    expect(JSON.stringify(records)).not.toContain('sesame')
  }
})

it('`approve` may remember an approval, as a decision may', async () => {
  let asked = 0
  const twice = [{ name: 'pay', args: { euros: 5 } }]
  const parameters = { type: 'object', properties: { euros: { type: 'number' } } } as const
  const pay = defineTool({ name: 'pay', description: 'Pays.', parameters, approval: true, execute: () => 'paid' })
  const runner = new AgentRunner({
    model: scriptedModel([{ toolCalls: twice }, { toolCalls: twice }, 'done']),
    tools: [pay],
    approve: () => {
      asked++
      return { approved: true, remember: true }
    },
  })
  const result = await runner.run('Pay twice.')
  expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
  expect(asked).toBe(1)
  expect(result.remembered).toHaveLength(1)
})

it('a call that an entry of `plan` asks about each time, and whose arguments change each time, is refused after the second change', async () => {
  const paid: unknown[] = []
  const parameters = { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] } as const
  const pay = defineTool({ name: 'pay', description: 'Pays.', parameters, execute: (args) => void paid.push(args) })
  const script = [{ toolCalls: [{ name: 'pay', args: { euros: 1 } }] }, 'Done.']
  const plan = [{ name: 'four eyes', call: () => ({ ask: 'Pay?' }) }]
  const asked: unknown[] = []
  const approve = ({ args }: { args: JsonObject }) => {
    asked.push(args.euros)
    return { approved: true, args: { euros: Number(args.euros) + 1 } }
  }
  const contents = (messages: readonly ChatMessage[]) => messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  const { toolCalls, messages } = await new AgentRunner({ model: scriptedModel(script), tools: [pay], plan, approve }).run('Pay.')
  expect([asked, paid]).toEqual([[1, 2], []])
  const refused = 'The call to `pay` was refused: its arguments were changed twice, and still need an approval'
  expect(toolCalls).toMatchObject([{ outcome: 'denied', decision: { approved: true } }])
  expect(contents(messages)).toEqual([refused])

  // One who changes them once, and one who answers without `approve`.
  const once = ({ args }: { args: JsonObject }) => ({ approved: true, args: { euros: Math.max(2, Number(args.euros)) } })
  await new AgentRunner({ model: scriptedModel(script), tools: [pay], plan, approve: once }).run('Pay.')
  expect(paid).toEqual([{ euros: 2 }])
  const runner = new AgentRunner({ model: scriptedModel(script), tools: [pay], plan })
  let result = await runner.run('Pay.')
  let times = 0
  for (; result.stopReason === 'paused'; times++) {
    const decisions = result.pending.map((item) => ({ ...item, approved: true as const, args: { euros: Number(item.args.euros) + 1 } }))
    result = await runner.resume(JSON.parse(JSON.stringify(result.state)), { decisions })
  }
  expect([times, contents(result.messages), paid.length]).toEqual([2, [refused], 1])
})
