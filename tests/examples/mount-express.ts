import type { AddressInfo } from 'node:net'
import express from 'express'
import { createService, nodeHandler } from '../../src/service/index.ts'

const service = createService({ model: process.env.MODEL ?? 'demo', authenticate: () => ({ name: 'ann', roles: ['run'] }) })

const app = express()
// The service uses a body that Express has already read.
app.use(express.json({ limit: '1mb' }))
app.use('/agent', nodeHandler(service))

const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as AddressInfo
const response = await fetch(`http://127.0.0.1:${port}/agent/v1/runs`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ input: 'Hello!' }),
})
console.log(response.status, await response.text())
server.close()
await service.drain()
