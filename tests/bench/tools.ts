import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, type ChatModel, defineTool, ToolDispatcher, ToolloopError, ToolRegistry } from '../../src/index.ts'
import { SkillsSandboxExecutor } from '../../src/tools/skills/index.ts'

/**
 * What lies between a call and its tool: the dispatcher, a thousand tools instead of ten, and the sandboxes that Skills' scripts run in.
 * Medians; the sandboxes' least is what they cost on an idle machine.
 */
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
const milliseconds = (values: readonly number[]) => `${median(values).toFixed(1)} ms (least ${Math.min(...values).toFixed(1)})`

const tools = (count: number) =>
  Array.from({ length: count }, (_, n) => defineTool({ name: `tool_${n}`, description: 'A tool.', effect: 'read', execute: () => n }))

/** Of one run. */
const calls = 20
const usage = { inputTokens: 20, outputTokens: 10, totalTokens: 30 }

/** Calls a tool so many times. A model in memory: it tells the turns by the results that it is sent. */
const model: ChatModel = {
  provider: 'memory',
  model: 'bench',
  capabilities: { nativeTools: true },
  generate: async ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').length
    if (results === calls) return { text: 'Done.', toolCalls: [], finishReason: 'stop', usage }
    const call = { id: `call_${results}`, type: 'function', function: { name: 'tool_5', arguments: '{}' } } as const
    return { text: '', toolCalls: [call], finishReason: 'tool_calls', usage }
  },
}

const runnerWith = (set: ToolRegistry | ToolDispatcher) =>
  new AgentRunner({ model, tools: set, maxIterations: calls + 1, limits: { repeatedCalls: Number.POSITIVE_INFINITY } })

const runners = {
  ten: runnerWith(new ToolRegistry(tools(10))),
  dispatched: runnerWith(
    new ToolDispatcher([
      { kind: 'registered', tools: tools(10) },
      { kind: 'builtin', tools: [] },
      { kind: 'mcp', tools: [] },
    ]),
  ),
  thousand: runnerWith(new ToolRegistry(tools(1_000))),
}
const names = ['ten', 'dispatched', 'thousand'] as const
const rounds: Record<(typeof names)[number], number[]> = { ten: [], dispatched: [], thousand: [] }
// In turn, so that what the machine does besides meets them alike. The first rounds warm up.
for (let round = -5; round < 21; round++) {
  for (const name of names) {
    const start = performance.now()
    for (let run = 0; run < 50; run++) await runners[name].run('go')
    if (round >= 0) rounds[name].push(((performance.now() - start) / 50 / calls) * 1_000)
  }
}
const added = median(rounds.dispatched.map((each, round) => each - (rounds.ten[round] ?? Number.NaN)))
console.log(`a turn with one call: ${median(rounds.ten).toFixed(1)} µs with 10 tools, ${median(rounds.thousand).toFixed(1)} µs with 1,000`)
console.log(`the dispatcher adds ${added.toFixed(2)} µs a call`)

const folder = mkdtempSync(join(tmpdir(), 'toolloop-bench-'))
const scripts = {
  'QuickJS in a thread': ['add.mjs', 'export default ({ a, b }) => a + b'],
  'shell, shut in': ['add.sh', 'echo 3'],
  'python, shut in': ['add.py', 'print(3)'],
  'node, shut in': ['add.js', 'console.log(3)'],
} as const
try {
  for (const [name, [file, source]] of Object.entries(scripts)) {
    await using executor = new SkillsSandboxExecutor()
    writeFileSync(join(folder, file), source)
    const times: number[] = []
    try {
      for (let call = 0; call < 30; call++) {
        const start = performance.now()
        await executor.run({ folder, script: file, args: { a: 1, b: 2 }, signal: new AbortController().signal })
        times.push(performance.now() - start)
      }
    } catch (error) {
      // This machine has no such sandbox.
      if (!(error instanceof ToolloopError && error.code === 'tool_denied')) throw error
      console.log(`${name}: not measured. ${error.message}`)
      continue
    }
    const [first = Number.NaN, ...warm] = times
    console.log(`${name}: first call ${first.toFixed(0)} ms, then ${milliseconds(warm)}`)
  }
} finally {
  rmSync(folder, { recursive: true })
}
