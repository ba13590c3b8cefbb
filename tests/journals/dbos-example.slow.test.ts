import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../postgres.ts'

const program = fileURLToPath(new URL('../examples/durable-dbos.ts', import.meta.url))

it.skipIf(!hasPostgres)(
  'the example of docs/durable-runs.md: asked in one process, decided in another; a worker ends when it is told to',
  async () => {
    await using postgres = await startPostgres()
    const start = (command: string) => {
      const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
      const child = spawn(process.execPath, [program, command], {
        env: { PATH, NODE_COMPILE_CACHE, DATABASE_URL: postgres.url },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let printed = ''
      child.stdout.on('data', (piece) => {
        printed += piece
      })
      return { child, ended: once(child, 'close').then(([code]) => [code, printed]) }
    }
    expect(await start('ask').ended).toEqual([0, 'paused\n'])
    const worker = start('worker')
    expect(await start('approve').ended).toEqual([0, 'Done: refunded order 17 (refund-17/1.tool.0)\n'])
    worker.child.kill('SIGTERM')
    await worker.ended
    // The run has ended: nobody does it again.
    expect(await start('approve').ended).toEqual([0, 'Done: refunded order 17 (refund-17/1.tool.0)\n'])
  },
)
