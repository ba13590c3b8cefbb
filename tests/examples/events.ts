import { AgentRunner, Event, EventBus } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

// One bus for any number of runners. A failing listener is reported once and changes nothing else.
const bus = new EventBus((error, event) => console.log(`a listener of ${event} failed: ${error}`))
bus.on(Event.TOOL_CALL_END, ({ tool }, { ok }) => console.log(`${tool}: ${ok ? 'ok' : 'failed'}`))
bus.on(Event.RUN_END, () => {
  throw new Error('the disk is full')
})
bus.onAny((name, _payload, { iteration }) => {
  if (name === Event.MODEL_START) console.log(`request ${iteration}`)
})

const runner = new AgentRunner({ model: 'demo', tools: builtinTools(), bus })
console.log((await runner.run('What is 17 * 23?')).output)
