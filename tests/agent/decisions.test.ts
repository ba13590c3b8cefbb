import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Decision } from '../../src/agent/decisions/decisions.ts'
import type { ApprovalDecision, PendingItem, RunnerOptions } from '../../src/agent/types/options.ts'
import { Event, type MadeDecision } from '../../src/core/events.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))
/** As it may come from a caller without types. */
const untyped = (decision: object): Decision => decision as Decision

function openShop(settings: Partial<RunnerOptions> = {}) {
  const ran: unknown[] = []
  const seen: (MadeDecision | undefined)[] = []
  const parameters = { type: 'object', properties: { euros: { type: 'number' } } } as const
  const refund = defineTool({
    name: 'refund',
    description: 'Pays money back.',
    parameters,
    approval: true,
    execute: (args, { decision }) => {
      ran.push(args)
      seen.push(decision)
      return 'paid back'
    },
  })
  const theirs = defineTool({ name: 'theirs', description: 'Runs elsewhere.' })
  const curious = defineTool({
    name: 'curious',
    description: 'Asks.',
    execute: (_args, { answer, decision }) => {
      if (answer === undefined) return ask({ about: 'Sure?' })
      seen.push(decision)
      return `heard ${String(answer)}`
    },
  })
  const calls = [{ name: 'refund', args: { euros: 250 } }, { name: 'theirs' }, { name: 'curious' }]
  const model = scriptedModel([{ toolCalls: calls }, 'done'])
  const { logger, records } = recordingLogger()
  const made: object[] = []
  const runner = new AgentRunner({ model, logger, tools: [refund, theirs, curious], ...settings })
  runner.on(Event.DECISION_MADE, (decision) => void made.push(decision))
  return { runner, model, ran, seen, made, records }
}

/** What is decided on each item, by its tool. */
type Verdicts = Record<string, object>
const decide = (pending: readonly PendingItem[], verdicts: Verdicts) => pending.map((item) => untyped({ ...item, ...verdicts[item.tool] }))
const fine: Verdicts = { refund: { approved: true }, theirs: { result: 'their result' }, curious: { answer: 'yes' } }

describe('the fields of a decision', () => {
  it.each([
    ['refund', { approved: true, result: 'paid back' }, 'decisions[0].result'],
    ['refund', { result: 'paid back' }, 'decisions[0].result'],
    ['refund', { approved: true, isError: true }, 'decisions[0].isError'],
    ['refund', { approved: true, answer: 'yes' }, 'decisions[0].answer'],
    ['refund', { approved: true, result: null }, 'decisions[0].result'],
    ['theirs', { answer: 'yes' }, 'decisions[1].answer'],
    ['theirs', { result: 1, remember: true }, 'decisions[1].remember'],
    ['theirs', { approved: false, result: 1 }, 'decisions[1].result'],
    ['curious', { result: 'heard yes' }, 'decisions[2].result'],
    ['curious', { answer: 'yes', approved: false }, 'decisions[2].answer'],
  ])('X3 `resume` refuses a verdict of another type: %s %j', async (tool, verdict, where) => {
    const { runner, ran } = openShop()
    const { state, pending } = await runner.run('go')
    const decisions = decide(pending, { ...fine, [tool]: verdict })
    await expect(runner.resume(stored(state), { decisions })).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining(`Expected \`${where}\` to be absent`),
    })
    expect(ran).toEqual([])
    // Nothing has happened: what is decided properly is carried out.
    expect(await runner.resume(stored(state), { decisions: decide(pending, fine) })).toMatchObject({ stopReason: 'answered' })
    expect(ran).toEqual([{ euros: 250 }])
  })

  it('X3 `resume` by a journal’s id refuses them too, and stores none of the decisions', async () => {
    const journal = memoryJournal()
    const { runner, ran } = openShop({ journal })
    const { runId, pending } = await runner.run('go')
    const forged = decide(pending, { ...fine, refund: { approved: true, result: 'paid back' } })
    await expect(runner.resume(runId, { decisions: forged })).rejects.toMatchObject({ code: 'invalid_option' })
    expect((await runner.runs.get(runId))?.pending).toHaveLength(3)
    const { toolCalls } = await runner.resume(runId, { decisions: decide(pending, fine) })
    expect(toolCalls.map(({ outcome, content }) => [outcome, content])).toEqual([
      ['ok', 'paid back'],
      ['ok', 'their result'],
      ['ok', 'heard yes'],
    ])
    expect(ran).toEqual([{ euros: 250 }])
  })

  it('X3 a verdict forged in a stored state still runs the call', async () => {
    const { runner, ran } = openShop()
    const { state, pending } = await runner.run('go')
    const forged = stored(state)
    const [item] = pending
    if (forged !== undefined && item !== undefined) forged.decisions[item.place] = { approved: true, result: 'forged' }
    const { toolCalls } = await runner.resume(forged, { decisions: decide(pending.slice(1), fine) })
    expect(toolCalls[0]).toMatchObject({ content: 'paid back' })
    expect(ran).toHaveLength(1)
  })

  it.each([
    ['resaon', 'did you mean `decisions[0].reason`?'],
    ['Approved', 'did you mean `decisions[0].approved`?'],
    ['whoever', 'which are kind, toolCallId'],
  ])('P3.1 `resume` refuses an unknown field of a decision: %s', async (name, hint) => {
    const { runner } = openShop()
    const { state, pending } = await runner.run('go')
    const [first, ...others] = decide(pending, fine)
    const decisions = [untyped({ ...first, [name]: 'no' }), ...others]
    await expect(runner.resume(state, { decisions })).rejects.toThrow(hint)
    // A decision that nothing waits for is checked as well: it is still a mistake.
    const stale = untyped({ toolCallId: 'x', fingerprint: '', approved: true, [name]: 1 })
    await expect(runner.resume(state, { decisions: [stale] })).rejects.toMatchObject({ code: 'invalid_option' })
  })

  it('P3.1 `note` must be a string', async () => {
    const { runner } = openShop()
    const { state, pending } = await runner.run('go')
    const decisions = decide(pending, { ...fine, refund: { approved: true, note: 7 } })
    await expect(runner.resume(state, { decisions })).rejects.toThrow('Expected `decisions[0].note` to be a string, got `7`')
  })

  it('P3.1 an `approve` that returns an unknown field has refused', async () => {
    const answer = { approved: true, resaon: 'fine' } as ApprovalDecision
    const { runner, ran, records } = openShop({ approve: () => answer })
    const { toolCalls, pending } = await runner.run('go')
    expect([ran, pending.length]).toEqual([[], 2])
    expect(records.map(({ message }) => message)).toContain('approve threw; the call is refused')
    expect(toolCalls).toMatchObject([{ outcome: 'denied', content: 'The call to `refund` was refused: the approval failed' }])
  })
})

describe('who decided', () => {
  const by = { user: 'boss@shop.example', roles: ['boss'] }
  const signed: Verdicts = {
    refund: { approved: true, by, note: 'asked on the phone' },
    theirs: { approved: false, reason: 'closed today', by: 'clerk' },
    curious: { answer: 'yes', note: 'the customer said so' },
  }
  const kept = [
    { kind: 'approval', approved: true, by, note: 'asked on the phone' },
    { kind: 'client_tool', approved: false, reason: 'closed today', by: 'clerk' },
    { kind: 'question', approved: true, note: 'the customer said so' },
  ]

  it.each(['state', 'journal'])('P3.1 is stored in the calls, their context and `DECISION_MADE`, with a %s', async (where) => {
    const journal = memoryJournal()
    const { runner, made, seen, model } = openShop(where === 'journal' ? { journal } : {})
    const { runId, state, pending } = await runner.run('go')
    const { toolCalls } = await runner.resume(state === undefined ? runId : stored(state), { decisions: stored(decide(pending, signed)) })
    expect(toolCalls.map(({ decision }) => decision)).toEqual(kept)
    expect(seen).toEqual([kept[0], kept[2]])
    expect(made).toEqual(
      kept.map((decision, at) => ({
        ...decision,
        toolCallId: pending[at]?.toolCallId,
        tool: pending[at]?.tool,
        place: pending[at]?.place,
      })),
    )
    // The record is for people. The model is told the reason alone.
    const told = JSON.stringify(model.requests[1]?.messages)
    expect(told).toContain('closed today')
    expect(told).not.toMatch(/boss|phone|clerk|customer said/)
    if (where === 'journal') expect((await runner.runs.get(runId))?.result?.toolCalls.map(({ decision }) => decision)).toEqual(kept)
  })

  it('P3.1 is stored for later decisions in other processes; no event is repeated', async () => {
    const first = openShop()
    const paused = await first.runner.run('go')
    const [one, ...others] = decide(paused.pending, signed)
    const second = openShop()
    const still = await second.runner.resume(stored(paused.state), { decisions: one === undefined ? [] : [one] })
    expect(still.pending.map(({ tool }) => tool)).toEqual(['theirs', 'curious'])
    const third = openShop()
    const { toolCalls } = await third.runner.resume(stored(still.state), { decisions: others })
    expect(toolCalls.map(({ decision }) => decision)).toEqual(kept)
    expect([first.made.length, second.made.length, third.made.length]).toEqual([0, 1, 2])
  })

  it('P3.1 is stored for the decision of `approve`', async () => {
    const { runner, made } = openShop({ approve: () => ({ approved: false, reason: 'too dear', by, note: 'n' }) })
    const { toolCalls } = await runner.run('go')
    const decision = { kind: 'approval', approved: false, reason: 'too dear', by, note: 'n' }
    expect(toolCalls[0]).toMatchObject({ outcome: 'denied', decision })
    expect(made).toMatchObject([decision])
  })

  it('P3.1 is nobody if the time ran out', async () => {
    const { runner, made } = openShop({ decisionTimeoutMs: 1 })
    const { state } = await runner.run('go')
    const late = stored(state)
    for (const place of Object.keys(late?.waitingSince ?? {})) if (late !== undefined) late.waitingSince[place] = 0
    const { toolCalls } = await runner.resume(late)
    const decision = { approved: false, reason: 'nobody decided in time' }
    expect(toolCalls.map((call) => call.decision)).toMatchObject([decision, decision, decision])
    expect(made).toMatchObject([decision, decision, decision])
  })

  it('P3.1 of a call that was approved and then asks, both decisions and the approved arguments are stored', async () => {
    const ran: unknown[] = []
    const refund = defineTool({
      name: 'refund',
      description: 'Pays money back.',
      parameters: { type: 'object', properties: { euros: { type: 'number' } } } as const,
      approval: true,
      execute: (args, { answer, decision }) => {
        ran.push([args.euros, decision?.kind])
        return answer === undefined ? ask({ about: 'Cash?' }) : 'paid back'
      },
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 250 } }] }, 'done'])
    const open = () => new AgentRunner({ model, tools: [refund] })
    const paused = await open().run('go')
    const asked = await open().resume(stored(paused.state), {
      decisions: paused.pending.map((item) => ({ ...item, approved: true as const, args: { euros: 20 }, by: 'boss' })),
    })
    expect(asked.pending).toMatchObject([{ kind: 'question', args: { euros: 20 } }])
    const { toolCalls } = await open().resume(stored(asked.state), {
      decisions: asked.pending.map((item) => ({ ...item, answer: 'no', by: 'customer' })),
    })
    expect(ran).toEqual([
      [20, 'approval'],
      [20, 'question'],
    ])
    expect(toolCalls[0]).toMatchObject({
      args: { euros: 20 },
      decision: { kind: 'question', by: 'customer', earlier: [{ kind: 'approval', by: 'boss' }] },
    })
  })
})

describe('a state that is resumed twice in sequence', () => {
  it('P3.3 rejects with `already_resumed` once a decided call was carried out, unless `again`', async () => {
    const { runner, ran } = openShop()
    const { state, pending } = await runner.run('go')
    const [refund, ...others] = decide(pending, fine)
    const resume = (more: object = {}, decisions = refund === undefined ? [] : [refund]) =>
      runner.resume(stored(state), { decisions, ...more })
    // Without a decision nothing is carried out.
    await resume({}, [])
    const first = await resume()
    expect(ran).toHaveLength(1)
    await expect(resume()).rejects.toMatchObject({ code: 'already_resumed', message: expect.stringContaining('again: true') })
    await expect(resume({}, others)).rejects.toMatchObject({ code: 'already_resumed' })
    expect(ran).toHaveLength(1)
    // What that came to is a state of its own.
    expect(await runner.resume(first.state, { decisions: others })).toMatchObject({ stopReason: 'answered' })
    expect(await resume({ again: true, decisions: decide(pending, fine) })).toMatchObject({ toolCalls: [{ outcome: 'uncertain' }, {}, {}] })
    expect(ran).toHaveLength(1)
  })

  it('P3.3 counts a failed or refused call, but not a resume without effect', async () => {
    const { runner, ran } = openShop()
    const { state, pending } = await runner.run('go')
    const wrong = decide(pending, { ...fine, refund: { approved: true, result: 1 } })
    await expect(runner.resume(state, { decisions: wrong })).rejects.toMatchObject({ code: 'invalid_option' })
    const refused = decide(pending, { ...fine, refund: { approved: false } })
    await runner.resume(state, { decisions: refused })
    await expect(runner.resume(state, { decisions: decide(pending, fine) })).rejects.toMatchObject({ code: 'already_resumed' })
    expect(ran).toEqual([])
  })
})

describe('an approval predicate', () => {
  it.each([
    ['never settles', () => new Promise<boolean>(() => {})],
    ['rejects', () => Promise.reject(new Error('no database'))],
  ])('P3.4 that %s means that the call needs an approval', async (_what, approval) => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval, execute: () => 'paid' })
    const { logger, records } = recordingLogger()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done'])
    const runner = new AgentRunner({ model, tools: [pay], logger, toolTimeoutMs: 5 })
    const { pending, state } = await runner.run('go')
    expect(pending).toMatchObject([{ kind: 'approval', tool: 'pay' }])
    expect(records.map(({ message }) => message)).toEqual(['approval predicate failed; the call needs an approval'])
    expect(await runner.resume(state, { decisions: decide(pending, { pay: { approved: true } }) })).toMatchObject({ output: 'done' })
  })

  it('shows its return value as `about`, before and after a restart', async () => {
    const write = defineTool({
      name: 'write_file',
      description: 'Writes a file.',
      parameters: { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] } as const,
      approval: ({ content }) => content !== '' && { about: { before: 'old', after: content } },
      execute: ({ content }) => `wrote ${content}`,
    })
    const calls = [
      { name: 'write_file', args: { content: 'new' } },
      { name: 'write_file', args: { content: '' } },
    ]
    const turns = [{ text: 'I replace it.', toolCalls: calls }, 'done']
    const runner = new AgentRunner({ model: scriptedModel(turns), tools: [write] })
    const { pending, state } = await runner.run('go')
    const about = { before: 'old', after: 'new' }
    expect(pending).toMatchObject([{ args: { content: 'new' }, effect: 'unsafe', said: 'I replace it.', about }])
    const decisions = decide(stored(pending), { write_file: { approved: true } })
    expect(await runner.resume(stored(state), { decisions })).toMatchObject({ output: 'done' })
    const asked: object[] = []
    const approve = (request: object) => asked.push(request) > 0
    const asking = new AgentRunner({ model: scriptedModel(turns), tools: [write], approve })
    expect(await asking.run('go')).toMatchObject({ output: 'done' })
    expect(asked).toMatchObject([{ tool: 'write_file', effect: 'unsafe', said: 'I replace it.', about }])
  })

  it('needs an approval without details if they can’t be written as JSON', async () => {
    const about: { self?: unknown } = {}
    about.self = about
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: () => ({ about }), execute: () => 'paid' })
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done']), tools: [pay], logger })
    expect((await runner.run('go')).pending).toMatchObject([{ kind: 'approval', tool: 'pay' }])
  })
})

describe('the model’s text before a call', () => {
  const pay = defineTool({
    name: 'pay',
    parameters: { type: 'object', properties: { pin: { type: 'string' } } },
    description: 'Pays.',
    approval: true,
    effect: 'idempotent',
    secrets: ['pin'],
    execute: () => 'paid',
  })
  const ask1 = async (text: string, args: object = {}) => {
    const model = scriptedModel([{ text, toolCalls: [{ name: 'pay', arguments: JSON.stringify(args) }] }, 'done'])
    const runner = new AgentRunner({ model, tools: [pay] })
    const shown: object[] = []
    runner.on(Event.DECISION_NEEDED, (item) => void shown.push(item))
    const { pending } = await runner.run('go')
    return { item: pending[0], shown: shown[0] }
  }

  it('is in the pending item, shortened to its end', async () => {
    expect((await ask1('')).item).not.toHaveProperty('said')
    const long = `${'x'.repeat(2_000)} so I pay.`
    const { item } = await ask1(long)
    expect(item).toMatchObject({ said: `…${long.slice(-300)}`, effect: 'idempotent' })
  })

  it('has no secret of the arguments in events', async () => {
    const { item, shown } = await ask1('The pin is 83746251.', { pin: '83746251' })
    expect(item?.said).toContain('83746251')
    expect(JSON.stringify(shown)).not.toContain('83746251')
  })
})
