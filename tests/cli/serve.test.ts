import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { closeServer } from '../close-server.ts'
import { fakeIO } from './fake-io.ts'
import { tempFolder } from './temp-folder.ts'

it.each([['serve'], ['mcp', '--http']])('toolloop %s suggests --port 0 if its port is taken', async (...command) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => closeServer(server))
  const { port } = server.address() as AddressInfo
  const io = fakeIO({ cwd: await tempFolder() })
  expect(await runCommand([...command, '--port', String(port)], io)).toBe(2)
  expect(io.err()).toBe(`error: Can't listen on 127.0.0.1, port ${port}: it is in use. Port 0 (\`--port 0\`) picks a free one\n`)
})
