import { appendFileSync } from 'node:fs'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunResult } from '../../src/agent/types/options.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, defineTool, type ToolEffect } from '../../src/tools/tool.ts'

/**
 * A worker that is killed: recovers the runs in the journal, and starts runs until there are as many as asked for. Its tools write a line
 * for each start and each end to a file that outlives it. With levels, each run has another inside one of its calls, which does the same.
 * With `script`, a script makes the calls of all turns. With `preview`, the runs are previews, and all but every third call of a plan is
 * approved.
 * `node journal-process.ts <folder> <runs> <turns> <concurrency> <levels> [script|preview]`
 */
const [folder = '.', runs = '1', turns = '3', concurrency = '1', levels = '1', mode] = process.argv.slice(2)
const note = (line: string): void => appendFileSync(`${folder}/world.txt`, `${line}\n`)

const tool = (name: string, effect: ToolEffect) =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    effect,
    execute: async (_args, { idempotencyKey, runId, toolCallId }) => {
      note(`start ${name} ${idempotencyKey} ${runId}/${toolCallId}`)
      await new Promise(setImmediate)
      note(`end ${name} ${idempotencyKey}`)
      return { did: name }
    },
  })

const modelOf = (inner: readonly AnyTool[]) =>
  scriptedModel(({ messages }) => {
    const asked = messages.filter(({ role }) => role === 'assistant').length
    const more = asked === 0 ? inner.map(({ name }) => ({ name, args: { task: 'pay' } })) : []
    return asked >= Number(turns) ? 'done' : { toolCalls: [{ name: 'pay' }, { name: 'put' }, ...more] }
  })
const journal = sqliteJournal({ file: `${folder}/runs.sqlite` })
const tools = [tool('pay', 'unsafe'), tool('put', 'idempotent')]
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const limits = { repeatedCalls: Number.POSITIVE_INFINITY }
const options = { logger, limits, maxIterations: Number(turns) + 1 }
let inner: AnyTool[] = []
for (let level = Number(levels); level > 1; level--) {
  const agent = new AgentRunner({ model: modelOf(inner), tools: [...tools, ...inner], ...options })
  inner = [asTool(agent, { name: 'ask', description: 'asks', effect: 'idempotent' })]
}
const code = `for (let turn = 0; turn < ${turns}; turn++) {
  await Promise.allSettled([tools.pay({ turn, sure: Math.random() < 2 }), tools.put({ turn })])
}
return 'done'`
const scripting = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'run_script', args: { code } }] },
)
const runner =
  mode === 'script'
    ? new AgentRunner({ model: scripting, tools: codeMode(tools), journal, ...options })
    : new AgentRunner({
        model: modelOf(inner),
        tools: [...tools, ...inner],
        journal,
        ...options,
        ...(mode === 'preview' ? { effects: mode } : {}),
      })

/** Decides the plan of a preview. */
const decide = async ({ runId, pending }: RunResult): Promise<void> => {
  const decisions = pending.map((item) => ({ ...item, approved: (item.plan?.at ?? 0) % 3 !== 0 }))
  if (decisions.length > 0) await runner.resume(runId, { decisions })
}

note(`process ${process.pid}`)
await runner.recover({ concurrency: Number(concurrency) })
const known = new Set<string>()
for (let page = await runner.runs.list({ limit: 1000 }); ; page = await runner.runs.list({ limit: 1000, cursor: page.next })) {
  for (const { runId } of page.runs) known.add(runId)
  if (page.next === undefined) break
}
for (const { runId } of (await runner.runs.list({ status: 'waiting', limit: 1000 })).runs) await decide(await runner.resume(runId))
const left = Array.from({ length: Number(runs) }, (_, at) => `run-${at}`).filter((runId) => !known.has(runId))
const next = left.values()
const work = async (): Promise<void> => {
  for (const runId of next) await decide(await runner.run('go', { runId }))
}
await Promise.all(Array.from({ length: Number(concurrency) }, work))
note('done')
