/** `node proxy.js PROVIDER PORT`: passes requests on to a provider, and responses back. The least that something in between can cost. */
import { Agent, createServer, request } from 'node:http'

const [, , provider = '', port = '0'] = process.argv
const { hostname, port: providerPort } = new URL(provider)
const agent = new Agent({ keepAlive: true })

const server = createServer((asked, response) => {
  if (asked.method === 'GET') {
    response.end('ok')
    return
  }
  const { host: _host, connection: _connection, ...headers } = asked.headers
  const sent = request({ hostname, port: providerPort, path: asked.url, method: asked.method, headers, agent }, (answered) => {
    response.writeHead(answered.statusCode ?? 502, answered.headers)
    answered.pipe(response)
  })
  sent.on('error', () => response.destroy())
  response.on('close', () => sent.destroy())
  asked.pipe(sent)
})
server.listen(Number(port), '127.0.0.1', 2048)
