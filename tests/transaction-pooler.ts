import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A message of PostgreSQL's protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(type: string, ...body: Buffer[]): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(Buffer.concat(body).length + 4)
  return Buffer.concat([Buffer.from(type), length, ...body])
}

/** Splits a stream into its messages. */
function messages(each: (whole: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 5 && rest.length >= rest.readInt32BE(1) + 1) {
      const end = rest.readInt32BE(1) + 1
      const whole = rest.subarray(0, end)
      rest = rest.subarray(end)
      each(whole)
    }
  }
}

/** A session of the server, lent to one client at a time. */
interface Session {
  socket: Socket
  client: Socket | undefined
}

export interface Pooler extends AsyncDisposable {
  readonly url: string
  /** The number of its sessions at the server. */
  readonly sessions: number
}

/**
 * A pooler that works like PgBouncer. `transaction`: a client has a session of the server until its transaction ends. `session`: until it
 * disconnects. It answers log-ins itself, with its own process id.
 */
export async function startPooler(target: string, mode: 'transaction' | 'session', most = 10): Promise<Pooler> {
  const { hostname, port, username, pathname } = new URL(target)
  const startup = Buffer.from(`\0\x03\0\0user\0${username}\0database\0${pathname.slice(1)}\0\0`, 'latin1')
  const idle: Session[] = []
  const waiting: ((session: Session) => void)[] = []
  const open = new Set<Socket>()
  let made = 0

  const give = (session: Session): void => {
    session.client = undefined
    const next = waiting.shift()
    if (next === undefined) idle.push(session)
    else next(session)
  }
  const makeSession = (): Promise<Session> => {
    made++
    const socket = connect(Number(port), hostname)
    open.add(socket)
    const session: Session = { socket, client: undefined }
    const { promise, resolve } = Promise.withResolvers<Session>()
    const length = Buffer.alloc(4)
    length.writeInt32BE(startup.length + 4)
    socket.write(Buffer.concat([length, startup]))
    let isLoggedIn = false
    const read = messages((whole) => {
      const isReady = whole[0] === 'Z'.charCodeAt(0)
      if (isLoggedIn) session.client?.write(whole)
      if (isReady && isLoggedIn && mode === 'transaction' && whole[5] === 'I'.charCodeAt(0)) give(session)
      if (!isReady || isLoggedIn) return
      isLoggedIn = true
      resolve(session)
    })
    socket.on('data', read).on('error', () => {})
    return promise
  }
  const lend = (): Promise<Session> => {
    const free = idle.pop()
    if (free !== undefined) return Promise.resolve(free)
    if (made < most) return makeSession()
    return new Promise((resolve) => waiting.push(resolve))
  }

  const server = createServer((client) => {
    open.add(client)
    let session: Session | undefined
    let sending: Promise<void> = Promise.resolve()
    const leave = (): void => {
      open.delete(client)
      if (session?.client === client) give(session)
    }
    const read = messages((whole) => {
      if (whole[0] === 'X'.charCodeAt(0)) return void client.end()
      sending = sending.then(async () => {
        if (session?.client !== client) {
          session = await lend()
          session.client = client
        }
        session.socket.write(whole)
      })
    })
    client.once('data', () => {
      const id = Buffer.alloc(8)
      id.writeInt32BE(1)
      client.write(Buffer.concat([message('R', Buffer.alloc(4)), message('K', id), message('Z', Buffer.from('I'))]))
      client.on('data', read)
    })
    client.on('error', () => {}).on('close', leave)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const at = typeof address === 'object' ? address?.port : undefined
  return {
    url: `postgresql://${username}@127.0.0.1:${at}${pathname}`,
    get sessions() {
      return made
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
