import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import type { Json } from '../../src/core/messages.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { StrictJournal } from './strict-journal.ts'

const { logger } = recordingLogger()
const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
const calls = (...made: [name: string, n: number][]) => ({ toolCalls: made.map(([name, n]) => ({ name, args: { n } })) })
/** The calls that the user does not want. */
const unwanted = [2, 12]

/** One run under a journal that dies at a moment, until it has ended. All calls are decided as soon as they are asked about. */
async function runUnder(kind: 'calls' | 'agent' | 'script', crashAt: number) {
  const started: string[] = []
  const asked: string[] = []
  const tool = (name: string, effect: 'read' | 'idempotent' | 'unsafe') =>
    defineTool({
      name,
      description: name,
      parameters,
      effect,
      preview: ({ n }) => `would ${name} ${n}`,
      execute: async ({ n }, { idempotencyKey }) => {
        started.push(`${name} ${n} ${idempotencyKey}`)
        await Promise.resolve()
        return `${name} ${n}: done`
      },
    })
  const decide = (name: string, about: Json | undefined): Json => {
    if (name.includes('uncertain')) return { run: false }
    const { args, plan } = about as never as { args: { n: number }; plan: { at: number; of: number } }
    asked.push(`${args.n} ${plan.at}/${plan.of}`)
    return unwanted.includes(args.n) ? { approved: false } : { approved: true }
  }
  const journal = new StrictJournal(crashAt, decide)
  const tools: AnyTool[] = [tool('look', 'read'), tool('put', 'idempotent'), tool('pay', 'unsafe')]
  // Asks by what it was told, so that an execution that begins again gets the same.
  const model = scriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
    if (results.length === 0) {
      const inner =
        kind === 'agent'
          ? [{ name: 'helper', args: { task: 'x' } }]
          : kind === 'script'
            ? [{ name: 'run_script', args: { code } }]
            : calls(['look', 0], ['pay', 1]).toolCalls
      return { toolCalls: [...inner, ...(kind === 'script' ? [] : calls(['pay', 2], ['put', 3]).toolCalls)] }
    }
    const isReal = !results.some((text) => /would|Noted/.test(text))
    if (!isReal || kind === 'script') return `told ${results.length}`
    return results.length < 6 && kind === 'calls' ? calls(['pay', 4]) : 'done'
  })
  const inner = scriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
    return results.length === 0 ? calls(['pay', 11], ['pay', 12], ['put', 13]) : results.join()
  })
  const helper = asTool(new AgentRunner({ model: inner, tools, logger }), {
    name: 'helper',
    description: 'x',
    effect: 'idempotent',
  })
  const set = kind === 'script' ? codeMode(tools) : [...tools, helper]
  const runner = new AgentRunner({
    model,
    tools: set,
    journal,
    logger,
    effects: 'preview',
    limits: { repeatedCalls: 100 },
    maxIterations: 3,
  })
  const result = await runner.run('go', { runId: 'r' })
  return { result, started, asked, journal }
}

const code = `const seen = await tools.look({ n: 10 })
const all = await Promise.allSettled([tools.pay({ n: 11 }), tools.pay({ n: 12 }), tools.put({ n: 13 })])
return [seen, ...all.map(({ value, reason }) => value ?? reason.message)]`

describe.each([
  ['calls', ['pay 1', 'put 3', 'pay 4', 'pay 4']],
  ['agent', ['pay 11', 'put 13', 'put 3']],
  ['script', ['pay 11', 'put 13']],
] as const)('a preview of %s under a journal', (kind, wanted) => {
  it('killed at any moment, carries out what was approved, each call once and in order, and nothing else', async () => {
    const whole = await runUnder(kind, Number.POSITIVE_INFINITY)
    const effects = (started: readonly string[]) => started.filter((line) => !line.startsWith('look'))
    expect(whole.journal.violations).toEqual([])
    const made = effects(whole.started).map((line) => line.split(' ').slice(0, 2).join(' '))
    expect([...new Set(made)]).toEqual([...new Set(wanted)])
    expect(whole.result.stopReason).toBe('answered')
    const keys = new Set(whole.started)
    for (let crashAt = 1; crashAt <= whole.journal.moments; crashAt++) {
      const where = `killed at ${crashAt} of ${whole.journal.moments}`
      const { result, started, journal } = await runUnder(kind, crashAt)
      expect(journal.violations, where).toEqual([])
      expect(result.stopReason, where).toBe('answered')
      for (const line of started) expect(keys.has(line), `${where}: ${line}`).toBe(true)
      const doubled = started.filter((line, at) => started.indexOf(line) !== at)
      expect(doubled.length, where).toBeLessThanOrEqual(1)
      expect(
        doubled.some((line) => line.startsWith('pay')),
        where,
      ).toBe(false)
      const uncertain = result.toolCalls.filter(({ outcome }) => outcome === 'uncertain')
      // An unsafe call in flight does not run again. The others do.
      if (kind === 'calls') expect(new Set(effects(started)).size + uncertain.length, where).toBeGreaterThanOrEqual(keys.size - 1)
      else expect(new Set(effects(started)).size, where).toBeGreaterThanOrEqual(wanted.length - 1)
      const order = [...new Set(effects(started))]
      expect(order, where).toEqual([...keys].filter((line) => order.includes(line)))
    }
  })
})
