import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A connection that sends what it is told to, whether or not that is HTTP. */
export function openSocket(url: string): {
  socket: Socket
  received(): string
  until(text: string): Promise<string>
  closed: Promise<string>
} {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  let received = ''
  const waiting = new Map<() => void, string>()
  socket.setEncoding('latin1').on('data', (piece) => {
    received += piece
    for (const [resolve, text] of waiting) if (received.includes(text)) resolve()
  })
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(received)))
  const until = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const done = () => resolve(received)
      waiting.set(done, text)
      if (received.includes(text)) done()
      closed.then(() => reject(new Error(`The connection was closed without ${text}: ${received}`)))
    })
  return { socket, received: () => received, until, closed }
}

/** Sends a request word for word and gives the whole answer. */
export async function sendRaw(url: string, request: string): Promise<string> {
  const { socket, closed } = openSocket(url)
  socket.write(request.replaceAll('\n', '\r\n'), 'latin1')
  return closed
}
