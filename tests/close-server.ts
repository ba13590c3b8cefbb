import type { Server } from 'node:http'
import { untilSocketsAreRead } from '../src/testing/wait.ts'

/**
 * Closes a server and its connections. Its port is free only when clients in this process know of that: the next server may be given
 * the same one, and its first request would go over a connection that is closed.
 */
export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await untilSocketsAreRead()
  await new Promise<void>((resolve) => void server.close(() => resolve()))
}
