import { DatabaseSync } from 'node:sqlite'
import type { Claim } from '../../src/agent/durable/index.ts'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const refund = defineTool({ name: 'refund', description: 'Pays money back.', approval: true, execute: () => 'It was paid back.' })
const model = scriptedModel([{ toolCalls: [{ name: 'refund' }] }, 'It is on its way.'])
const runner = new AgentRunner({ model, tools: [refund] })

const database = new DatabaseSync(':memory:')
database.exec('CREATE TABLE claims (key TEXT PRIMARY KEY, run TEXT)')
const insert = database.prepare('INSERT INTO claims VALUES (?, ?) ON CONFLICT DO NOTHING')
const claim: Claim = ({ key, runId }) => insert.run(key, runId).changes === 1

const { state, pending } = await runner.run('Give me my money back.')
const decisions = pending.map((item) => ({ ...item, approved: true as const }))
console.log((await runner.resume(state, { decisions, claim })).output)
// The second caller is rejected, and nothing runs twice.
await runner.resume(state, { decisions, claim }).catch((error) => console.log(error.code))
