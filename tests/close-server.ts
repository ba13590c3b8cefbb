import type { Server } from 'node:http'
import { untilSocketsAreRead } from '../src/testing/wait.ts'

/**
 * Closes a server and its connections. Waits until the clients in this process have noticed: the next server may get the same port, and a
 * client would send its first request over a closed connection.
 */
export async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await untilSocketsAreRead()
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
  // A connection that arrived meanwhile, from an abandoned request, would stay open as long as its client keeps it.
  server.closeAllConnections()
  await untilSocketsAreRead()
  await closed
}
