import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { PlanEntry } from '../../src/agent/types/middleware.ts'
import type { RunnerOptions, RunState } from '../../src/agent/types/options.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { StrictJournal } from './strict-journal.ts'

const calling = (...euros: number[]) => ({ toolCalls: euros.map((amount) => ({ name: 'pay', args: { euros: amount } })) })

function openShop(settings: Partial<RunnerOptions> = {}, turns = [calling(5), 'done'] as Parameters<typeof scriptedModel>[0]) {
  const paid: unknown[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
    effect: 'idempotent',
    execute: ({ euros }) => {
      paid.push(euros)
      return `paid ${euros}`
    },
  })
  const { logger, records } = recordingLogger()
  const model = scriptedModel(turns)
  const runner = new AgentRunner({ model, tools: [pay], logger, ...settings })
  return { runner, paid, model, log: () => records.map(({ message }) => message) }
}

describe('entries of `plan` on calls', () => {
  it.each([
    ['refuse', { refuse: 'too dear' }, 'answered', 'denied', 'The call to `pay` was refused: too dear'],
    ['stop', { stop: 'enough' }, 'refused', 'denied', 'The call to `pay` was refused by policy: enough'],
    ['answer', { result: { euros: 0 } }, 'answered', 'ok', '{"euros":0}'],
    ['change', { args: { euros: 4 } }, 'answered', 'ok', 'paid 4'],
    ['change them to what does not fit', { args: { euros: 'four' } }, 'answered', 'rejected', expect.stringContaining('`euros`')],
    ['refuse beside arguments', { args: { euros: 4 }, refuse: 'too dear' }, 'answered', 'denied', expect.stringContaining('too dear')],
    ['refuse beside a result', { result: 'paid', refuse: 'too dear' }, 'answered', 'denied', expect.stringContaining('too dear')],
    ['fail and refuse', { refuze: 'typo' } as never, 'answered', 'denied', expect.stringContaining('the check itself failed')],
  ])('may %s', async (_what, decision, stopReason, outcome, content) => {
    const { runner, paid } = openShop({ plan: [{ name: 'policy', call: () => decision }] })
    const result = await runner.run('Pay.')
    expect(result).toMatchObject({ stopReason, toolCalls: [{ outcome, content }] })
    expect(paid).toEqual(content === 'paid 4' ? [4] : [])
  })

  it.each(['plan', 'hooks'] as const)('may change arguments and ask about the call in one: %s', async (list) => {
    const decide = () => ({ args: { euros: 4 }, ask: 'Sure?' })
    const { runner, paid } = openShop(list === 'plan' ? { plan: [{ name: 'policy', call: decide }] } : { hooks: [{ beforeTool: decide }] })
    const { pending, state } = await runner.run('Pay.')
    expect([pending, paid]).toMatchObject([[{ kind: 'approval', args: { euros: 4 }, about: 'Sure?' }], []])
    await runner.resume(state as RunState, { decisions: pending.map((item) => ({ ...item, approved: true as const })) })
    expect(paid).toEqual([4])
  })

  it('run after the hooks and before the guardrails, and see the changes of those before them', async () => {
    const seen: unknown[] = []
    const note = (who: string) => (call: { args: unknown }) => void seen.push([who, call.args])
    const { runner } = openShop({
      guardrails: [{ name: 'g', call: note('guardrail') }],
      plan: [
        { name: 'first', call: ({ args }) => ({ args: { euros: Number(args.euros) + 1 } }) },
        { name: 'second', call: note('entry') },
      ],
      hooks: [{ beforeTool: ({ args }) => ({ args: { euros: Number(args.euros) * 10 } }) }],
    })
    const result = await runner.run('Pay.')
    expect(seen).toEqual([
      ['entry', { euros: 51 }],
      ['guardrail', { euros: 51 }],
    ])
    expect(result.toolCalls[0]).toMatchObject({ args: { euros: 51 }, repairs: ['arguments changed by a hook'] })
  })

  it('are all called before any call of the turn runs', async () => {
    const order: string[] = []
    const { runner } = openShop(
      {
        plan: [{ name: 'p', call: ({ args }) => void order.push(`plan ${args.euros}`) }],
        around: [{ name: 'a', call: ({ args }, next) => order.push(`run ${args.euros}`) && next() }],
      },
      [calling(1, 2), 'done'],
    )
    await runner.run('Pay.')
    expect(order).toEqual(['plan 1', 'plan 2', 'run 1', 'run 2'])
  })

  it('are skipped if they fail and allow it', async () => {
    const broken: PlanEntry = {
      name: 'broken',
      onFailure: 'skip',
      call: () => {
        throw new Error('down')
      },
    }
    const { runner, paid, log } = openShop({ plan: [broken] })
    await runner.run('Pay.')
    expect([paid, log()]).toEqual([[5], ['plan entry failed and was skipped']])
  })
})

describe('an entry of `plan` that never answers', () => {
  const never: PlanEntry = { name: 'never', call: () => new Promise(() => {}) }

  it('fails after `toolTimeoutMs`', async () => {
    const { runner, paid, log } = openShop({ plan: [never], toolTimeoutMs: 20 })
    const result = await runner.run('Pay.')
    expect([result.toolCalls[0]?.outcome, paid, log()]).toEqual(['denied', [], ['plan entry failed: the call is refused']])
  })

  it('does not delay an abort: its call is cancelled, and has not run', async () => {
    const abort = new AbortController()
    const asking: PlanEntry = {
      name: 'asking',
      call: () => {
        abort.abort()
        return new Promise(() => {})
      },
    }
    const { runner, paid } = openShop({ plan: [asking] })
    const result = await runner.run('Pay.', { signal: abort.signal })
    expect(result).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'cancelled', errorCode: 'tool_cancelled' }] })
    expect(paid).toEqual([])
  })
})

describe('an entry of `plan` that asks', () => {
  const asking = (asked: unknown[]): PlanEntry[] => [
    { name: 'first', call: ({ args }) => void asked.push(['first', args.euros]) },
    { name: 'dear', call: ({ args }) => (Number(args.euros) > 3 ? { ask: { why: 'dear' } } : undefined) },
    { name: 'last', call: ({ args }) => void asked.push(['last', args.euros]) },
  ]

  it.each([
    ['in memory', undefined],
    ['in a journal', memoryJournal()],
  ])('pauses the run; once approved, only later entries are called: %s', async (_where, journal) => {
    const asked: unknown[] = []
    const { runner, paid } = openShop({ plan: asking(asked), journal }, [calling(1, 5), 'done'])
    const paused = await runner.run('Pay.')
    expect(paused).toMatchObject({
      stopReason: 'paused',
      pending: [{ kind: 'approval', tool: 'pay', args: { euros: 5 }, about: { why: 'dear' } }],
    })
    expect(paid).toEqual([1])
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const result = await runner.resume(paused.state ?? paused.runId, { decisions })
    expect(result).toMatchObject({
      stopReason: 'answered',
      toolCalls: [{ outcome: 'ok' }, { outcome: 'ok', decision: { approved: true } }],
    })
    expect(paid).toEqual([1, 5])
    expect(asked).toEqual([
      ['first', 1],
      ['first', 5],
      ['last', 1],
      ['last', 5],
    ])
  })

  it('gets all entries called again if the arguments are changed', async () => {
    const asked: unknown[] = []
    const { runner, paid } = openShop({ plan: asking(asked) })
    const paused = await runner.run('Pay.')
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const, args: { euros: 2 } }))
    const result = await runner.resume(paused.state, { decisions })
    expect([result.stopReason, paid]).toEqual(['answered', [2]])
    expect(asked).toEqual([
      ['first', 5],
      ['first', 2],
      ['last', 2],
    ])
  })

  it('is answered by `approve`, which may refuse', async () => {
    const asked: unknown[] = []
    const { runner, paid } = openShop({ plan: asking(asked), approve: ({ args }) => args.euros === 5 }, [calling(5, 6), 'done'])
    const result = await runner.run('Pay.')
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'denied'])
    expect([result.stopReason, paid]).toEqual(['answered', [5]])
  })
})

it('what entries decide is recorded: killed at any moment, a run does what was decided first', async () => {
  const run = async (crashAt: number) => {
    const journal = new StrictJournal(crashAt)
    let asked = 0
    const decide = ['refuse', 'result', 'args']
    const plan: PlanEntry = {
      name: 'changeable',
      call: () => {
        const decision = decide[asked++]
        if (decision === 'refuse') return { refuse: 'no' }
        if (decision === 'result') return { result: 'nothing paid' }
        return decision === 'args' ? { args: { euros: 7 } } : undefined
      },
    }
    const { runner, paid } = openShop({ plan: [plan], journal }, [calling(1, 2, 3), 'done', 'done'])
    const { stopReason, toolCalls } = await runner.run('Pay.', { runId: 'r' })
    expect(journal.violations).toEqual([])
    return { moments: journal.moments, asked, paid, stopReason, contents: toolCalls.map(({ content }) => content) }
  }
  const whole = await run(Number.POSITIVE_INFINITY)
  expect(whole).toMatchObject({ asked: 3, stopReason: 'answered', paid: [7] })
  for (let crashAt = 1; crashAt <= whole.moments; crashAt++) {
    const again = await run(crashAt)
    expect(again.stopReason, `killed at ${crashAt}`).toBe('answered')
    // An entry that was killed before its decision was recorded is asked again, and no other.
    if (again.asked === 3) expect(again.contents, `killed at ${crashAt}`).toEqual(whole.contents)
  }
})

describe('entries of `plan` on requests', () => {
  it('change a request, after the hooks', async () => {
    const { runner, model } = openShop({
      hooks: [{ beforeModel: () => ({ messages: [{ role: 'user', content: 'from the hook' }] }) }],
      plan: [
        { name: 'p', request: ({ messages }) => ({ messages: [...messages, { role: 'user', content: 'from the entry' }], tools: [] }) },
      ],
    })
    await runner.run('Pay.')
    expect(model.requests[0]?.messages.map(({ content }) => content)).toEqual(['from the hook', 'from the entry'])
    expect(model.requests[0]?.tools).toBeUndefined()
  })

  it('stop the run, also by failing; nothing is sent', async () => {
    const stopped = openShop({ plan: [{ name: 'quota', request: () => ({ stop: 'used up' }) }] })
    expect(await stopped.runner.run('Pay.')).toMatchObject({
      stopReason: 'refused',
      error: { code: 'guardrail', message: 'The run was stopped by quota: used up' },
    })
    const failed = openShop({ plan: [{ name: 'quota', request: () => Promise.reject(new Error('down')) }] })
    expect(await failed.runner.run('Pay.')).toMatchObject({
      stopReason: 'refused',
      error: { code: 'hook_failed', message: 'The run was stopped: the `plan` entry `quota` failed, and its `onFailure` is `refuse`' },
    })
    expect([stopped.model.requests.length, failed.model.requests.length]).toEqual([0, 0])
  })
})

it('entries of `around` are inside the hooks, the first outermost', async () => {
  const order: string[] = []
  const around = (name: string) => ({
    name,
    request: async (_request: unknown, next: () => Promise<never>) => (order.push(`${name} request`) ? next() : undefined),
    call: async (_call: unknown, next: () => Promise<unknown>) => `${name}(${await next()})`,
  })
  const { runner } = openShop({
    around: [around('a'), around('b')],
    hooks: [{ aroundTool: async (_call, next) => `hook(${await next()})` }],
  })
  const result = await runner.run('Pay.')
  expect(result.toolCalls[0]?.content).toBe('hook(a(b(paid 5)))')
  expect(order).toEqual(['a request', 'b request', 'a request', 'b request'])
})

it.each([
  [{ plan: {} }, 'plan'],
  [{ plan: [{}] }, 'plan[0].name'],
  [{ plan: [{ name: 'p', calls: () => {} }] }, 'plan[0].calls'],
  [{ plan: [{ name: 'p', onFailure: 'stop' }] }, 'plan[0].onFailure'],
  [{ around: [{ name: 'a', call: 'no' }] }, 'around[0].call'],
])('%j is refused', (options, where) => {
  expect(() => openShop(options as never)).toThrow(where)
})

describe('a tool that its caller runs', () => {
  /** Decides on whatever waits, until nothing does. */
  async function finish(settings: Partial<RunnerOptions>, approval = false) {
    const theirs = defineTool({ name: 'theirs', description: 'Runs elsewhere.', parameters: { type: 'object' }, approval })
    const model = scriptedModel([{ toolCalls: [{ name: 'theirs' }] }, 'done'])
    const runner = new AgentRunner({ model, tools: [theirs], ...settings })
    const waited: string[] = []
    let result = await runner.run('Go.')
    for (let [item] = result.pending; item !== undefined; [item] = result.pending) {
      waited.push(item.kind)
      const decision = item.kind === 'approval' ? { ...item, approved: true as const } : { ...item, result: 'raw' }
      result = await runner.resume(result.state as RunState, { decisions: [decision] })
    }
    const [call] = result.toolCalls
    return { waited, stopReason: result.stopReason, outcome: call?.outcome, content: call?.content, value: call?.value }
  }

  it('is run by its caller once it is approved, by `approval` or by what the plan asks', async () => {
    const ok = { stopReason: 'answered', outcome: 'ok', content: 'raw' }
    expect(await finish({}, true)).toMatchObject({ waited: ['approval', 'client_tool'], ...ok })
    const plan: PlanEntry[] = [{ name: 'policy', call: () => ({ ask: 'Sure?' }) }]
    expect(await finish({ plan })).toMatchObject({ waited: ['approval', 'client_tool'], ...ok })
    expect(await finish({ plan }, true)).toMatchObject({ waited: ['approval', 'approval', 'client_tool'], ...ok })
  })

  it.each<[string, Partial<RunnerOptions>, object]>([
    ['refused by an entry', { plan: [{ name: 'p', call: () => ({ refuse: 'no' }) }] }, { outcome: 'denied', stopReason: 'answered' }],
    ['answered by an entry', { plan: [{ name: 'p', call: () => ({ result: 'known' }) }] }, { outcome: 'ok', content: 'known' }],
    ['refused by a hook', { hooks: [{ beforeTool: () => ({ refuse: 'no' }) }] }, { outcome: 'denied', stopReason: 'answered' }],
    ['stopped by a guardrail', { guardrails: [{ name: 'g', call: () => ({ stop: 'no' }) }] }, { outcome: 'denied', stopReason: 'refused' }],
  ])('is not waited for if its call is %s', async (_what, settings, expected) => {
    expect(await finish(settings)).toMatchObject({ waited: [], ...expected })
  })

  it.each<[string, Partial<RunnerOptions>, object]>([
    ['replaced', { guardrails: [{ name: 'g', result: () => ({ replace: 'clean' }) }] }, { content: 'clean', stopReason: 'answered' }],
    ['withheld', { guardrails: [{ name: 'g', result: () => ({ stop: 'no' }) }] }, { value: undefined, stopReason: 'refused' }],
    ['replaced by a hook', { hooks: [{ afterTool: () => ({ content: 'clean' }) }] }, { content: 'clean', stopReason: 'answered' }],
  ])('has its result checked: %s', async (_what, settings, expected) => {
    const result = await finish(settings)
    expect(result).toMatchObject({ waited: ['client_tool'], ...expected })
    expect(result.content).not.toContain('raw')
  })
})
