import { once } from 'node:events'
import { connectMcpServers, mcpTokenFiles } from '../../../src/tools/mcp/index.ts'
import { callText } from './open-tools.ts'

// Started with an address and a folder of tokens: connects, prints `ready`, and makes a call for each line of input.

const [url = '', folder = ''] = process.argv.slice(2)
const tools = await connectMcpServers({ wiki: { url, auth: { store: mcpTokenFiles(folder) } } })
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdout.write(`${await callText(tools, 'wiki__echo', { pid: process.pid })}\n`)
await tools.close()
process.exit()
