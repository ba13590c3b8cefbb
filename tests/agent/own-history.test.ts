import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { AgentHistory } from '../../src/agent/conversation/agent-history.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { createLogger } from '../../src/core/logger.ts'
import type { MessageInput } from '../../src/core/message-input.ts'
import { MemoryRuns, memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

const logger = createLogger({ level: 'silent' })
const refund = defineTool({ name: 'refund', description: 'Pays back.', approval: true, execute: () => 'paid' })

/** A table of chats: what each run has added, by chat. */
function chatTable() {
  const rows: { chat: unknown; runId: string; messages: readonly MessageInput[] }[] = []
  const history: AgentHistory = {
    load: async ({ metadata }) => rows.filter(({ chat }) => chat === metadata?.chat).flatMap(({ messages }) => messages),
    save: async ({ metadata, runId }, { newMessages }) => {
      if (!rows.some((row) => row.runId === runId)) rows.push({ chat: metadata?.chat, runId, messages: newMessages })
    },
  }
  const said = (chat: string) => rows.filter((row) => row.chat === chat).flatMap(({ messages }) => messages.map(({ content }) => content))
  return { rows, history, said }
}

it('P3.12 of a runner is loaded before a run and saved at its end, chat by chat', async () => {
  const { history, said } = chatTable()
  const model = scriptedModel(({ messages }) => `heard ${messages.length}`)
  const runner = new AgentRunner({ model, history, logger })
  await runner.run({ role: 'user', content: 'one', id: 'm1' }, { metadata: { chat: 'a' } })
  await runner.run('other', { metadata: { chat: 'b' } })
  const { messages } = await runner.stream('two', { metadata: { chat: 'a' } }).result
  expect([said('a'), said('b')]).toEqual([
    ['one', 'heard 1', 'two', 'heard 3'],
    ['other', 'heard 1'],
  ])
  expect(messages[0]).toEqual({ role: 'user', content: 'one', id: 'm1' })
  // Its caller has the conversation.
  await runner.run('three', { messages: [], metadata: { chat: 'a' } })
  expect(said('a')).toHaveLength(4)
})

it('P3.12 of a runner is saved once, by whichever process ends a run that waits', async () => {
  const { rows, history, said } = chatTable()
  const runs = new MemoryRuns()
  const open = () => {
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'refund' }] }))
    return new AgentRunner({ model, tools: [refund], history, journal: memoryJournal(runs), logger })
  }
  const first = open()
  const { pending } = await first.run('pay', { runId: 'r', metadata: { chat: 'a' } })
  expect(rows).toEqual([])
  await first.close()
  const decisions = pending.map((item) => ({ ...item, approved: true as const }))
  await open().resume('r', { decisions })
  expect(said('a')).toEqual(['pay', '', 'paid', 'done'])
})

it('P3.12 rejects the run if it can’t be loaded or saved, with the result so far', async () => {
  const model = scriptedModel(['Hello.'])
  const { history } = chatTable()
  const failing = () => Promise.reject(new Error('no table'))
  await expect(new AgentRunner({ model, history: { ...history, load: failing }, logger }).run('Hi.')).rejects.toThrow('no table')
  expect(model.requests).toEqual([])
  const unsaved = new AgentRunner({ model, history: { ...history, save: failing }, logger }).run('Hi.')
  await expect(unsaved).rejects.toMatchObject({ code: 'session_failed', result: { output: 'Hello.' } })
  expect(() => new AgentRunner({ model, history: { load: () => [] } as never, logger })).toThrow(
    'Expected `history` to be the functions `load` and `save`',
  )
})

it('P3.12 of the options is used for an agent without its own', async () => {
  const { history, said } = chatTable()
  const model = scriptedModel(['One.', 'Two.'])
  class Plain extends CustomAgent {}
  await new Plain({ model, history, logger }).run('first', { metadata: { chat: 'a' } })
  class Own extends CustomAgent {
    protected override history(): AgentHistory {
      return { load: () => undefined, save: () => {} }
    }
  }
  await new Own({ model, history, logger }).run('second', { metadata: { chat: 'a' } })
  expect(said('a')).toEqual(['first', 'One.'])
})
