import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { callsOf } from '../../src/recording/format.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { playsByteEqual } from '../recording/recorded.ts'

const { logger } = recordingLogger()
const double = defineTool({
  name: 'double',
  description: 'x',
  parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  effect: 'read',
  execute: ({ n }) => n * 2,
})
const pay = defineTool({ name: 'pay', description: 'x', approval: true, execute: () => 'paid' })
const told = (code: string) =>
  scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool' ? String(last.content) : { toolCalls: [{ name: 'run_script', args: { code } }] }
  })

it('a recorded run with a script, played again and recorded again, gives the same bytes', async () => {
  const model = told(
    'const all = await Promise.all([tools.double({ n: 1 }), tools.double({ n: 2 })])\nreturn [all, await tools.nope().catch(() => 0)]',
  )
  const { recording } = await playsByteEqual((record) => new AgentRunner({ model, tools: codeMode([double]), logger }).run('go', record))
  const [call] = callsOf(recording)
  expect(call).toMatchObject({ tool: 'run_script', outcome: 'ok' })
  expect(call?.runs?.[0] && callsOf(call.runs[0]).map(({ tool, outcome }) => [tool, outcome])).toEqual([
    ['double', 'ok'],
    ['double', 'ok'],
  ])
})

it('so does one that has paused in a script', async () => {
  const model = told('const d = await tools.double({ n: 1 })\nreturn [d, await tools.pay()]')
  const runner = () => new AgentRunner({ model, tools: codeMode([double, pay]), logger })
  let paused: Awaited<ReturnType<AgentRunner['run']>> | undefined
  await playsByteEqual(
    async (record) => {
      paused = await runner().run('go', record)
    },
    async (record) => {
      const decisions = paused?.pending.map((item) => ({ ...item, approved: true as const })) ?? []
      expect((await runner().resume(paused?.state, { decisions, ...record })).output).toBe('[2,"paid"]')
    },
  )
})

it('so does one whose script fails', async () => {
  const model = told('await tools.double({ n: 1 })\nthrow new Error("no good")')
  const { recording } = await playsByteEqual((record) => new AgentRunner({ model, tools: codeMode([double]), logger }).run('go', record))
  expect(callsOf(recording)[0]).toMatchObject({ outcome: 'failed', content: 'no good (line 2 of the script)' })
})
