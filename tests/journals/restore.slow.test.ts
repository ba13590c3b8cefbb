import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, watch } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { inFolder } from './temp-folder.ts'

const program = fileURLToPath(new URL('restore-process.ts', import.meta.url))

interface Told {
  error?: string
  stopReason?: string
  problem?: string
  outcomes?: string[]
}

function worldOf(folder: string): string[] {
  const file = `${folder}/world.txt`
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

/** Starts a refund, and ends its process by this signal once the bank has paid. */
async function endedAfterPaying(folder: string, signal: NodeJS.Signals): Promise<void> {
  const paid = Promise.withResolvers<void>()
  const watcher = watch(folder, () => {
    if (worldOf(folder).includes('paid')) paid.resolve()
  })
  const child = spawn(process.execPath, [program, folder, 'start'], { stdio: 'inherit' })
  const exit = once(child, 'exit')
  await paid.promise
  watcher.close()
  child.kill(signal)
  // After a SIGTERM it ends by itself, once the runner is closed.
  expect(await exit).toEqual(signal === 'SIGTERM' ? [0, null] : [null, signal])
}

async function next(folder: string, command: string, restores: 'yes' | 'no'): Promise<Told> {
  const child = spawn(process.execPath, [program, folder, command, restores], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', (piece) => {
    printed += piece
  })
  await once(child, 'close')
  return JSON.parse(printed)
}

describe.each<NodeJS.Signals>(['SIGKILL', 'SIGTERM'])('a refund that has been paid and not recorded, after %s', (signal) => {
  it.each(['recover', 'resume', 'next message'])('P1.1 P1.6 H49 is paid once, in its shop, when `%s` continues it', (command) =>
    inFolder(async (folder) => {
      await endedAfterPaying(folder, signal)
      const before = worldOf(folder)
      expect(before).toEqual(['refund r/1.tool.0 Corner', 'paid', ...(signal === 'SIGTERM' ? ['runner_closed', 'closed'] : [])])
      // A process whose shop is not available changes nothing.
      const told = await next(folder, command, 'no')
      expect(told.error).toContain('the shop is closed')
      expect(told).toMatchObject({
        problem: expect.stringContaining('Run `r` was started with `context`: `restore` failed: the shop is closed'),
      })
      const after = worldOf(folder).slice(before.length)
      expect(new Set(after)).toEqual(new Set(['error a run could not be continued here and is unchanged']))
      // One that has it pays nothing again, and its policy holds.
      const done = await next(folder, command, 'yes')
      expect(done).toEqual({ stopReason: 'answered', outcomes: ['refund ok', 'erase denied'] })
      const world = worldOf(folder).filter((line) => /^refund|^paid|^erased/.test(line))
      expect(world.slice(0, 4)).toEqual(['refund r/1.tool.0 Corner', 'paid', 'refund r/1.tool.0 Corner', 'paid'])
      expect(world).not.toContain('erased')
      const bank = new DatabaseSync(`${folder}/bank.sqlite`)
      expect(bank.prepare("SELECT key, shop FROM refunds WHERE key LIKE 'r/%'").all()).toEqual([{ key: 'r/1.tool.0', shop: 'Corner' }])
      bank.close()
    }),
  )
})
