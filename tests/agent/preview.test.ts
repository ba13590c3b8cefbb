import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import type { Decision } from '../../src/agent/decisions/decisions.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { PendingItem, ResumeOptions, RunnerOptions, RunResult } from '../../src/agent/types/options.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { Event, type RunEvent } from '../../src/core/events.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import type { Script, ScriptedRequest, ScriptedTurn } from '../../src/testing/index.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, ask, BaseTool, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const { logger } = recordingLogger()
const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false } as const
const call = (name: string, id: string) => ({ name, args: { id } })
const calls = (...toolCalls: { name: string; args: object }[]) => ({ toolCalls: toolCalls as never }) satisfies ScriptedTurn

/** Tools that write down what they do, each with its key within the run. */
function openShop() {
  const done: string[] = []
  const note = (name: string) => ({
    name,
    description: name,
    parameters,
    execute: ({ id }: { id: string }, ctx: { idempotencyKey: string; runId: string }) => {
      done.push(`${name} ${id} ${ctx.idempotencyKey.slice(ctx.runId.length + 1)}`)
      return `${name} ${id}: done`
    },
  })
  const tools = [
    defineTool({ ...note('read'), effect: 'read', execute: ({ id }) => `read ${id}` }),
    defineTool(note('pay')),
    defineTool({ ...note('refund'), approval: true }),
    defineTool({ ...note('set'), effect: 'idempotent', preview: ({ id }, { context }) => `would set ${id} for ${context}` }),
  ]
  return { done, tools }
}

const approve = (pending: readonly PendingItem[], but: (item: PendingItem) => object = () => ({})): Decision[] =>
  pending.map((item) => ({ ...item, approved: true as const, ...but(item) }) as Decision)
const resultsIn = ({ messages }: Pick<RunResult, 'messages'>) =>
  messages.flatMap(({ role, content }) => (role === 'tool' || role === 'assistant' ? [content] : [])).filter((text) => text !== '')
const noted = (tool: string) =>
  `Noted, not done: the call to \`${tool}\` will be carried out after the user has approved it. Continue with the rest of the task.`

/** Runs with one runner and resumes with another, as two processes would, by the state or by the journal. */
function twoProcesses(
  where: 'state' | 'journal',
  options: Omit<RunnerOptions, 'model'> & { script: Script<ScriptedRequest, ScriptedTurn> },
) {
  const { script, ...rest } = options
  const model = scriptedModel(script as never)
  const given = { model, logger, ...rest, ...(where === 'journal' ? { journal: memoryJournal() } : {}) } as RunnerOptions
  const run = (more: object = {}): Promise<RunResult> => new AgentRunner(given).run('Go', { effects: 'preview', ...more })
  const resume = (paused: RunResult, decisions: Decision[], more: ResumeOptions = {}): Promise<RunResult> =>
    new AgentRunner(given).resume(where === 'state' ? stored(paused.state) : paused.runId, { decisions: stored(decisions), ...more })
  return { run, resume, model }
}

describe.each(['state', 'journal'] as const)('a preview, resumed by its %s', (where) => {
  const open = (script: unknown, options: Omit<RunnerOptions, 'model'> = {}) => twoProcesses(where, { script: script as never, ...options })

  it('notes calls with effects, runs the others, and carries out what is approved, in order, with the results in their places', async () => {
    const { done, tools } = openShop()
    const script = [
      calls(call('read', 'a'), call('pay', 'a'), call('set', 'b')),
      calls(call('refund', 'c')),
      'I would pay a, set b and refund c.',
      'Paid and refunded.',
    ]
    const { run, resume, model } = open(script, { tools })
    const plan = await run({ context: 'Ada' })
    expect(plan).toMatchObject({ stopReason: 'paused', text: 'I would pay a, set b and refund c.', iterations: 3 })
    expect(done).toEqual([])
    expect(plan.pending.map(({ kind, tool, args, place, plan }) => [kind, tool, args.id, place, plan])).toEqual([
      ['approval', 'pay', 'a', '1.tool.1.decision', { at: 1, of: 3 }],
      ['approval', 'set', 'b', '1.tool.2.decision', { at: 2, of: 3 }],
      ['approval', 'refund', 'c', '2.tool.0.decision', { at: 3, of: 3 }],
    ])
    expect(plan.toolCalls.map(({ tool }) => tool)).toEqual(['read'])
    expect(resultsIn(plan)).toEqual(['read a', noted('pay'), 'would set b for Ada', noted('refund'), 'I would pay a, set b and refund c.'])
    const decisions = approve(plan.pending, ({ tool }) => (tool === 'set' ? { approved: false, reason: 'not b' } : {}))
    const result = await resume(plan, decisions.toReversed(), { context: 'Ada' })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Paid and refunded.', pending: [] })
    expect(done).toEqual(['pay a 1.tool.1', 'refund c 2.tool.0'])
    const told = ['read a', 'pay a: done', 'The call to `set` was refused: not b', 'refund c: done']
    expect(resultsIn(result)).toEqual([...told, 'Paid and refunded.'])
    // What the model was asked last is what it would have been asked without a preview.
    expect(resultsIn({ messages: model.requests.at(-1)?.messages as never })).toEqual(told)
    expect(result.messages.filter(({ role }) => role === 'tool').map((message) => (message as { toolCallId: string }).toolCallId)).toEqual([
      'call_1',
      'call_2',
      'call_3',
      'call_4',
    ])
    expect(result.toolCalls.map(({ tool, outcome, iteration }) => [tool, outcome, iteration])).toEqual([
      ['read', 'ok', 1],
      ['pay', 'ok', 1],
      ['set', 'denied', 1],
      ['refund', 'ok', 2],
    ])
  })

  it('carries out nothing before everything is decided, and keeps the numbers of what is left', async () => {
    const { done, tools } = openShop()
    const { run, resume } = open([calls(call('pay', 'a'), call('pay', 'b'), call('pay', 'c')), 'plan', 'done'], { tools })
    const plan = await run()
    const [a, b, c] = approve(plan.pending)
    const part = await resume(plan, [b as Decision])
    expect([part.stopReason, done]).toEqual(['paused', []])
    expect(part.pending.map(({ args, plan }) => [args.id, plan])).toEqual([
      ['a', { at: 1, of: 3 }],
      ['c', { at: 3, of: 3 }],
    ])
    const none = await resume(part, [])
    expect([none.stopReason, none.pending.length, done]).toEqual(['paused', 2, []])
    const result = await resume(none, [a as Decision, { ...(c as Decision), approved: false } as Decision])
    expect([result.stopReason, done]).toEqual(['answered', ['pay a 1.tool.0', 'pay b 1.tool.1']])
  })

  it('runs an edited call with the new arguments, and tells the model', async () => {
    const { done, tools } = openShop()
    const { run, resume } = open([calls(call('pay', 'a')), 'plan', 'done'], { tools })
    const plan = await run()
    const result = await resume(
      plan,
      approve(plan.pending, () => ({ args: { id: 'z' } })),
    )
    expect(done).toEqual(['pay z 1.tool.0'])
    expect(resultsIn(result)[0]).toBe('pay z: done\n\nNote: the call was run with other arguments: {"id":"z"}')
  })

  it('plans new calls again after a plan was carried out, unless resumed with `effects: apply`', async () => {
    const { done, tools } = openShop()
    const script = () => [calls(call('pay', 'a')), 'plan', calls(call('pay', 'b')), 'plan 2', 'done']
    const again = open(script(), { tools })
    const first = await again.run()
    const second = await again.resume(first, approve(first.pending))
    expect([second.stopReason, second.text, done]).toEqual(['paused', 'plan 2', ['pay a 1.tool.0']])
    expect(second.pending.map(({ args, plan }) => [args.id, plan])).toEqual([['b', { at: 1, of: 1 }]])
    const result = await again.resume(second, approve(second.pending))
    expect([result.stopReason, resultsIn(result), done.length]).toEqual(['answered', ['pay a: done', 'pay b: done', 'done'], 2])
    const applied = open([calls(call('pay', 'a')), 'plan', calls(call('pay', 'b')), 'done'], { tools })
    const plan = await applied.run()
    const ended = await applied.resume(plan, approve(plan.pending), { effects: 'apply' })
    expect([ended.stopReason, ended.output, done.length]).toEqual(['answered', 'done', 4])
  })

  it('ends as usual if no call has effects', async () => {
    const { tools } = openShop()
    const result = await open([calls(call('read', 'a')), 'read it'], { tools }).run()
    expect([result.stopReason, result.output, result.pending]).toEqual(['answered', 'read it', []])
  })

  it('pauses at a limit, and counts its iterations from 1 again after the plan', async () => {
    const { done, tools } = openShop()
    const { run, resume } = open([calls(call('pay', 'a')), calls(call('pay', 'b')), 'done'], { tools })
    const plan = await run({ maxIterations: 2 })
    expect([plan.stopReason, plan.pending.length]).toEqual(['paused', 2])
    const result = await resume(plan, approve(plan.pending))
    expect([result.stopReason, result.output, done.length]).toEqual(['answered', 'done', 2])
  })

  it('does not plan what is invalid, refused or answered before it would run', async () => {
    const { done, tools } = openShop()
    const plan = await open(
      [calls(call('pay', 'bad'), call('pay', 'no'), call('pay', 'known'), { name: 'pay', args: {} }, call('pay', 'ok')), 'plan'],
      {
        tools,
        hooks: [
          {
            beforeTool: ({ args }) =>
              args.id === 'no'
                ? { refuse: 'not today' }
                : args.id === 'known'
                  ? { result: 'paid before' }
                  : args.id === 'ok'
                    ? { args: { id: 'okay' } }
                    : undefined,
          },
        ],
        guardrails: [{ name: 'bank', call: ({ args }) => (args.id === 'bad' ? { refuse: 'a bad one' } : undefined) as never }],
      },
    ).run()
    expect(plan.pending.map(({ args, plan }) => [args.id, plan])).toEqual([['okay', { at: 1, of: 1 }]])
    expect(plan.toolCalls.map(({ outcome }) => outcome)).toEqual(['denied', 'denied', 'ok', 'rejected'])
    expect(done).toEqual([])
  })

  it('asks once about a call that a tool or an entry wants approved, and never asks `approve`', async () => {
    const { done, tools } = openShop()
    const asked: string[] = []
    const { run, resume } = open([calls(call('refund', 'a'), call('pay', 'b')), 'plan', 'done'], {
      tools,
      approve: ({ tool }) => asked.push(tool) > 0,
      plan: [
        { name: 'second pair of eyes', call: ({ tool }) => (tool === 'pay' ? { ask: 'Is that right?' } : undefined) },
        { name: 'later', call: ({ args }) => (args.id === 'x' ? { refuse: 'x' } : undefined) },
      ],
    })
    const plan = await run()
    expect(plan.pending.map(({ tool, about }) => [tool, about])).toEqual([
      ['refund', undefined],
      ['pay', 'Is that right?'],
    ])
    const result = await resume(plan, approve(plan.pending))
    expect([result.stopReason, asked, done]).toEqual(['answered', [], ['refund a 1.tool.0', 'pay b 1.tool.1']])
  })

  it('shows what `approval` of a tool shows', async () => {
    const send = defineTool({
      name: 'send',
      description: 'x',
      parameters,
      approval: ({ id }) => ({ about: `to ${id}` }),
      execute: () => 'sent',
    })
    const plan = await open([calls(call('send', 'Ada')), 'plan'], { tools: [send] }).run()
    expect(plan.pending).toMatchObject([{ about: 'to Ada', effect: 'unsafe', said: 'plan', plan: { at: 1, of: 1 } }])
  })

  it('keeps the order when a tool of the plan asks a question: what follows waits', async () => {
    const { done, tools } = openShop()
    const sign = defineTool({
      name: 'sign',
      description: 'Signs.',
      parameters,
      execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'PIN?' }) : `signed with ${String(answer)}`),
    })
    const { run, resume } = open([calls(call('pay', 'a'), call('sign', 'b'), call('pay', 'c')), 'plan', 'done'], {
      tools: [...tools, sign],
    })
    const plan = await run()
    const asking = await resume(plan, approve(plan.pending))
    expect([asking.stopReason, asking.pending.map(({ kind, about }) => [kind, about]), done]).toEqual([
      'paused',
      [['question', 'PIN?']],
      ['pay a 1.tool.0'],
    ])
    const result = await resume(asking, [{ ...(asking.pending[0] as PendingItem), answer: '1234' } as Decision])
    expect([result.stopReason, done]).toEqual(['answered', ['pay a 1.tool.0', 'pay c 1.tool.2']])
    expect(resultsIn(result)).toEqual(['pay a: done', 'signed with 1234', 'pay c: done', 'done'])
  })

  it('is the same for a failing `preview` as for a failing tool: the call is not planned', async () => {
    const settings = [
      { name: 'throws', preview: () => Promise.reject(new Error('no such order')) },
      { name: 'asks', preview: () => ask({ about: 'What?' }) },
      { name: 'hangs', preview: () => new Promise(() => {}), timeoutMs: 20 },
    ]
    const { done } = openShop()
    const tools = settings.map((one) => defineTool({ ...one, description: 'x', execute: () => done.push(one.name) }))
    const plan = await open([calls(...settings.map(({ name }) => ({ name, args: {} }))), 'nothing to do'], { tools }).run()
    expect([plan.stopReason, plan.toolCalls.map(({ outcome }) => outcome), done]).toEqual(['answered', ['failed', 'failed', 'timeout'], []])
    expect(resultsIn(plan)[0]).toContain('no such order')
  })

  it('tells the model that a call is noted if its `preview` returns nothing', async () => {
    const tool = defineTool({ name: 'pay', description: 'x', preview: () => {}, execute: () => 'paid' })
    const plan = await open([calls({ name: 'pay', args: {} }), 'plan'], { tools: [tool] }).run()
    expect([plan.pending.length, resultsIn(plan)]).toEqual([1, [noted('pay'), 'plan']])
  })

  it('joins the calls of agents inside its calls into one plan', async () => {
    const { done, tools } = openShop()
    const agent = new AgentRunner({
      model: scriptedModel([calls(call('pay', 'n')), 'I would pay n.', calls(call('pay', 'm')), 'I would pay m, too.', 'Paid n and m.']),
      tools,
      logger,
    })
    const helper = asTool(agent, { name: 'helper', description: 'Helps.' })
    const script = [calls(call('pay', 'a'), { name: 'helper', args: { task: 'n' } }), calls(call('pay', 'z')), 'plan', 'plan 2', 'done']
    const { run, resume } = open(script, { tools: [...tools, helper] })
    const plan = await run()
    expect(resultsIn(plan)).toEqual([noted('pay'), 'I would pay n.', noted('pay'), 'plan'])
    expect(plan.pending.map(({ args, plan, path }) => [args.id, plan, path?.[0]?.agent])).toEqual([
      ['a', { at: 1, of: 3 }, undefined],
      ['n', { at: 2, of: 3 }, 'helper'],
      ['z', { at: 3, of: 3 }, undefined],
    ])
    const second = await resume(plan, approve(plan.pending))
    expect(done).toEqual(['pay a 1.tool.0', expect.stringMatching(/^pay n /), 'pay z 2.tool.0'])
    expect([second.stopReason, second.text, second.pending.map(({ args }) => args.id)]).toEqual(['paused', 'plan 2', ['m']])
    expect(resultsIn(second)).toEqual(['pay a: done', 'I would pay m, too.', 'pay z: done', 'plan 2'])
    const result = await resume(second, approve(second.pending))
    expect(done).toEqual([...done.slice(0, 3), expect.stringMatching(/^pay m /)])
    expect(resultsIn(result)).toEqual(['pay a: done', 'Paid n and m.', 'pay z: done', 'done'])
    expect(result.toolCalls.map(({ tool, outcome }) => [tool, outcome])).toContainEqual(['helper', 'ok'])
  })

  it('previews a script to its end, asks about all its calls at once, and runs it again with their results', async () => {
    const { done, tools } = openShop()
    const code = `const seen = await tools.read({ id: 'x' })
const one = await tools.pay({ id: '1' })
const two = await tools.pay({ id: '2' })
if (two.endsWith('done')) await tools.pay({ id: '3' })
return [seen, one, two]`
    const script = [calls({ name: 'run_script', args: { code } }), 'plan', 'plan 2', 'done']
    const { run, resume } = open(script, { tools: codeMode(tools) })
    const plan = await run()
    expect(plan.pending.map(({ args, plan, script }) => [args.id, plan, script?.line])).toEqual([
      ['1', { at: 1, of: 2 }, 2],
      ['2', { at: 2, of: 2 }, 3],
    ])
    expect(JSON.parse(String(resultsIn(plan)[0]))).toEqual(['read x', noted('pay'), noted('pay')])
    const second = await resume(plan, approve(plan.pending))
    expect([second.stopReason, second.pending.map(({ args }) => args.id), done.length]).toEqual(['paused', ['3'], 2])
    const result = await resume(second, approve(second.pending))
    expect(done.map((line) => line.split(' ')[1])).toEqual(['1', '2', '3'])
    expect(JSON.parse(String(resultsIn(result)[0]))).toEqual(['read x', 'pay 1: done', 'pay 2: done'])
  })

  it('tells the model which calls were carried out if the script then makes other calls', async () => {
    const { done, tools } = openShop()
    const code = `const paid = await tools.pay({ id: '1' })
if (!paid.endsWith('done')) await tools.read({ id: 'other' })
return paid`
    const { run, resume } = open([calls({ name: 'run_script', args: { code } }), 'plan', 'done'], { tools: codeMode(tools) })
    const plan = await run()
    const result = await resume(plan, approve(plan.pending))
    expect([result.stopReason, done.length]).toEqual(['answered', 1])
    expect(resultsIn(result)[0]).toMatch(/did not make the same calls as before: .*These calls were carried out: pay\(\{"id":"1"\}\)/s)
  })

  it('carries out the calls of each agent with its own tools, after the conversation was handed over', async () => {
    const { done, tools } = openShop()
    const mail = defineTool({ name: 'mail', description: 'x', parameters, secrets: ['id'], execute: ({ id }) => done.push(`mail ${id}`) })
    const clerk = new AgentRunner({ model: scriptedModel([calls(call('mail', 'm')), 'plan', 'done']), tools: [mail], logger })
    const handover = handoff(clerk, { name: 'clerk', description: 'x' })
    const { run, resume } = open([calls(call('pay', 'a'), { name: 'hand_off_to_clerk', args: {} })], { tools: [...tools, handover] })
    const plan = await run()
    expect(plan.pending.map(({ tool, secrets }) => [tool, secrets])).toEqual([
      ['pay', undefined],
      ['mail', ['id']],
    ])
    const result = await resume(plan, approve(plan.pending))
    expect([result.stopReason, result.output, done]).toEqual(['answered', 'done', ['pay a 1.tool.0', 'mail m']])
  })

  it('ends with a `final` tool of the plan, once that is carried out', async () => {
    const { done, tools } = openShop()
    const submit = defineTool({ name: 'submit', description: 'x', parameters, final: true, execute: ({ id }) => `submitted ${id}` })
    const { run, resume } = open([calls(call('pay', 'a'), call('submit', 'b'))], { tools: [...tools, submit] })
    const plan = await run()
    expect([plan.stopReason, plan.pending.length, done]).toEqual(['paused', 2, []])
    const result = await resume(plan, approve(plan.pending))
    expect([result.stopReason, result.output, done.length]).toEqual(['stopped', 'submitted b', 1])
  })

  it('asks for the answer again if it has a schema', async () => {
    const { done, tools } = openShop()
    const output = { type: 'object', properties: { paid: { type: 'boolean' } }, required: ['paid'] } as const
    const answer = (paid: boolean) => ({ name: 'final_answer', args: { paid } })
    for (const [script, left] of [
      [[calls(call('pay', 'a')), calls(answer(false)), calls(answer(true))], 2],
      [[calls(call('pay', 'a'), answer(false)), calls(answer(true))], 3],
    ] as const) {
      const { run, resume } = open([...script], { tools })
      const plan = await run({ output })
      expect([plan.stopReason, plan.pending.length]).toEqual(['paused', 1])
      const result = await resume(plan, approve(plan.pending), { output } as never)
      expect([result.stopReason, result.output]).toEqual(['answered', { paid: true }])
      expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(left)
    }
    expect(done).toHaveLength(2)
  })

  it('is the same for calls that are written as text, and for whole responses', async () => {
    for (const options of [{ toolCalling: 'tags' }, { toolCalling: 'json' }, { toolCalling: undefined, stream: false }] as const) {
      const { done, tools } = openShop()
      const written = {
        tags: { text: 'Paying. <tool_action name="pay">{"id":"a"}</tool_action>' },
        json: { text: '{"tool":"pay","arguments":{"id":"a"}}' },
        native: calls(call('pay', 'a')),
      }
      const form = options.toolCalling ?? 'native'
      const { run, resume } = open([written[form], 'plan', 'done'], { tools, ...options })
      const plan = await run()
      expect([plan.stopReason, plan.pending.map(({ args }) => args.id)]).toEqual(['paused', ['a']])
      const result = await resume(plan, approve(plan.pending))
      expect([result.stopReason, result.output, done.length]).toEqual(['answered', 'done', 1])
    }
  })

  it('keeps its conversation in a session', async () => {
    const { tools } = openShop()
    const sessions = memorySessions()
    const { run, resume } = open([calls(call('pay', 'a')), 'plan', 'done', 'hello'], { tools, sessions })
    const plan = await run({ session: 'chat' })
    await resume(plan, approve(plan.pending))
    const messages = await sessions.read('chat')
    expect(resultsIn({ messages })).toEqual(['pay a: done', 'done'])
  })

  it('emits the items of its plan at its end, and the calls when they are carried out', async () => {
    const { tools } = openShop()
    const script = [calls(call('pay', 'a'), call('set', 'b')), 'plan', 'done']
    const options = { model: scriptedModel(script as never), tools, logger, ...(where === 'journal' ? { journal: memoryJournal() } : {}) }
    const watch = async (stream: AsyncIterable<RunEvent> & { result: Promise<RunResult> }) => {
      const seen: string[] = []
      for await (const event of stream) {
        const { type } = event
        if (type === 'DECISION_NEEDED') seen.push(`${type} ${event.plan?.at}/${event.plan?.of}`)
        else if (/^(TOOL_CALL|DECISION|RUN)/.test(type)) seen.push(`${type} ${event.meta.toolCallId ?? ''}`.trim())
      }
      return { seen, result: await stream.result }
    }
    const paused = await watch(new AgentRunner(options).stream('Go', { effects: 'preview' }))
    expect(paused.seen).toEqual(['RUN_START', 'DECISION_NEEDED 1/2', 'DECISION_NEEDED 2/2', 'RUN_END'])
    const { result } = paused
    const decisions = approve(result.pending)
    const { seen } = await watch(
      new AgentRunner(options).resumeStream(where === 'state' ? stored(result.state) : result.runId, { decisions, replay: false }),
    )
    expect(seen.filter((line) => !line.includes('NEEDED'))).toEqual([
      'RUN_START',
      'DECISION_MADE call_1',
      'DECISION_MADE call_2',
      'TOOL_CALL_START call_1',
      'TOOL_CALL_END call_1',
      'TOOL_CALL_START call_2',
      'TOOL_CALL_END call_2',
      'RUN_END',
    ])
  })
})

it('preview: notes a call that was planned in a preview, even if the run is resumed with `effects: apply` before the call was carried out', async () => {
  const { done, tools } = openShop()
  const { run, resume } = twoProcesses('state', { script: [calls(call('pay', 'a')), 'plan', 'plan again', 'done'] as never, tools })
  const plan = await run()
  for (const step of Object.keys(plan.state?.steps ?? {})) if (step.startsWith('1.tool')) delete plan.state?.steps[step]
  const ended = await resume(
    plan,
    approve(plan.pending, () => ({ approved: false })),
    { effects: 'apply' },
  )
  expect([ended.stopReason, done]).toEqual(['answered', []])
})

describe('the record of a preview', () => {
  it('is streamed to later readers with its plan, and then with what was carried out', async () => {
    const { tools } = openShop()
    const journal = memoryJournal()
    const model = scriptedModel([calls(call('pay', 'a'), call('set', 'b')), 'the plan', 'all done'])
    const runner = new AgentRunner({ model, tools, logger, journal })
    const told = async (): Promise<string[]> => {
      const seen: string[] = []
      for await (const event of runner.runs.stream('r')) {
        if (event.type === 'TEXT_DELTA') seen.push(event.text)
        else if (event.type === 'TOOL_CALL_END') seen.push(event.result)
        else if (event.type === 'DECISION_NEEDED') seen.push(`${event.tool}?`)
      }
      return seen
    }
    const plan = await runner.run('Go', { effects: 'preview', runId: 'r' })
    expect(await told()).toEqual(['the plan', 'pay?', 'set?'])
    await runner.resume('r', { decisions: approve(plan.pending) })
    const ended = await told()
    expect(ended.filter((text) => text.includes('done'))).toEqual(['pay a: done', 'set b: done', 'all done'])
    expect(ended.join()).not.toContain('Noted')
  })
})

describe('a preview', () => {
  it('does not notify hooks after a tool, but guards what a preview shows', async () => {
    const { tools } = openShop()
    const after: string[] = []
    const model = scriptedModel([calls(call('set', 'secret')), 'plan'])
    const plan = await new AgentRunner({
      model,
      tools,
      logger,
      hooks: [{ afterTool: ({ tool }) => void after.push(tool) }],
      guardrails: [
        {
          name: 'dlp',
          result: ({ content }) => (String(content).includes('secret') ? { refuse: 'dlp' } : undefined) as never,
        },
      ],
    }).run('Go', { effects: 'preview' })
    expect([after, plan.pending.length]).toEqual([[], 1])
    expect(resultsIn(plan)[0]).toBe('The result was withheld by dlp: dlp')
  })

  it('applies to a runner, and to agents in its calls even if they say otherwise', async () => {
    const { done, tools } = openShop()
    const agent = new AgentRunner({ model: scriptedModel([calls(call('pay', 'n')), 'inner plan']), tools, effects: 'apply', logger })
    const model = scriptedModel([calls({ name: 'helper', args: { task: 'n' } }), 'plan'])
    const runner = new AgentRunner({ model, tools: [asTool(agent, { name: 'helper', description: 'x' })], effects: 'preview', logger })
    const plan = await runner.run('Go')
    expect([plan.stopReason, plan.pending.length, done]).toEqual(['paused', 1, []])
  })

  it('of an agent in the call of a run without one pauses that run at once', async () => {
    const { done, tools } = openShop()
    const agent = new AgentRunner({
      model: scriptedModel([calls(call('pay', 'n')), 'inner plan', 'inner done']),
      tools,
      effects: 'preview',
      logger,
    })
    const model = scriptedModel([calls({ name: 'helper', args: { task: 'n' } }), 'done'])
    const runner = new AgentRunner({ model, tools: [asTool(agent, { name: 'helper', description: 'x' })], logger })
    const paused = await runner.run('Go')
    expect([paused.stopReason, paused.iterations, done]).toEqual(['paused', 1, []])
    const result = await runner.resume(paused.state, { decisions: approve(paused.pending) })
    expect([result.output, resultsIn(result), done.length]).toEqual(['done', ['inner done', 'done'], 1])
  })

  it('leaves the tools of the caller to the caller', async () => {
    const { done, tools } = openShop()
    const theirs = defineTool({ name: 'theirs', description: 'x', parameters })
    const model = scriptedModel([calls(call('pay', 'a'), call('theirs', 'b')), 'plan', 'done'])
    const runner = new AgentRunner({ model, tools: [...tools, theirs], logger })
    const first = await runner.run('Go', { effects: 'preview' })
    expect(first.pending.map(({ kind, plan }) => [kind, plan])).toEqual([['client_tool', undefined]])
    const plan = await runner.resume(first.state, { decisions: [{ ...(first.pending[0] as PendingItem), result: 'ok' } as Decision] })
    expect([plan.pending.map(({ args, plan }) => [args.id, plan]), done]).toEqual([[['a', { at: 1, of: 1 }]], []])
    const result = await runner.resume(plan.state, { decisions: approve(plan.pending) })
    expect([result.output, done]).toEqual(['done', ['pay a 1.tool.0']])
  })

  it('does not take a tool with a member `runs` for an agent', async () => {
    class Counter extends BaseTool {
      readonly name = 'count'
      readonly description = 'x'
      readonly parameters = { type: 'object' }
      runs = 0
      override execute() {
        return ++this.runs
      }
    }
    const counter = new Counter()
    const plan = await new AgentRunner({
      model: scriptedModel([calls({ name: 'count', args: {} }), 'plan']),
      tools: [counter],
      logger,
    }).run('Go', {
      effects: 'preview',
    })
    expect([plan.pending.length, counter.runs]).toEqual([1, 0])
  })

  it('ends without a plan if it is aborted, fails or is stopped', async () => {
    const { done, tools } = openShop()
    const open = (last: ScriptedTurn | string, options: Partial<RunnerOptions> = {}) =>
      new AgentRunner({
        model: scriptedModel([calls(call('pay', 'a')), last as never]),
        tools: tools as AnyTool[],
        logger,
        ...options,
      } as RunnerOptions)
    const failed = await open({ error: new Error('down') }).run('Go', { effects: 'preview' })
    expect([failed.stopReason, failed.pending]).toEqual(['model_error', []])
    const controller = new AbortController()
    const aborted = await open('plan', {
      hooks: [{ afterModel: ({ iteration }: { iteration: number }) => void (iteration === 2 && controller.abort()) }] as never,
    }).run('Go', {
      effects: 'preview',
      signal: controller.signal,
    })
    expect([aborted.stopReason, aborted.pending]).toEqual(['aborted', []])
    const control = new RunControl()
    const stopWhen = ({ iteration }: { iteration: number }) => {
      if (iteration === 1) control.stop()
      return false
    }
    const stopping = open('plan', { stopWhen })
    const stopped = await stopping.run('Go', { effects: 'preview', control })
    expect([stopped.stopReason, stopped.pending, done]).toEqual(['stopped', [], []])
  })

  it('resumed with `again`, does not repeat an unsafe call of the plan that may have run', async () => {
    const { done, tools } = openShop()
    const script = [calls(call('read', 'r')), calls(call('pay', 'a'), call('set', 'b')), 'plan', 'done']
    const runner = new AgentRunner({ model: scriptedModel(script as never), tools, logger })
    const plan = await runner.run('Go', { effects: 'preview' })
    const result = await runner.resume(stored(plan.state), { decisions: approve(plan.pending), again: true })
    expect([done, result.toolCalls.map(({ outcome }) => outcome)]).toEqual([['set b 2.tool.1'], ['ok', 'uncertain', 'ok']])
  })

  it('rejects a mistyped value', async () => {
    const runner = new AgentRunner({ model: scriptedModel([]), logger })
    await expect(runner.run('Go', { effects: 'dry' as never })).rejects.toThrow(
      "Expected `effects` to be 'apply' or 'preview', got `\"dry\"`",
    )
  })

  it('emits no event of a preview function', async () => {
    const { tools } = openShop()
    const runner = new AgentRunner({ model: scriptedModel([calls(call('set', 'b')), 'plan']), tools, logger })
    const heard: string[] = []
    runner.on(Event.TOOL_CALL_START, ({ tool }) => heard.push(tool))
    runner.on(Event.TOOL_CALL_END, ({ tool }) => heard.push(tool))
    await runner.run('Go', { effects: 'preview' })
    expect(heard).toEqual([])
  })
})
