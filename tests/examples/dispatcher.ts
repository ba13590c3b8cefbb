import { deferTools, defineTool, ToolDispatcher } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

const orders = Array.from({ length: 500 }, (_, n) =>
  defineTool({ name: `report_${n}`, description: `Report number ${n} of the orders.`, effect: 'read', execute: () => `report ${n}` }),
)

// One set of tools from several sources. If two tools have the same name, the first is used.
const tools = new ToolDispatcher([
  { kind: 'registered', tools: orders },
  { kind: 'builtin', tools: builtinTools() },
])
console.log(tools.names().length, tools.sourceOf('calculate'))
console.log(await tools.dispatch('calculate', { expression: '17 * 23' }), await tools.dispatch('nothing'))

// The model sees four tools instead of 506, and finds the others with a search.
const few = deferTools(tools, { keep: ['calculate', 'read_file'] })
console.log(few.names().join(' '))
