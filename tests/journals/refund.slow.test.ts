import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { inFolder } from './temp-folder.ts'

const program = fileURLToPath(new URL('../examples/durable-refund.ts', import.meta.url))

/** A bank that pays once for each key; its first answer never arrives. */
async function openBank() {
  const keys: string[] = []
  const paid = new Map<string, string>()
  const first = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    const key = String(request.headers['idempotency-key'])
    let body = ''
    for await (const piece of request) body += piece
    keys.push(key)
    if (!paid.has(key)) paid.set(key, body)
    if (keys.length === 1) first.resolve()
    else response.end('paid')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys, paid, first: first.promise, close }
}

it('a refund that waits for days, decided in another process that is killed while the bank pays, is paid once', () =>
  inFolder(async (folder) => {
    const bank = await openBank()
    const start = (command: string) => {
      const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
      const env = { PATH, NODE_COMPILE_CACHE, DATA_FOLDER: folder, BANK_URL: bank.url }
      const child = spawn(process.execPath, [program, command], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      let printed = ''
      child.stdout.on('data', (piece) => {
        printed += piece
      })
      return { child, ended: once(child, 'close').then(() => printed) }
    }
    try {
      expect(await start('ask').ended).toBe("paused { order: '17', euros: 250 }\n")
      const approving = start('approve')
      await bank.first
      approving.child.kill('SIGKILL')
      expect(await approving.ended).toBe('')
      // A second approval finds that it was given: the run still resumes.
      expect(await start('worker').ended).toBe('refund-17 answered\n')
      expect(await start('approve').ended).toBe('Your money is on its way.\n')
      expect(bank.keys).toEqual(['refund-17/1.tool.0', 'refund-17/1.tool.0'])
      expect([...bank.paid.values()]).toEqual(['{"order":"17","euros":250}'])
    } finally {
      bank.close()
    }
  }))
