import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { tempFolder } from '../../cli/temp-folder.ts'
import { isRunning } from './open-tools.ts'

const program = fileURLToPath(new URL('stdio-process.ts', import.meta.url))

async function start(then = '', env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(process.execPath, [program, then], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextLine = async () => JSON.parse((await lines.next()).value ?? '{}')
  const { pids, listeners }: { pids: number[]; listeners: number[] } = await nextLine()
  onTestFinished(() => {
    for (const pid of [child.pid ?? 0, ...pids]) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  })
  return { child, pids, listeners, nextLine }
}

const areGone = (pids: readonly number[]) =>
  vi.waitFor(() => expect(pids.map(isRunning)).toEqual(pids.map(() => false)), { timeout: 50_000 })

describe.skipIf(process.platform === 'win32')('E2.8 a stdio server that never ends by itself', () => {
  it('E2.8 ends with a program that a signal ends, without listeners', async () => {
    const ends = (['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL'] as const).map(async (signal) => {
      const { child, pids, listeners } = await start()
      expect([pids.map(isRunning), listeners]).toEqual([
        [true, true],
        [0, 0, 0],
      ])
      child.kill(signal)
      // As if it had no servers.
      expect(await once(child, 'exit')).toEqual([null, signal])
      await areGone(pids)
    })
    await Promise.all(ends)
  })

  it('E2.8 ends with a program that exits or crashes', async () => {
    const ends = Object.entries({ exit: 0, crash: 1 }).map(async ([then, code]) => {
      const { child, pids } = await start(then)
      if (child.exitCode === null) await once(child, 'exit')
      expect(child.exitCode).toBe(code)
      await areGone(pids)
    })
    await Promise.all(ends)
  })

  it('E2.8 keeps working for a program that handles a signal itself', async () => {
    const { child, pids, nextLine } = await start('keep')
    child.kill('SIGTERM')
    expect(await nextLine()).toEqual({ after: String(pids[0]) })
    if (child.exitCode === null) await once(child, 'exit')
    expect(child.exitCode).toBe(0)
    await areGone(pids)
  })

  it('E2.8 ends with a program that exits on a machine without a shell', async () => {
    const { pids } = await start('exit', { ...process.env, PATH: await tempFolder() })
    await areGone(pids)
  })
})
