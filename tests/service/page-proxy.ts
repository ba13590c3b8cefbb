import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Requests that are kept back: `asked` resolves with the first of them, `release` lets all of them go on. */
interface Held {
  asked: Promise<void>
  release(): void
}

export interface PageProxy {
  url: string
  /** Keeps back what `METHOD /path` fits. */
  hold(fits: RegExp): Held
  /** Answers what fits in place of the service, until the function is called. */
  answer(fits: RegExp, status: number, body: string): () => void
  /** What was asked, as `METHOD /path`. */
  readonly seen: readonly string[]
}

/** What stands between a browser and a service, and may be slow, or broken. Ended with the test. */
export async function startProxy(to: string): Promise<PageProxy> {
  const held: { fits: RegExp; asked(): void; released: Promise<void> }[] = []
  const answers = new Set<{ fits: RegExp; status: number; body: string }>()
  const seen: string[] = []
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const what = `${request.method} ${request.url}`
    seen.push(what)
    const answer = [...answers].find(({ fits }) => fits.test(what))
    if (answer !== undefined) return void response.writeHead(answer.status, { 'content-type': 'text/html' }).end(answer.body)
    for (const { fits, asked, released } of held) {
      if (!fits.test(what)) continue
      asked()
      await released
    }
    const { method, headers } = request
    const onward = forward(new URL(request.url ?? '', to), { method, headers }, (answered) => {
      response.writeHead(answered.statusCode ?? 502, answered.headers)
      response.flushHeaders()
      answered.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  }
  const server = createServer((request, response) => void pass(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    hold(fits) {
      const asked = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      held.push({ fits, asked: asked.resolve, released: released.promise })
      return { asked: asked.promise, release: released.resolve }
    },
    answer(fits, status, body) {
      const one = { fits, status, body }
      answers.add(one)
      return () => void answers.delete(one)
    },
    seen,
  }
}
