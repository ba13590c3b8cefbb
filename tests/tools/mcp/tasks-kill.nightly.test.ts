import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { inFolder } from '../../journals/temp-folder.ts'
import { TaskServer } from './task-server.ts'

const program = fileURLToPath(new URL('task-client.ts', import.meta.url))

const revisions = ['2025-11-25', '2026-07-28'] as const

it.each(revisions.flatMap((revision) => [[revision, ''] as const, [revision, 'inside'] as const]))(
  'P1.13 a task outlives its waiting processes: killed repeatedly, they wait for the same one, and the call is made once (%s %s)',
  async (revision, where) => {
    await inFolder(async (folder) => {
      await using server = await new TaskServer(revision).start()
      const start = (what: string): ChildProcess =>
        spawn(process.execPath, [program, what, server.url, join(folder, 'runs.sqlite'), where], { stdio: ['ignore', 'pipe', 'inherit'] })
      for (const what of ['run', 'recover', 'recover']) {
        const client = start(what)
        await server.until('tasks/get', server.count('tasks/get') + 3)
        client.kill('SIGKILL')
        await once(client, 'exit')
      }
      const last = start('recover')
      await server.until('tasks/get', server.count('tasks/get') + 2)
      server.finish('task-1', 'after all')
      expect(JSON.parse(await text(last.stdout as NodeJS.ReadableStream))).toEqual([['ok', 'after all']])
      expect([server.count('tools/call'), server.count('tasks/cancel')]).toEqual([1, 0])
    })
  },
)
