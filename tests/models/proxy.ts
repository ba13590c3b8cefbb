import { createServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** A proxy: for connections, or for single requests, which is how Node 26 asks servers without TLS. `tunnels` are the hosts of both. */
export async function startProxy(to?: string) {
  const tunnels: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((incoming, answer) => {
    const url = new URL(incoming.url ?? '')
    tunnels.push(url.host)
    const { method, headers } = incoming
    const onward = request(to ?? url, { path: url.pathname, method, headers, agent: false }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    })
    onward.on('socket', (socket) => sockets.add(socket)).on('error', () => answer.destroy())
    incoming.pipe(onward)
  })
  server.on('connect', (request, socket: Socket) => {
    tunnels.push(request.url ?? '')
    const { hostname, port } = new URL(to ?? `http://${request.url}`)
    const upstream = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(socket).pipe(upstream)
    })
    for (const side of [socket, upstream]) {
      sockets.add(side)
      side.on('error', () => {})
      side.once('close', () => {
        socket.destroy()
        upstream.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tunnels,
    /** The ports of its connections to servers. */
    hasPort: (port: number | undefined) => [...sockets].some(({ localPort }) => localPort === port),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
