import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A network between a worker and its database that can be broken. */
export class DatabaseProxy implements AsyncDisposable {
  readonly #server = createServer()
  readonly #target: URL
  readonly #sockets = new Set<Socket>()
  #isStalled = false

  private constructor(target: URL) {
    this.#target = target
    this.#server.on('connection', (socket) => this.#join(socket))
  }

  static async open(url: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(new URL(url))
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening')
    return proxy
  }

  get url(): string {
    const url = new URL(this.#target)
    url.port = String((this.#server.address() as AddressInfo).port)
    return url.href
  }

  /** Resets all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** Lets nothing through from now on, without closing connections. */
  stall(): void {
    this.#isStalled = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Works again. Stalled connections are reset. */
  heal(): void {
    this.#isStalled = false
    this.cut()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.cut()
  }

  #join(client: Socket): void {
    const server = connect({ port: Number(this.#target.port), host: this.#target.hostname })
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from)
      from.on('error', () => {})
      from.on('data', (data) => void (this.#isStalled || to.write(data)))
      from.on('close', () => {
        this.#sockets.delete(from)
        // A stalled network reports nothing.
        if (!this.#isStalled) to.destroy()
      })
      if (this.#isStalled) from.pause()
    }
  }
}
