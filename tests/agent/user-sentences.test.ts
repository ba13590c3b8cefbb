import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { ToolloopError } from '../../src/core/errors.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { toAgUiResponse, toUIMessageResponse } from '../../src/ui/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

it('P3.6 a page whose session waits for a decision shows a sentence for its user', async () => {
  const refund = defineTool({ name: 'refund', description: 'Pays back.', approval: true, execute: () => 'paid' })
  const model = scriptedModel([{ toolCalls: [{ name: 'refund' }] }])
  const runner = new AgentRunner({ model, tools: [refund], sessions: memorySessions(), logger: recordingLogger().logger })
  await runner.run('Give me my money back.', { session: 'chat' })
  const say = () => runner.stream('And now?', { session: 'chat' })
  for (const respond of [toUIMessageResponse, toAgUiResponse, (run: ReturnType<typeof say>) => run.toResponse()]) {
    const run = say()
    run.result.catch(() => {})
    const text = await respond(run).text()
    expect(text).toContain('An earlier request in this conversation still waits for a decision.')
    expect(text).not.toMatch(/`|resume|release/)
  }
})

it.each(['session_busy', 'session_lost', 'unknown_session', 'session_failed', 'already_resumed', 'decision_refused'] as const)(
  'P3.6 `%s` has a sentence for the user of a page',
  async (code) => {
    const instructions = () => Promise.reject(new ToolloopError(code, 'internal words about `resume`'))
    const failing = new AgentRunner({ model: scriptedModel(['Hello.']), instructions }).stream('hi')
    failing.result.catch(() => {})
    const text = await failing.toResponse().text()
    expect(text).toContain(`"code":"${code}"`)
    expect(text).toMatch(/"message":"[A-Z][^`_]*\."/)
    expect(text).not.toContain('internal words')
  },
)
