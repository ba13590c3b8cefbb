import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Decision } from '../../src/agent/decisions/decisions.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { PendingItem, RunnerOptions, RunResult } from '../../src/agent/types/options.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const approve = (pending: readonly PendingItem[], more: object = {}): Decision[] =>
  pending.map((item) => ({ ...item, approved: true as const, ...more }))

describe.each(['state', 'journal'])('waiting calls of a script, over a %s', (where) => {
  /** Runs and resumes a script, each time with a new runner, as other processes would. */
  function travel(code: string, options: Partial<RunnerOptions> = {}) {
    const ran: string[] = []
    const journal = where === 'journal' ? { journal: memoryJournal() } : {}
    const euros = { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] } as const
    const tools = [
      defineTool({
        name: 'pay',
        description: 'Pays.',
        parameters: euros,
        approval: true,
        execute: ({ euros }) => {
          ran.push(`pay ${euros}`)
          return { paid: euros }
        },
      }),
      defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => ran.push('look') }),
      defineTool({
        name: 'confirm',
        description: 'x',
        execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'Sure?' }) : answer),
      }),
      defineTool({ name: 'theirs', description: 'Runs elsewhere.' }),
    ]
    let state: Parameters<AgentRunner['resume']>[0]
    const { logger } = recordingLogger()
    const open = () => {
      const model = scriptedModel(({ messages }) => {
        const last = messages.at(-1)
        return last?.role === 'tool' ? String(last.content) : { toolCalls: [{ name: 'run_script', args: { code } }] }
      })
      return new AgentRunner({ model, logger, tools: codeMode(tools), ...journal, ...options })
    }
    const step = async (work: Promise<RunResult>) => {
      const result = await work
      state = result.state === undefined ? result.runId : stored(result.state)
      return result
    }
    return {
      ran,
      run: () => step(open().run('go')),
      resume: (decisions: Decision[]) => step(open().resume(state, { decisions: stored(decisions) })),
    }
  }

  it('pause the run with an item that quotes the line; once approved, the script continues from there', async () => {
    const { ran, run, resume } = travel('const n = await tools.look()\nif (n > 0)\n  return await tools.pay({ euros: 5 * n })')
    const paused = await run()
    expect(paused).toMatchObject({
      stopReason: 'paused',
      pending: [
        {
          kind: 'approval',
          tool: 'pay',
          args: { euros: 5 },
          path: [{ agent: 'run_script' }],
          script: { line: 3, code: 'return await tools.pay({ euros: 5 * n })' },
        },
      ],
    })
    expect(ran).toEqual(['look'])
    const result = await resume(approve(paused.pending))
    expect([result.stopReason, result.output]).toEqual(['answered', '{"paid":5}'])
    expect(ran).toEqual(['look', 'pay 5'])
    expect(result.toolCalls[0]).toMatchObject({ tool: 'run_script', decision: { kind: 'approval', approved: true } })
  })

  it('in one `Promise.all` are asked together, can be decided one by one, and each runs once', async () => {
    const code = `const made = await Promise.allSettled([1, 2, 3].map((euros) => tools.pay({ euros })))
return made.map(({ value, reason }) => value?.paid ?? reason.message)`
    const { ran, run, resume } = travel(code)
    const paused = await run()
    expect(paused.pending.map(({ args, script }) => [args, script?.line])).toEqual([1, 2, 3].map((euros) => [{ euros }, 1]))
    const [one, two, three] = paused.pending
    if (one === undefined || two === undefined || three === undefined) throw new Error('Expected three items')
    const second = await resume(approve([two]))
    expect([second.stopReason, second.pending.length, ran]).toEqual(['paused', 2, ['pay 2']])
    const last = await resume([{ ...one, approved: false, reason: 'too dear' }, ...approve([three], { args: { euros: 4 } })])
    expect(last.output).toBe(
      'Returned:\n["The call to `pay` was refused: too dear",2,4]\n\nNote: `pay` was run with other arguments: {"euros":4}',
    )
    expect(ran).toEqual(['pay 2', 'pay 4'])
  })

  it('may be questions and the caller’s own calls, several times in one script', async () => {
    const code = `const sure = await tools.confirm()
const theirs = await tools.theirs({})
const paid = await tools.pay({ euros: 1 })
return [sure, theirs, paid]`
    const { run, resume } = travel(code)
    const first = await run()
    expect(first.pending).toMatchObject([{ kind: 'question', about: 'Sure?', script: { line: 1 } }])
    const second = await resume(first.pending.map((item) => ({ ...item, answer: 'yes' })))
    expect(second.pending).toMatchObject([{ kind: 'client_tool', tool: 'theirs', script: { line: 2 } }])
    const third = await resume(second.pending.map((item) => ({ ...item, result: { a: 1 } })))
    expect(third.pending).toMatchObject([{ kind: 'approval', tool: 'pay', script: { line: 3 } }])
    expect((await resume(approve(third.pending))).output).toBe('["yes",{"a":1},{"paid":1}]')
  })

  it('find the same time, random numbers and order in a script that is started again', async () => {
    const code = `const before = [Date.now(), Math.random(), new Date().toISOString(), performance.now()]
await tools.pay({ euros: 1 })
return [before, [Date.now(), Math.random()]]`
    const { run, resume } = travel(`${code}\n// one`)
    const { pending } = await run()
    const first = JSON.parse(String((await resume(approve(pending))).output))
    expect(first[0][0]).toBe(first[1][0])
    const printing = travel(`console.log(JSON.stringify([Date.now(), Math.random()]))\nawait tools.pay({ euros: 1 })\nreturn 1`)
    const seen = (await printing.run()).pending
    const pausedAt = Date.now()
    await expect.poll(() => Date.now()).toBeGreaterThan(pausedAt)
    const { toolCalls } = await printing.resume(approve(seen))
    expect(toolCalls[0]?.outcome).toBe('ok')
  })

  it('are asked of `approve` if the run has one', async () => {
    const asked: string[] = []
    const { ran, run } = travel('return await tools.pay({ euros: 7 })', {
      approve: async ({ tool }) => {
        asked.push(tool)
        return true
      },
    })
    expect((await run()).output).toBe('{"paid":7}')
    expect([asked, ran]).toEqual([['pay'], ['pay 7']])
  })

  it('are not asked again after an approval with `remember`, in this script and in later ones', async () => {
    const { ran, run, resume } = travel('return [await tools.pay({ euros: 1 }), await tools.pay({ euros: 1 })].length')
    const { pending } = await run()
    const result = await resume(approve(pending, { remember: true }))
    expect([result.stopReason, result.output, ran]).toEqual(['answered', '2', ['pay 1', 'pay 1']])
    expect(result.remembered).toHaveLength(1)
  })

  it('refuse changed arguments that do not fit, and nothing happens', async () => {
    const { ran, run, resume } = travel('return await tools.pay({ euros: 7 })')
    const { pending } = await run()
    await expect(resume(approve(pending, { args: { euros: 'many' } }))).rejects.toMatchObject({ code: 'invalid_option' })
    expect(ran).toEqual([])
    expect((await resume(approve(pending))).output).toBe('{"paid":7}')
  })
})

it('the items of a script in a nested agent have the whole path', async () => {
  const pay = defineTool({ name: 'pay', description: 'x', approval: true, execute: () => 'paid' })
  const inner = new AgentRunner({
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? String(messages.at(-1)?.content)
        : { toolCalls: [{ name: 'run_script', args: { code: 'return tools.pay()' } }] },
    ),
    tools: codeMode([pay]),
  })
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? String(messages.at(-1)?.content) : { toolCalls: [{ name: 'ask', args: { task: 'x' } }] },
  )
  const outer = new AgentRunner({ model, tools: [asTool(inner, { name: 'ask', description: 'x' })] })
  const paused = await outer.run('go')
  expect(paused.pending).toMatchObject([{ tool: 'pay', path: [{ agent: 'ask' }, { agent: 'run_script' }], script: { line: 1 } }])
  expect((await outer.resume(stored(paused.state), { decisions: approve(paused.pending) })).output).toBe('paid')
})

it('the note about changed arguments of a script has none of those that the tool hides', async () => {
  const { logger, records } = recordingLogger()
  const login = defineTool({
    name: 'login',
    description: 'x',
    parameters: { type: 'object', properties: { user: { type: 'string' }, pin: { type: 'string' } } },
    secrets: ['pin'],
    approval: true,
    execute: () => 'in',
  })
  const code = 'return await tools.login({ user: "a", pin: "1" })'
  const model = scriptedModel([{ toolCalls: [{ name: 'run_script', args: { code } }] }, 'done'])
  const runner = new AgentRunner({ model, tools: codeMode([login]), logger })
  const events: unknown[] = []
  runner.on('TOOL_CALL_END', (event) => void events.push(event))
  const { pending, state } = await runner.run('go')
  const { toolCalls } = await runner.resume(state, { decisions: approve(pending, { args: { user: 'b', pin: '9-secret-9' } }) })
  expect(toolCalls[0]?.content).toContain('Note: `login` was run with other arguments: {"user":"b","pin":"[redacted]"}')
  expect(JSON.stringify([events, records])).not.toContain('9-secret-9')
})

it('`codeMode` refuses a `keep` that is no list of names', () => {
  for (const keep of ['search', 5, [5]])
    expect(() => codeMode([], { keep } as never)).toThrow('Expected `keep` to be an array or a set of names')
})
