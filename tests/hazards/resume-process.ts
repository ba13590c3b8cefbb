/** Resumes a paused run in a child process: reads `{ baseURL, state, decisions }`, writes the result and the calls that ran. */
import { text } from 'node:stream/consumers'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { createModel } from '../../src/models/create-model.ts'
import { countingTool } from './tools.ts'

const { baseURL, state, decisions } = JSON.parse(await text(process.stdin))
const pay = countingTool('pay')
const runner = new AgentRunner({
  model: createModel({ provider: 'custom', model: 'mock', baseURL, apiKey: 'k' }),
  tools: [{ ...pay.tool, approval: true }],
})
const result = await runner.resume(state, { decisions })
process.stdout.write(JSON.stringify({ result, ran: pay.calls }))
