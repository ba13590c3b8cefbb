import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'

/** The folder of the server's programs: on the PATH, or where Debian installs them, the newest version. */
const programs = [
  ...(process.env.PATH ?? '').split(delimiter),
  ...globSync('/usr/lib/postgresql/*/bin').toSorted(
    (a, b) => Number.parseInt(b.split('/')[4] ?? '', 10) - Number.parseInt(a.split('/')[4] ?? '', 10),
  ),
].find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))

/** Whether tests can start PostgreSQL. */
export const hasPostgres: boolean = programs !== undefined
if (!hasPostgres) console.warn('SKIPPED: nothing is tested on PostgreSQL, its programs are not here (apt-get install postgresql)')

/** A PostgreSQL server for one test. */
export interface Postgres extends AsyncDisposable {
  /** The URL of its database `postgres`. The user may create others. */
  readonly url: string
  /** The folder of its unix socket, for clients that prefer it. */
  readonly socketFolder: string
  /** Ends the server and removes all its data. */
  stop(): Promise<void>
  /** Kills the server and all its processes with SIGKILL. Committed data is there after `restart`. */
  kill(): Promise<void>
  /** Starts the server again at the same address, ending it first if it is running. */
  restart(): Promise<void>
}

export interface PostgresOptions {
  /**
   * Whether each commit waits for the disk, as in production; for measurements. Without it, a commit still outlives the server's processes,
   * but not a power failure. Default: false.
   */
  fsync?: boolean
  /** Further settings of the server, by name. */
  settings?: Readonly<Record<string, string>>
}

/** Starts a server in its own folder, on a free port of 127.0.0.1 and a unix socket. Anybody on this machine may log in. */
export async function startPostgres({ fsync = false, settings = {} }: PostgresOptions = {}): Promise<Postgres> {
  const folder = mkdtempSync('/tmp/toolloop-pg-')
  const data = join(folder, 'data')
  // The programs refuse to run as root.
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const env = { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' }
  const port = await freePort()
  const options = { listen_addresses: '127.0.0.1', port, unix_socket_directories: folder, fsync: fsync ? 'on' : 'off', ...settings }
  let server: ChildProcess | undefined
  let ended: Promise<unknown> = Promise.resolve()

  /** Resolves when none of its processes is left: each holds the pipe that the server writes its log to. */
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    server?.kill(signal)
    await ended
    server = undefined
  }
  const start = async (): Promise<void> => {
    const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const started = spawn(join(programs ?? '', 'postgres'), ['-D', data, ...args], { ...user, env, stdio: ['ignore', 'ignore', 'pipe'] })
    server = started
    ended = once(started, 'close')
    await readyToAccept(started)
  }
  // Kills the server if a test file ends without stopping it.
  const killNow = (): void => {
    server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  const remove = (): void => {
    process.off('exit', killNow)
    rmSync(folder, { recursive: true, force: true })
  }
  const stop = (): Promise<void> => end('SIGINT').finally(remove)
  try {
    const initdb = ['-D', data, '-U', 'toolloop', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync', '--no-instructions']
    execFileSync(join(programs ?? '', 'initdb'), initdb, { ...user, env, stdio: ['ignore', 'ignore', 'pipe'] })
    process.on('exit', killNow)
    await start()
  } catch (error) {
    await end('SIGKILL').finally(remove)
    throw error
  }
  return {
    url: `postgresql://toolloop@127.0.0.1:${port}/postgres`,
    socketFolder: folder,
    stop,
    kill: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGINT')
      await start()
    },
    [Symbol.asyncDispose]: stop,
  }
}

/** Resolves when the server accepts connections. Rejects with its log if it ends first. */
function readyToAccept(server: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let log = ''
  server.on('error', reject)
  server.on('close', () => reject(new Error(`Expected PostgreSQL to start, got:\n${log}`)))
  server.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (log.length < 10_000) log += text
    if (log.includes('database system is ready to accept connections')) resolve()
  })
  return promise
}

function unprivilegedUser(): { uid: number; gid: number } {
  for (const name of ['postgres', 'nobody']) {
    try {
      const idOf = (kind: string): number =>
        Number(execFileSync('id', [kind, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: idOf('-u'), gid: idOf('-g') }
    } catch {
      // There is no such user; tries the next.
    }
  }
  throw new Error('Expected a user `postgres` or `nobody`, as whom PostgreSQL can be started')
}

/**
 * Avoids ports that the system uses for outgoing connections (32768 and up on Linux): a client that tries to reach a stopped server could
 * get its port and connect to itself.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const probe = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}
