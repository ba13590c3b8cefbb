import { describe, expect, it } from 'vitest'
import type { PendingItem } from '../../src/agent/types/options.ts'
import { decideItems } from '../../src/cli/terminal/approvals/answer-item.ts'
import type { Asker } from '../../src/cli/terminal/approvals/asker.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { fakeIO } from './fake-io.ts'

function planOf(...args: JsonObject[]): PendingItem[] {
  return args.map((given, at) => ({
    kind: 'approval',
    toolCallId: `c${at}`,
    tool: 'pay',
    args: given,
    said: 'I would pay.',
    fingerprint: `f${at}`,
    place: `1.tool.${at}.decision`,
    plan: { at: at + 1, of: args.length },
  }))
}

async function decide(items: PendingItem[], answer: string, { rows = 24, yes = false } = {}) {
  const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
  Object.assign(io.stderr, { columns: 60, rows })
  const asked: string[] = []
  const approved: string[] = []
  const choose: Asker['choose'] = async (question, choices) => {
    asked.push(question)
    return Object.keys(choices).find((key): key is keyof typeof choices & string => key === answer) ?? 'n'
  }
  const decisions = await decideItems(items, {
    terminal: new Terminal(io),
    asker: { tools: [], choose, ask: async () => '', lend: (work) => work() },
    approve: ({ toolCallId }) => approved.push(toolCallId) > 0,
    signal: new AbortController().signal,
    yes,
  })
  return { asked, approved, screen: io.err(), decided: decisions.map((decision) => 'approved' in decision && decision.approved) }
}

describe('the plan of a preview at the terminal', () => {
  it('is shown as a list, and decided with one key', async () => {
    const items = planOf({ id: 'a' }, { id: 'b' })
    const yes = await decide(items, 'y')
    expect(yes.screen).toBe('the plan:\n1. pay {"id":"a"}\n2. pay {"id":"b"}\n')
    expect([yes.asked, yes.decided, yes.approved]).toEqual([['carry out 2 calls?'], [true, true], []])
    expect((await decide(items, 'n')).decided).toEqual([false, false])
    const each = await decide(items, 'o')
    expect([each.asked.length, each.approved]).toEqual([1, ['c0', 'c1']])
  })

  it('is asked call by call if it can’t be seen whole', async () => {
    const long = { text: 'x'.repeat(100) }
    for (const items of [planOf({ id: 'a' }, long), planOf({ id: 'a' }, { text: 'אבג' }), planOf({ id: 'a' })]) {
      const { asked, approved } = await decide(items, 'y')
      expect([asked, approved.length]).toEqual([[], items.length])
    }
    const small = await decide(planOf({ id: 'a' }, { id: 'b' }, { id: 'c' }), 'y', { rows: 5 })
    expect([small.asked, small.approved.length]).toEqual([[], 3])
  })

  it('is not asked about with --yes', async () => {
    const { asked, approved } = await decide(planOf({ id: 'a' }, { id: 'b' }), 'n', { yes: true })
    expect([asked, approved]).toEqual([[], ['c0', 'c1']])
  })
})
