import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, defineTool, ToolDispatcher, ToolRegistry } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { SkillsSandboxExecutor } from '../../src/tools/skills/index.ts'

/**
 * What lies between a call and its tool: the dispatcher, a thousand tools instead of ten, and the sandboxes that Skills' scripts run in.
 * Medians; the sandboxes' least is what they cost on an idle machine.
 */
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
const milliseconds = (values: readonly number[]) => `${median(values).toFixed(1)} ms (least ${Math.min(...values).toFixed(1)})`

const tools = (count: number) =>
  Array.from({ length: count }, (_, n) => defineTool({ name: `tool_${n}`, description: 'A tool.', effect: 'read', execute: () => n }))

/** Microseconds of one of so many goes at `work`, the median of several rounds. */
async function each(goes: number, work: () => unknown): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < 11; round++) {
    const start = performance.now()
    for (let go = 0; go < goes; go++) await work()
    rounds.push(((performance.now() - start) / goes) * 1_000)
  }
  return median(rounds)
}

/** A call through `set` by the loop; a run has twenty. */
async function perCall(set: ToolRegistry | ToolDispatcher): Promise<number> {
  const turns = Array.from({ length: 20 }, () => ({ toolCalls: [{ name: 'tool_5' }] }))
  const run = () =>
    new AgentRunner({
      model: scriptedModel([...turns, 'done'], { record: false }),
      tools: set,
      maxIterations: 30,
      limits: { repeatedCalls: Number.POSITIVE_INFINITY },
    }).run('go')
  return (await each(20, run)) / 20
}

const ten = new ToolRegistry(tools(10))
const dispatched = new ToolDispatcher([
  { kind: 'registered', tools: tools(10) },
  { kind: 'builtin', tools: [] },
  { kind: 'mcp', tools: [] },
])
const thousand = new ToolRegistry(tools(1_000))
for (const warmUp of [ten, dispatched, thousand]) await perCall(warmUp)
const [plain, through, many] = [await perCall(ten), await perCall(dispatched), await perCall(thousand)]
console.log(`a turn with one call: ${plain.toFixed(1)} µs with 10 tools, ${many.toFixed(1)} µs with 1,000`)
console.log(`the dispatcher adds ${(through - plain).toFixed(2)} µs a call`)

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
    for (let call = 0; call < 30; call++) {
      const start = performance.now()
      await executor.run({ folder, script: file, args: { a: 1, b: 2 }, signal: new AbortController().signal })
      times.push(performance.now() - start)
    }
    const [first = Number.NaN, ...warm] = times
    console.log(`${name}: first call ${first.toFixed(0)} ms, then ${milliseconds(warm)}`)
  }
} finally {
  rmSync(folder, { recursive: true })
}
