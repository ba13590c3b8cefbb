import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { CallRecord } from '../../src/agent/journal/call-record.ts'
import type { RecordEntry } from '../../src/agent/journal/journal.ts'
import { AgentRunner, asTool, defineTool, type Journal, type PendingItem, type RunnerOptions, type ToolContext } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { MemoryRuns, memoryJournal } from '../../src/testing/memory-journal.ts'

type Turn = ScriptedTurn | string

const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Answers by how far the conversation has come: the same in every process. */
const model = (turns: readonly Turn[]) =>
  scriptedModel(({ messages }) => turns[messages.filter(({ role }) => role === 'assistant').length] ?? 'unexpected')

const agent = (turns: readonly Turn[], options: Omit<RunnerOptions, 'model'> = {}) =>
  new AgentRunner({ model: model(turns), logger, ...options })

/** Notes the key of each payment. */
function payTool(options: { approval?: boolean } = {}) {
  const keys: string[] = []
  const tool = defineTool({
    name: 'pay',
    description: 'pays',
    parameters: { type: 'object' },
    effect: 'idempotent',
    ...options,
    execute: (_args, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      return 'paid'
    },
  })
  return { tool, keys }
}

/** The key of a call in three runs inside each other: it begins with the key of the outermost call. */
const deepKey = /^r\/1\.tool\.0(\/[\w-]{12}){3}$/

const ask = { name: 'ask', description: 'asks' }
/** For a tool that is no agent. */
const asksItself = { ...ask, parameters: { type: 'object' } } as const
const asking: ScriptedTurn = { toolCalls: [{ id: 'out', name: 'ask', args: { task: 'x' } }] }

/** Agents inside each other, of which the innermost is `inner`. */
function nest(inner: AgentRunner, levels: number, options: Omit<RunnerOptions, 'model'> = {}): AgentRunner {
  let outer = inner
  for (let level = 1; level <= levels; level++) {
    const last = level === levels ? options : {}
    outer = agent([asking, 'done'], { tools: [asTool(outer, ask)], ...last })
  }
  return outer
}

/** Approves what waits, however deep inside. */
function approve(item: PendingItem): PendingItem & { approved: true } {
  return { ...item, approved: true }
}

const folder = mkdtempSync(join(tmpdir(), 'toolloop-nested-'))
afterAll(() => rmSync(folder, { recursive: true }))
const journals: [name: string, open: () => Journal & { close(): Promise<void> }][] = [
  ['memoryJournal', memoryJournal.bind(undefined, new MemoryRuns())],
  ['sqliteJournal', () => sqliteJournal({ file: join(folder, 'runs.sqlite') })],
]

describe('the paused state of nested agents', () => {
  const paying = (text: string): ScriptedTurn => ({ text, toolCalls: [{ id: 'p', name: 'pay', args: {} }] })

  it('P2.4 has each message once, at any depth', async () => {
    const sizes: number[] = []
    for (let levels = 1; levels <= 5; levels++) {
      const inner = agent([paying('x'.repeat(40_000))], { tools: [payTool({ approval: true }).tool] })
      const { stopReason, state } = await nest(inner, levels).run('go')
      expect(stopReason).toBe('paused')
      sizes.push(JSON.stringify(state).length)
    }
    expect(sizes[0]).toBeLessThan(45_000)
    for (const [at, size] of sizes.entries()) expect(size).toBeLessThan(45_000 + at * 5_000)
  })

  it('P2.4 is enough to continue all of them in another process, once', async () => {
    const { tool, keys } = payTool({ approval: true })
    const open = () => nest(agent([paying('now'), 'paid it'], { tools: [tool] }), 3)
    const paused = await open().run('go', { runId: 'r' })
    expect(JSON.stringify(paused.pending)).not.toContain('"state"')
    const decisions = paused.pending.map(approve)
    const result = await open().resume(JSON.parse(JSON.stringify(paused.state)), { decisions })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', toolCalls: [{ outcome: 'ok', content: 'done' }] })
    expect(keys).toEqual([expect.stringMatching(deepKey)])
  })

  it.each(journals)('P2.4 is in the journal once (%s)', async (_name, openJournal) => {
    const { tool, keys } = payTool({ approval: true })
    const open = (journal: Journal) => nest(agent([paying('x'.repeat(40_000)), 'paid it'], { tools: [tool] }), 3, { journal })
    const first = openJournal()
    const paused = await open(first).run('go', { runId: 'r' })
    expect([paused.stopReason, paused.state]).toEqual(['paused', undefined])
    expect(JSON.stringify(paused).length).toBeLessThan(5_000)
    await first.close()
    const second = openJournal()
    const result = await open(second).resume('r', { decisions: paused.pending.map(approve) })
    expect([result.stopReason, keys]).toEqual(['answered', [expect.stringMatching(deepKey)]])
    await second.close()
  })
})

describe('a repeated call continues the runs inside it', () => {
  it('P2.3 H52 does not repeat what its runs have finished, and keeps keys', async () => {
    const { tool, keys } = payTool()
    const look = defineTool({ name: 'look', description: 'looks', effect: 'read', execute: () => 'seen' })
    const inner = agent([{ toolCalls: [{ name: 'pay' }] }, { toolCalls: [{ name: 'look' }] }, 'paid'], { tools: [tool, look] })
    const tries: string[] = []
    const retried = defineTool({
      ...asksItself,
      retries: 1,
      execute: async (_args, ctx: ToolContext) => {
        const { output, runId } = await inner.run('pay', { parent: ctx })
        tries.push(runId)
        if (ctx.attempt === 1) throw new Error('once')
        return output
      },
    })
    const result = await agent([asking, 'done'], { tools: [retried] }).run('go', { runId: 'r' })
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', attempts: 2, content: 'paid', nested: { toolCalls: 2 } }])
    expect(keys).toEqual([expect.stringMatching(`^${tries[0]}/[\\w-]+$`)])
    expect([tries[0]?.startsWith('r/1.tool.0/'), tries[1]]).toEqual([true, tries[0]])
  })

  it('P2.3 H52 sends a failed request again, with everything done before it', async () => {
    const { tool, keys } = payTool()
    const turns: Turn[] = [{ toolCalls: [{ name: 'pay' }] }, { error: new Error('the provider is down') }, 'paid']
    const inner = new AgentRunner({ model: scriptedModel(turns), tools: [tool], logger })
    const again = { ...asTool(inner, ask), retries: 1 }
    const result = await agent([asking, 'done'], { tools: [again] }).run('go', { runId: 'r' })
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', attempts: 2, content: 'paid' }])
    expect(keys).toEqual([expect.stringMatching(/^r\/1\.tool\.0\/[\w-]+$/)])
  })

  it('P2.3 matches the runs of one call by their input, whichever starts first, and by their order if it is the same', async () => {
    const { tool, keys } = payTool()
    const inner = agent([{ toolCalls: [{ name: 'pay' }] }, 'paid'], { tools: [tool] })
    const ids: string[][] = []
    const several = defineTool({
      ...asksItself,
      retries: 1,
      execute: async (_args, ctx: ToolContext) => {
        const inputs = ['Ann', 'Bob', 'Bob']
        if (ctx.attempt === 2) inputs.reverse()
        const runs = await Promise.all(inputs.map((input) => inner.run(input, { parent: ctx })))
        ids.push(runs.map(({ runId }) => runId).sort())
        if (ctx.attempt === 1) throw new Error('once')
        return 'ok'
      },
    })
    await agent([asking, 'done'], { tools: [several] }).run('go', { runId: 'r' })
    expect([new Set(ids[0]).size, ids[1]]).toEqual([3, ids[0]])
    expect(keys.map((key) => key.slice(0, key.lastIndexOf('/'))).sort()).toEqual(ids[0])
  })

  it('P2.3 the caller’s own id names another run in each call', async () => {
    const { tool, keys } = payTool()
    const inner = agent([{ toolCalls: [{ name: 'pay' }] }, 'paid'], { tools: [tool] })
    const named = defineTool({
      ...asksItself,
      execute: async (_args, ctx: ToolContext) => (await inner.run('pay', { parent: ctx, runId: 'mine' })).output,
    })
    const result = await agent([asking, asking, 'done'], { tools: [named] }).run('go')
    expect(result.toolCalls).toMatchObject([{ content: 'paid' }, { content: 'paid' }])
    expect(keys.length).toBe(2)
  })

  it('P2.3 asks the model again what a tool asked it', async () => {
    let asked = 0
    const outer = scriptedModel(({ messages }) => {
      if (messages.at(-1)?.content === 'guess') return `guess ${++asked}`
      return messages.at(-1)?.role === 'tool' ? 'done' : asking
    })
    const guess = defineTool({
      ...asksItself,
      retries: 1,
      execute: async (_args, ctx: ToolContext) => {
        const answer = await ctx.askModel?.({ messages: [{ role: 'user', content: 'guess' }] })
        if (ctx.attempt === 1) throw new Error('a bad guess')
        return answer?.text
      },
    })
    const result = await new AgentRunner({ model: outer, tools: [guess], logger }).run('go')
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', content: 'guess 2' }])
  })
})

it('P2.3 appends an entry after the last one, even if an earlier one was never stored', async () => {
  const stored: RecordEntry[] = [0, 1, 3].map((position) => ({ position, fingerprint: `call ${position}`, value: position }))
  const keeper = { append: async (_: string, entry: RecordEntry) => void stored.push(entry), entries: async () => stored }
  const record = await CallRecord.open(keeper as never, 'call')
  await Promise.all([record.add('four', 4), record.add('five', 5)])
  expect(stored.map(({ position }) => position)).toEqual([0, 1, 3, 4, 5])
})
