import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { createModel } from '../../src/models/create-model.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { startTracing } from './tracing.ts'

const usage = { inputTokens: 40, outputTokens: 10 }

it('the trace of a run with nested agents, an approval across a restart, a retry and a failed tool shows what happened', async () => {
  await using tracing = startTracing()
  await using provider = await startStrictProvider({
    script: ({ readRequest, index }) => {
      const { messages } = readRequest()
      const isResearch = messages.some(({ role, content }) => role === 'system' && content === 'You research.')
      const turns: MockReply[] = isResearch
        ? [
            { toolCalls: [{ id: 'look', name: 'look_up', args: {} }], usage },
            { text: '30 euros', usage },
          ]
        : [
            {
              toolCalls: [
                { id: 'ask', name: 'research', args: { task: 'the price' } },
                { id: 'stock', name: 'stock', args: {} },
              ],
              usage,
            },
            { toolCalls: [{ id: 'pay', name: 'pay', args: {} }], usage },
            { text: 'Paid.', usage },
          ]
      const answered = messages.filter(({ role }) => role === 'assistant').length
      return turns[answered] ?? { text: `unexpected request ${index}` }
    },
    faults: [{ status: 503 }],
  })
  const open = () => {
    const { logger } = recordingLogger()
    const model = createModel({ provider: 'custom', model: 'mock', baseURL: provider.baseURL, apiKey: 'k', maxRetryDelayMs: 1 })
    const lookUp = defineTool({ name: 'look_up', description: 'Looks something up.', execute: () => '30 euros' })
    const researcher = new AgentRunner({ model, tools: [lookUp], instructions: 'You research.', logger })
    const stock = defineTool({
      name: 'stock',
      description: 'What is in stock.',
      execute: () => {
        throw new Error('The warehouse is closed')
      },
    })
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    return new AgentRunner({
      name: 'clerk',
      model,
      logger,
      tools: [asTool(researcher, { name: 'research', description: 'Finds things out.' }), stock, pay],
      telemetry: telemetry({ tracer: tracing.tracer, meter: tracing.meter }),
    })
  }
  const paused = await open().run('Buy it.')
  expect(paused.stopReason).toBe('paused')
  // Another process has the state as JSON, and its own runner.
  const state = JSON.stringify(paused.state)
  const result = await open().resume(JSON.parse(state), { decisions: paused.pending.map((item) => ({ ...item, approved: true as const })) })
  expect(result).toMatchObject({ stopReason: 'answered', output: 'Paid.' })
  expect(tracing.tree()).toMatchInlineSnapshot(`
    "trace 1
      invoke_agent clerk (in=80 out=20 finish=tool_call ended=paused)
        chat mock (in=40 out=10 finish=tool_call retries=1)
          * toolloop.retry
        execute_tool research (call=ask outcome=ok)
          invoke_agent research (in=80 out=20 finish=stop ended=answered)
            chat mock (in=40 out=10 finish=tool_call)
            execute_tool look_up (call=look outcome=ok)
            chat mock (in=40 out=10 finish=stop)
        execute_tool stock (call=stock outcome=failed error=tool_failed)
          * exception: The warehouse is closed
        chat mock (in=40 out=10 finish=tool_call)
        * toolloop.decision_needed: pay
        invoke_agent clerk (in=40 out=10 finish=stop ended=answered resumed=true)
          * toolloop.decision_made: pay
          execute_tool pay (call=pay outcome=ok decided=approval)
          chat mock (in=40 out=10 finish=stop)"
  `)
  // The page about telemetry shows it too, without ids and tokens.
  const shown = tracing
    .tree()
    .split('\n')
    .slice(1)
    .map((line) => line.slice(2).replace(/\b(?:call|in|out)=\w+ ?/g, ''))
  expect(readFileSync(new URL('../../docs/telemetry.md', import.meta.url), 'utf8')).toContain(`\`\`\`text\n${shown.join('\n')}\n\`\`\``)
})
