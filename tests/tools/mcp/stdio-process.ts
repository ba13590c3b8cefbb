import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { callText, listed, odd } from './open-tools.ts'

// A program with a stdio server that never ends by itself and has a child process. Prints the ids of both processes and the number of
// signal listeners; then does what its argument says, or waits.

const tools = await connectMcpServers({ odd: odd({ tools: [listed('pid'), listed('child')], stubborn: true }) })
const signals = ['SIGHUP', 'SIGINT', 'SIGTERM']
const pids = [await callText(tools, 'odd__pid'), await callText(tools, 'odd__child')]
const listeners = signals.map((signal) => process.listenerCount(signal))
const then = process.argv[2]
if (then === 'keep') {
  // The program's own signal handler.
  process.once('SIGTERM', async () => {
    console.log(JSON.stringify({ after: await callText(tools, 'odd__pid') }))
    await tools.close()
    process.exit(0)
  })
}
console.log(JSON.stringify({ pids: pids.map(Number), listeners }))
setInterval(() => {}, 60_000)
if (then === 'exit') process.exit(0)
if (then === 'crash') throw new Error('crash')
