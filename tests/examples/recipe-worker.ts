import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { AgentRunner } from '../../src/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'

// Tools that compute for seconds block their event loop, so the agent gets a thread of its own.
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  worker.on('message', (event) => {
    console.log(event.type, event.output ?? event.tool)
    if (event.type === 'RESULT') worker.postMessage('end')
  })
  worker.postMessage('What is 17 * 23?')
  await new Promise((resolve) => worker.once('exit', resolve))
} else {
  const runner = new AgentRunner({ model: process.env.MODEL ?? 'demo', tools: builtinTools() })
  runner.on('TOOL_CALL_END', ({ tool, result }) => parentPort?.postMessage({ type: 'TOOL_CALL_END', tool, result }))
  parentPort?.on('message', async (message) => {
    if (message === 'end') return parentPort?.close()
    const { stopReason, output } = await runner.run(message)
    parentPort?.postMessage({ type: 'RESULT', stopReason, output })
  })
}
