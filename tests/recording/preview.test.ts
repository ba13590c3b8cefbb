import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunResult } from '../../src/agent/types/options.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { recordRun, replayRun } from '../../src/recording/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { tempFolder } from '../cli/temp-folder.ts'

const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } as const
const call = (name: string, id: string) => ({ name, args: { id } })
const made = {
  calls: [call('pay', 'a'), call('set', 'b'), call('pay', 'c')],
  agent: [{ name: 'helper', args: { task: 'x' } }],
  script: [{ name: 'run_script', args: { code: 'console.log(1)\nreturn [await tools.set({ id: "q" }), await tools.pay({ id: "r" })]' } }],
}
const results = ({ messages = [] }: Partial<Pick<RunResult, 'messages'>>) =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))

describe.each(['calls', 'agent', 'script'] as const)('a recorded preview of %s', (kind) => {
  it('is replayed with its plan, its decisions and the same results', async () => {
    const pay = defineTool({ name: 'pay', description: 'x', parameters, execute: ({ id }) => `paid ${id}` })
    const set = defineTool({
      name: 'set',
      description: 'x',
      parameters,
      preview: ({ id }) => `would set ${id}`,
      execute: ({ id }) => `set ${id}`,
    })
    const inner = new AgentRunner({ model: scriptedModel([{ toolCalls: [call('pay', 'n')] }, 'inner plan', 'inner done']), tools: [pay] })
    const helper = asTool(inner, { name: 'helper', description: 'x' })
    const model = scriptedModel([{ toolCalls: made[kind] }, 'plan', 'done'])
    const runner = new AgentRunner({ model, tools: kind === 'script' ? codeMode([pay, set]) : [pay, set, helper] })
    const file = join(await tempFolder({}), 'run.json')
    const result = await recordRun(async (record) => {
      const plan = await runner.run('go', { effects: 'preview', ...record })
      const decisions = plan.pending.map((item) => ({ ...item, approved: item.args.id !== 'c' }))
      return runner.resume(plan.state, { decisions, ...record })
    }, file)
    const replayed = await replayRun(file)
    expect([replayed.difference, replayed.result?.output]).toEqual([undefined, 'done'])
    expect(results(replayed.result ?? {})).toEqual(results(result))
  })
})
