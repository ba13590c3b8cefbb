import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Guardrail } from '../../src/agent/callbacks/guardrails.ts'
import type { Hooks } from '../../src/agent/callbacks/hooks.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { type CodeModeOptions, codeMode } from '../../src/code-mode/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { type ModeScript, modes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { resultTexts, stage } from '../hazards/stage.ts'
import { call, countingTool } from '../hazards/tools.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'

failOnUnhandledRejections()

const number = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false } as const

function double(): { tool: AnyTool; calls: number[] } {
  const calls: number[] = []
  const execute = ({ n }: { n: number }) => {
    calls.push(n)
    return n * 2
  }
  return { tool: defineTool({ name: 'double', description: 'Doubles a number.', parameters: number, effect: 'read', execute }), calls }
}

/** Runs one script. The model then repeats the result. */
async function runScript(code: string, tools: readonly AnyTool[], options: Partial<RunnerOptions> = {}, mode: CodeModeOptions = {}) {
  const { logger, records } = recordingLogger()
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool' ? String(last.content) : { toolCalls: [{ name: 'run_script', args: { code } }] }
  })
  const runner = new AgentRunner({ model, tools: codeMode(tools, mode), logger, ...options })
  const seen: { type: string; tool?: unknown; runId: string; outcome?: unknown }[] = []
  for (const type of ['TOOL_CALL_START', 'TOOL_CALL_END', 'TOOL_CALL_REJECTED'] as const)
    runner.on(
      type,
      ({ tool, ...rest }, { runId }) => void seen.push({ type, tool, runId, ...('outcome' in rest ? { outcome: rest.outcome } : {}) }),
    )
  const result = await runner.run('go')
  return { result, told: resultTexts(result)[0] ?? '', outcome: result.toolCalls[0]?.outcome, seen, log: records }
}

describe.each(modes)('scripts: $name', (mode) => {
  it('a script’s calls run as rounds, and the model gets only what the script returns', async () => {
    const { tool, calls } = double()
    const code = `const all = await Promise.all([1, 2, 3].map((n) => tools.double({ n })))
let sum = 0
for (const one of all) sum += await tools.double({ n: one })
return sum`
    const script: ModeScript = [{ toolCalls: [call('run_script', { code })] }, 'done']
    await using on = await stage(mode, script, { tools: codeMode([tool]) })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(resultTexts(result)).toEqual(['24'])
    expect(calls).toEqual([1, 2, 3, 2, 4, 6])
    expect(result.toolCalls).toMatchObject([{ tool: 'run_script', outcome: 'ok', value: { value: 24 }, nested: { toolCalls: 6 } }])
    const inner = on.events.filter(({ meta }) => meta.parentRunId === result.runId)
    expect(inner.map(({ name }) => name).filter((name) => name === 'TOOL_CALL_END')).toHaveLength(6)
    expect(inner.every(({ meta }) => meta.parentToolCallId === result.toolCalls[0]?.id && meta.depth === 1)).toBe(true)
  })
})

describe('a script', () => {
  it('gets values as values, and texts as texts', async () => {
    const values = [
      null,
      true,
      4.5,
      'text',
      '123',
      'true',
      '"quoted"',
      '',
      '(no result)',
      { a: [1] },
      [1, 'x'],
      'ümlaut 🙂',
      '{not json',
      '-',
    ]
    const value = defineTool({ name: 'value', description: 'x', parameters: number, execute: ({ n }) => values[n] })
    const nothing = defineTool({ name: 'nothing', description: 'x', execute: () => undefined })
    const json = defineTool({ name: 'json', description: 'x', execute: () => '{"a": {"b": 1}}' })
    const parts = defineTool({ name: 'parts', description: 'x', execute: () => 1, toContent: () => [{ type: 'text', text: '12' }] })
    const code = `const all = []
for (let n = 0; n < ${values.length}; n++) all.push(await tools.value({ n }))
return { all, nothing: await tools.nothing() === undefined, b: (await tools.json()).a.b, parts: await tools.parts() }`
    const { result } = await runScript(code, [value, nothing, json, parts])
    expect(result.toolCalls[0]?.value).toEqual({ value: { all: values, nothing: true, b: 1, parts: '12' } })
  })

  it('gets an exception for whatever a model would be told: unknown tools, wrong arguments, failures, timeouts and refusals', async () => {
    const fails = defineTool({ name: 'fails', description: 'x', execute: () => Promise.reject(new Error('out of paper')) })
    const slow = defineTool({ name: 'slow', description: 'x', timeoutMs: 20, execute: () => new Promise(() => {}) })
    const secret = countingTool('secret')
    const refuse: Hooks = { beforeTool: ({ tool }) => (tool === 'secret' ? { refuse: 'not today' } : undefined) }
    const code = `const said = []
for (const make of [() => tools.nope({}), () => tools.double({ n: 'many' }), () => tools.double(), () => tools.fails(), () => tools.slow(), () => tools.secret({})]) {
  try { await make() } catch (error) { said.push(error.message) }
}
return said`
    const { result, seen } = await runScript(code, [double().tool, fails, slow, secret.tool], { hooks: [refuse] })
    const value = (result.toolCalls[0]?.value as { value: string[] } | undefined)?.value
    expect(value).toEqual([
      'Tool not found: nope. Available tools: double, fails, slow, secret.',
      expect.stringContaining('`n`: expected number, got string "many"'),
      expect.stringContaining('`n`'),
      expect.stringContaining('out of paper'),
      expect.stringContaining('20 ms'),
      expect.stringContaining('not today'),
    ])
    expect(secret.calls).toEqual([])
    expect(seen.map(({ outcome }) => outcome).filter((one) => one !== undefined)).toEqual([
      'rejected',
      'rejected',
      'rejected',
      'failed',
      'timeout',
      'denied',
      'ok',
    ])
  })

  it('that fails is a failed call: the model is told why, where, and the output so far', async () => {
    const { told, outcome } = await runScript('console.log("one", { a: 1 })\nconst x = undefined\nreturn x.y', [])
    expect(outcome).toBe('failed')
    expect(told).toContain('(line 3 of the script)')
    expect(told).toContain('Printed so far:\none {"a":1}')
    expect((await runScript('return 1 +', [])).told).toContain('SyntaxError')
    expect((await runScript('throw "plain"', [])).told).toContain('plain')
    expect((await runScript('await new Promise(() => {})', [])).told).toContain('waits for a promise that never settles')
    expect((await runScript('import("fs")', [])).told).toContain('returned and printed nothing')
    expect((await runScript('await import("node:fs")', [])).told).toContain("can't be imported")
  })

  it('may be written in TypeScript', async () => {
    const { told } = await runScript('const add = (a: number, b: number): number => a + b\nreturn add(1, (2 as number))', [])
    expect(told).toBe('3')
  })

  it.each([
    ['in a fence', '```js\nconst two = await tools.double({ n: 1 })\nreturn two\n```'],
    ['as a function', 'async () => {\n  const two = await tools.double({ n: 1 })\n  return two\n}'],
    ['as a function in a fence', '\n```typescript\nasync (): Promise<number> => {\n  return await tools.double({ n: 1 });\n};\n```\n'],
    ['as an expression', 'async () => tools.double({ n: 1 })'],
    ['as a function without a name', 'async function () {\n  return tools.double({ n: 1 })\n}'],
    ['as a function that is called', '(async () => {\n  return tools.double({ n: 1 })\n})();'],
    ['as a body with a function', 'async function main() {\n  return tools.double({ n: 1 })\n}\nreturn await main()'],
    ['as a body that begins with a function', 'const main = async () => tools.double({ n: 1 })\nreturn main()'],
  ])('may be written %s', async (_how, code) => {
    const { tool, calls } = double()
    expect((await runScript(code, [tool])).told).toBe('2')
    expect(calls).toEqual([1])
  })

  it('in a fence is quoted by the lines that the model has written', async () => {
    const pay = defineTool({ name: 'pay', description: 'x', approval: true, execute: () => 1 })
    const { result } = await runScript('```js\n\nasync () => {\n  return tools.pay()\n}\n```', [pay])
    expect(result.pending[0]?.script).toEqual({ line: 4, code: 'return tools.pay()' })
  })

  it('that returns nothing is told how to return a value; its output comes before its value', async () => {
    expect((await runScript('1 + 1', [])).told).toContain('`return` or `console.log`')
    expect((await runScript('console.log(1, "a", [2])', [])).told).toBe('Printed:\n1 a [2]')
    expect((await runScript('console.log("x"); return { a: 1 }', [])).told).toBe('Printed:\nx\n\nReturned:\n{"a":1}')
  })

  it('that does not await its last calls ends when they have ended', async () => {
    const { tool, calls } = double()
    const { told } = await runScript('tools.double({ n: 1 }); tools.double({ n: 2 }); return "sent"', [tool])
    expect([told, calls]).toEqual(['sent', [1, 2]])
  })

  it('has limits on code, computing time, memory, output and calls', async () => {
    const { tool, calls } = double()
    const limited = async (code: string, limits: CodeModeOptions['limits']) =>
      (await runScript(code, [tool], {}, { limits: { timeoutMs: 50_000, ...limits } })).told
    expect(await limited('return 1', { scriptBytes: 4 })).toContain('The script has 8 bytes; at most 4 are allowed')
    expect(await limited('for (;;) {}', { timeoutMs: 100 })).toContain('computed for longer than 100 ms')
    expect(await limited('try { for (;;) {} } catch { return 1 }', { timeoutMs: 100 })).toContain('computed for longer than 100 ms')
    expect(await limited('await tools.double({ n: 1 }); for (;;) {}', { timeoutMs: 100 })).toContain('computed for longer than 100 ms')
    expect(await limited('const all = []; for (;;) all.push("x".repeat(1e6) + all.length)', { memoryBytes: 8 * 1024 * 1024 })).toContain(
      'out of memory',
    )
    expect(await limited('return "x".repeat(2000)', { outputBytes: 1000 })).toContain('at most 1000')
    expect((await limited('for (let n = 0; n < 1000; n++) console.log("line " + n)', { outputBytes: 1000 })).length).toBeLessThan(1100)
    calls.length = 0
    expect(await limited('for (let n = 0; ; n++) await tools.double({ n })', { calls: 3 })).toContain('at most 3 calls')
    expect(calls).toEqual([0, 1, 2])
  })

  it('waits for its calls without using up its time', async () => {
    const slow = defineTool({ name: 'slow', description: 'x', execute: () => new Promise((resolve) => setTimeout(resolve, 400, 'late')) })
    expect((await runScript('return await tools.slow()', [slow], {}, { limits: { timeoutMs: 200 } })).told).toBe('late')
  })

  it('calls count towards `limits.toolCalls`, and `toolConcurrency` and `parallel` hold for them', async () => {
    const { tool, calls } = double()
    const code = 'return (await Promise.allSettled([1, 2, 3].map((n) => tools.double({ n })))).map(({ status }) => status)'
    const { result } = await runScript(code, [tool], { limits: { toolCalls: 3 } })
    expect(calls).toEqual([1, 2])
    expect(result.toolCalls[0]).toMatchObject({ outcome: 'failed', content: expect.stringContaining('budget') })
    let running = 0
    let most = 0
    const busy = (name: string, parallel: boolean) =>
      defineTool({
        name,
        description: 'x',
        parallel,
        execute: async () => {
          most = Math.max(most, ++running)
          await new Promise(setImmediate)
          running--
        },
      })
    const all = (name: string) => `await Promise.all([1, 2, 3, 4].map(() => tools.${name}()))`
    await runScript(all('busy'), [busy('busy', true)], { toolConcurrency: 2 })
    expect(most).toBe(2)
    most = 0
    await runScript(all('alone'), [busy('alone', false)])
    expect(most).toBe(1)
  })

  it('hooks, entries and guardrails of the run see its calls, and can stop the run', async () => {
    const asked: string[] = []
    const hooks: Hooks[] = [
      {
        beforeModel: () => void asked.push('beforeModel'),
        beforeTool: ({ tool, args }) => {
          asked.push(`before ${tool}`)
          return tool === 'double' ? { args: { n: Number(args.n) + 1 } } : undefined
        },
        aroundTool: async ({ tool }, next) => {
          const value = await next()
          return tool === 'double' ? Number(value) * 10 : undefined
        },
        afterTool: ({ tool, content }) => (tool === 'double' ? { content: `${content}1` } : undefined),
      },
    ]
    const plan = [{ name: 'p', call: ({ tool }: { tool: string }) => void asked.push(`plan ${tool}`) }]
    const { told } = await runScript('return await tools.double({ n: 1 })', [double().tool], { hooks, plan })
    expect(told).toBe('401')
    expect(asked).toEqual(['beforeModel', 'before run_script', 'plan run_script', 'before double', 'plan double', 'beforeModel'])
    const guardrails: Guardrail[] = [{ name: 'no doubles', call: ({ tool }) => (tool === 'double' ? { stop: 'never double' } : undefined) }]
    const stopped = await runScript('try { await tools.double({ n: 1 }) } catch {}\nreturn await tools.double({ n: 2 })', [double().tool], {
      guardrails,
    })
    expect(stopped.result).toMatchObject({ stopReason: 'refused', error: { code: 'guardrail' }, iterations: 1 })
    expect(stopped.result.error?.message).toContain('never double')
  })

  it('the secrets of a tool are hidden in events and in the log', async () => {
    const login = defineTool({
      name: 'login',
      description: 'x',
      parameters: { type: 'object', properties: { password: { type: 'string' } } },
      secrets: ['password'],
      execute: () => 'in',
    })
    const events: string[] = []
    const { logger, records } = recordingLogger()
    const model = scriptedModel([
      { toolCalls: [{ name: 'run_script', args: { code: 'const p = "hun" + "ter2secret"; return tools.login({ password: p })' } }] },
      'done',
    ])
    const runner = new AgentRunner({ model, tools: codeMode([login]), logger })
    runner.on('TOOL_CALL_START', (event) => void events.push(JSON.stringify(event)))
    runner.on('TOOL_CALL_END', (event) => void events.push(JSON.stringify(event)))
    await runner.run('go')
    expect(events.some((event) => event.includes('login'))).toBe(true)
    expect(events.join() + JSON.stringify(records)).not.toContain('hunter2secret')
  })

  it('an abort ends it while it computes or waits, and leaves nothing running', async () => {
    for (const code of ['for (;;) {}', 'await tools.wait()']) {
      const controller = new AbortController()
      const wait = defineTool({ name: 'wait', description: 'x', execute: () => new Promise(() => {}) })
      const model = scriptedModel([{ toolCalls: [{ name: 'run_script', args: { code } }] }, 'never'])
      const runner = new AgentRunner({
        model,
        tools: codeMode([wait], { limits: { timeoutMs: 60_000 } }),
        logger: recordingLogger().logger,
      })
      runner.on('RUN_START', (_event, { depth }) => void (depth === 1 && setTimeout(() => controller.abort(), 50)))
      const result = await runner.run('go', { signal: controller.signal })
      expect(result.stopReason).toBe('aborted')
    }
  })

  it('more scripts than there are threads share them, also while they wait', async () => {
    const { tool } = double()
    let waiting = 0
    const all = Promise.withResolvers<void>()
    const meet = defineTool({
      name: 'meet',
      description: 'x',
      execute: async () => {
        if (++waiting === 10) all.resolve()
        await all.promise
        return 'met'
      },
    })
    const code =
      'const a = await tools.double({ n: 1 }); const m = await tools.meet(); return [a, m, await tools.double({ n: a }), Math.random() < 1]'
    const told = await Promise.all(Array.from({ length: 10 }, async () => (await runScript(code, [tool, meet])).told))
    expect(told).toEqual(Array.from({ length: 10 }, () => '[2,"met",4,true]'))
  })

  it('works in a nested agent, and calls agents', async () => {
    const { tool, calls } = double()
    const inner = new AgentRunner({
      model: scriptedModel([{ toolCalls: [{ name: 'run_script', args: { code: 'return tools.double({ n: 4 })' } }] }, 'eight']),
      tools: codeMode([tool]),
    })
    const { told } = await runScript('return await tools.ask({ task: "double" })', [asTool(inner, { name: 'ask', description: 'x' })])
    expect([told, calls]).toEqual(['eight', [4]])
  })
})

it('a tool that asks the run’s model gets its answer, and the run counts the usage', async () => {
  const asking = defineTool({
    name: 'ask_model',
    description: 'x',
    execute: async (_, { askModel }) => askModel?.({ messages: [{ role: 'user', content: 'Which?' }] }),
  })
  const answer = { text: 'That.', usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 } }
  const code = 'return await tools.ask_model()'
  const model = scriptedModel([{ toolCalls: [{ name: 'run_script', args: { code } }] }, answer, 'done'])
  const { toolCalls } = await new AgentRunner({ model, tools: codeMode([asking]), stream: false }).run('go')
  const { provider, model: name } = model
  expect(toolCalls).toMatchObject([
    { outcome: 'ok', value: { value: { text: 'That.', provider, model: name } }, nested: { usage: answer.usage } },
  ])
  expect(model.requests.map(({ stream }) => stream)).toEqual([false, false, false])
})

it('a missing key of an agent that a script calls ends the run, and no model is told about it', async () => {
  vi.stubEnv('OPENAI_API_KEY', undefined)
  onTestFinished(() => void vi.unstubAllEnvs())
  const model = 'openai/gpt-5'
  const helper = asTool(new AgentRunner({ model }), { name: 'helper', description: 'x' })
  await expect(runScript('try { await tools.helper({ task: "x" }) } catch (e) { return e.message }', [helper])).rejects.toMatchObject({
    code: 'missing_api_key',
  })
})

it.each([
  ['a text', 'from a cache', 'from a cache'],
  ['an object', { rows: 2 }, '{"rows":2}'],
  ['null', null, 'null'],
  ['what a script returned before', { value: 4, output: 'x' }, 'Printed:\nx\n\nReturned:\n4'],
])('the model gets %s with which a hook replaces the script’s value', async (_, result, shown) => {
  const hooks: Hooks<never>[] = [{ beforeTool: () => ({ result }) }]
  expect((await runScript('return 1', [], { hooks })).told).toBe(shown)
  const around: Hooks<never>[] = [{ aroundTool: async () => result }]
  expect((await runScript('return 1', [], { hooks: around })).told).toBe(shown)
})

describe('codeMode', () => {
  it('leaves out of scripts the tools in `keep`, and those that end the run', async () => {
    const final = defineTool({ name: 'finish', description: 'x', final: true, execute: () => 'over' })
    const set = codeMode([double().tool, countingTool('search').tool, final], { keep: ['search'] })
    expect(set.names()).toEqual(['search', 'finish', 'run_script'])
    expect(set.get('double')).toBeDefined()
    const description = JSON.stringify(set.getAllSpecs().at(-1))
    expect(description).toContain('double(args: { n: number }): Promise<unknown>')
    expect(description).not.toContain('finish')
  })

  it('refuses invalid options and tools', () => {
    expect(() => codeMode([], { limits: { calls: -1 } })).toThrow('limits.calls')
    expect(() => codeMode([], { keeps: [] } as object)).toThrow('keep')
    expect(() => codeMode([countingTool('run_script').tool])).toThrow('run_script')
    expect(() => codeMode([countingTool('search_tools').tool])).toThrow('search_tools')
  })
})
