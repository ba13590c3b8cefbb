import { codeMode } from '../../src/code-mode/index.ts'
import { AgentRunner, type ChatModel, defineTool, type ToolSet } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'

/**
 * What code mode saves and costs: requests and tokens of a task over 50 tools, with a model that answers from a script, with and without it; and the time
 * of a script, of its start and of a call in it. With `--peers` (`npm ci --prefix tests/bench/peers`) the same of `@ai-sdk/code-mode`, in turn.
 */
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
const milliseconds = (values: readonly number[]) => `${median(values).toFixed(2)} ms (least ${Math.min(...values).toFixed(2)})`

// A task: refund the late ones of 20 orders, in a set of 50 tools.
const orders = Array.from({ length: 20 }, (_, n) => ({
  id: `o${n}`,
  customer: `Customer number ${n}`,
  note: 'Deliver to the side door, please. '.repeat(5),
}))
const text = {
  type: 'object',
  properties: { id: { type: 'string', description: 'The id of the order.' } },
  required: ['id'],
  additionalProperties: false,
} as const
const tools = [
  defineTool({ name: 'list_orders', description: 'Lists all orders.', effect: 'read', execute: () => orders }),
  defineTool({
    name: 'get_delivery',
    description: 'When an order was promised, and when it was delivered.',
    parameters: text,
    effect: 'read',
    execute: ({ id }) => ({
      id,
      promised: 10,
      delivered: Number(id.slice(1)) % 4 === 0 ? 14 : 9,
      history: 'Left the depot. On the van. '.repeat(8),
    }),
  }),
  defineTool({ name: 'refund_order', description: 'Pays an order back.', parameters: text, execute: ({ id }) => ({ refunded: id }) }),
  ...Array.from({ length: 47 }, (_, n) =>
    defineTool({
      name: `operation_${n}`,
      description: `Does the operation number ${n} of the shop. It is rarely needed, and takes an order and a reason.`,
      parameters: {
        type: 'object',
        properties: {
          id: { type: 'string', description: 'The id of the order.' },
          reason: { type: 'string', description: 'Why it is done.' },
        },
        required: ['id'],
      },
      execute: () => 'done',
    }),
  ),
]

type Call = { name: string; args: object }
const resultsOf = (messages: readonly { role: string; content: unknown }[]) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))

/** Makes the calls of each step at once, as capable models do. */
const plain = scriptedModel(({ messages }) => {
  const results = resultsOf(messages)
  if (results.length === 0) return { toolCalls: [{ name: 'list_orders' }] }
  if (results.length === 1)
    return { toolCalls: JSON.parse(results[0] ?? '').map(({ id }: { id: string }): Call => ({ name: 'get_delivery', args: { id } })) }
  if (results.length === 21) {
    const late = results
      .slice(1)
      .map((one) => JSON.parse(one))
      .filter(({ promised, delivered }) => delivered > promised)
    return { toolCalls: late.map(({ id }: { id: string }): Call => ({ name: 'refund_order', args: { id } })) }
  }
  return 'I have refunded 5 orders.'
})

const search =
  "return [await tools.search_tools({ query: 'list orders' }), await tools.search_tools({ query: 'delivery of an order' }), await tools.search_tools({ query: 'refund order' })].map(({ tools }) => tools.slice(0, 2))"
const work = `const orders = await tools.list_orders()
const deliveries = await Promise.all(orders.map(({ id }) => tools.get_delivery({ id })))
const late = deliveries.filter(({ promised, delivered }) => delivered > promised)
return await Promise.all(late.map(({ id }) => tools.refund_order({ id })))`
const scripting = (codes: readonly string[]) =>
  scriptedModel(({ messages }) => {
    const code = codes[resultsOf(messages).length]
    return code === undefined ? 'I have refunded 5 orders.' : { toolCalls: [{ name: 'run_script', args: { code } }] }
  })

async function task(model: ChatModel, set: ToolSet): Promise<string> {
  const { steps, usage, output } = await new AgentRunner({ model, tools: set, maxIterations: 10 }).run('Refund all late orders.')
  if (output !== 'I have refunded 5 orders.') throw new Error(`Expected the task to be done, got: ${output}`)
  return `${steps.length} requests, ${usage.inputTokens} tokens in, ${usage.outputTokens} out`
}

console.log('A task over 50 tools, tokens estimated by length:')
console.log(`  calls: ${await task(plain, new ToolRegistry(tools))}`)
console.log(`  scripts, tools searched: ${await task(scripting([search, work]), codeMode(tools))}`)
console.log(`  scripts, tools declared: ${await task(scripting([work]), codeMode(tools, { declaredCharacters: 100_000 }))}`)

/** Runs a script that calls `echo`, and resolves with what it returned. */
type RunScript = (code: string) => Promise<unknown>

const echo = {
  name: 'echo',
  description: 'Echoes.',
  parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
} as const

/** As a call of a run, with all that belongs to it. */
const own: RunScript = async (code) => {
  const model = scripting([code])
  const set = codeMode([defineTool({ ...echo, execute: ({ n }) => n })], { limits: { calls: 1_000 } })
  const { toolCalls } = await new AgentRunner({ model, tools: set }).run('go')
  if (toolCalls[0]?.outcome !== 'ok') throw new Error(String(toolCalls[0]?.content))
  return toolCalls[0].content
}
const contenders: Record<string, RunScript> = { toolloop: own }
if (process.argv.includes('--peers')) contenders['@ai-sdk/code-mode'] = (await import('./peers/ai-code-mode.js' as string)).runScript

const scripts = {
  'a script without calls': ['return 1', 1],
  'a call, one after another': ['let sum = 0\nfor (let n = 0; n < 100; n++) sum += await tools.echo({ n })\nreturn sum', 100],
  'a call, 100 at once': ['return (await Promise.all(Array.from({ length: 100 }, (_, n) => tools.echo({ n })))).length', 100],
} as const
console.log('Time of each, a whole run with a model in memory around it:')
for (const [what, [code, count]] of Object.entries(scripts)) {
  const times = Object.fromEntries(Object.keys(contenders).map((name): [string, number[]] => [name, []]))
  // In turn, so that what the machine does besides meets them alike. The first rounds warm up.
  for (let round = -5; round < 31; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      const start = performance.now()
      await run(code)
      if (round >= 0) times[name]?.push((performance.now() - start) / count)
    }
  }
  for (const [name, each] of Object.entries(times)) console.log(`  ${what}: ${name} ${milliseconds(each)}`)
}
