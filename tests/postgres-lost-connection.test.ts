import { once } from 'node:events'
import { createServer } from 'node:net'
import * as pg from 'pg'
import { describe, expect, it } from 'vitest'
import { Database } from '../src/journals/dbos/database.ts'
import { postgresSessions } from '../src/sessions/postgres/index.ts'

/** A message of PostgreSQL's protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

function fatal(code: string): Buffer {
  return message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mgood bye\0\0`))
}

const loggedIn = message('R', Buffer.alloc(4))
const ready = message('Z', Buffer.from('I'))

/** A server that accepts a connection and ends it in the same packet, and refuses the next. Resolves with the number of connections. */
async function asksOf(work: (url: string) => Promise<void>): Promise<number> {
  const answers = [Buffer.concat([loggedIn, ready, fatal('57P01')]), fatal('28P01')]
  let asked = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(answers[asked++] ?? ''))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  try {
    await work(`postgresql://user@127.0.0.1:${port}/postgres`)
  } finally {
    server.close()
  }
  return asked
}

describe('a connection that ends in the packet in which the server accepts it counts as lost, and is replaced', () => {
  it('for sessions', async () => {
    const asked = await asksOf(async (connectionString) => {
      const pool = new pg.Pool({ connectionString })
      pool.on('error', () => {})
      await expect(postgresSessions({ pool }).migrate()).rejects.toMatchObject({ code: 'session_failed', cause: { code: '28P01' } })
      await pool.end()
    })
    expect(asked).toBe(2)
  })

  it('for a journal', async () => {
    const asked = await asksOf(async (url) => {
      const database = new Database(pg, { url, connections: 1, outageMs: 10_000 })
      const work = database.transaction((query) => query('SELECT 1'))
      await expect(work).rejects.toMatchObject({ code: 'journal_failed', cause: { code: '28P01' } })
      await database.pool.end()
    })
    expect(asked).toBe(2)
  })
})
