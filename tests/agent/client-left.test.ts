import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { createLogger } from '../../src/core/logger.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { toUIMessageResponse } from '../../src/ui/index.ts'
import { pipeToNode } from '../../src/ui/web/pipe-to-node.ts'
import { closeServer } from '../close-server.ts'

/** A runner whose only call takes an hour, and when its run has begun the call, and ended. */
function slowRunner() {
  const called = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<string>()
  const slow = defineTool({
    name: 'slow',
    description: 'Takes an hour.',
    execute: async (_args, { signal }) => {
      called.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
  })
  const model = scriptedModel([{ toolCalls: [{ name: 'slow' }] }])
  const runner = new AgentRunner({ model, tools: [slow], logger: createLogger({ level: 'silent' }), toolTimeoutMs: 3_600_000 })
  runner.on('RUN_END', ({ stopReason }) => ended.resolve(stopReason))
  return { runner, called: called.promise, ended: ended.promise }
}

/** As the docs show it: aborted when the client leaves. */
function leftOf(res: ServerResponse): AbortSignal {
  const left = new AbortController()
  res.once('close', () => left.abort())
  return left.signal
}

type Serve = (runner: AgentRunner) => Promise<number>

const onExpress =
  (handle: (runner: AgentRunner, res: ServerResponse) => unknown): Serve =>
  async (runner) => {
    const app = express()
    app.use(express.json())
    app.post('/', (_request, response) => void handle(runner, response))
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => closeServer(server))
    return (server.address() as AddressInfo).port
  }
const onFastify =
  (handle: (runner: AgentRunner, res: ServerResponse) => unknown): Serve =>
  async (runner) => {
    const app = fastify()
    app.post('/', (_request, reply) => handle(runner, reply.raw))
    onTestFinished(() => app.close())
    return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  }
const onNode =
  (handle: (runner: AgentRunner, res: ServerResponse) => unknown): Serve =>
  async (runner) => {
    const server = createServer((request: IncomingMessage, response) => {
      request.resume()
      void handle(runner, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => closeServer(server))
    return (server.address() as AddressInfo).port
  }

const piped = (runner: AgentRunner, res: ServerResponse) => pipeToNode(runner.stream('go'), res)
const pipedPage = (runner: AgentRunner, res: ServerResponse) => pipeToNode(toUIMessageResponse(runner.stream('go')), res)
const whole = async (runner: AgentRunner, res: ServerResponse) => (await runner.run('go', { signal: leftOf(res) })).output

/** A client that has sent all it has to send. */
function post(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const head = 'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n'
  socket.write(`${head}{}`)
  return socket
}

it.each<[how: string, serve: Serve]>([
  ['pipeToNode in Express', onExpress(piped)],
  ['pipeToNode of a page’s response in Express', onExpress(pipedPage)],
  ['run() in Express', onExpress(whole)],
  ['a returned response in Fastify', onFastify((runner) => runner.stream('go').toResponse())],
  ['a returned response for a page in Fastify', onFastify((runner) => toUIMessageResponse(runner.stream('go')))],
  ['run() in Fastify', onFastify(whole)],
  ['pipeToNode in node:http', onNode(piped)],
  ['run() in node:http', onNode(whole)],
])('P3.12 %s notices immediately that the client has left', async (_how, serve) => {
  for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
    const { runner, called, ended } = slowRunner()
    const socket = post(await serve(runner))
    await called
    socket[leave]()
    // Long before a heartbeat or the limit for clients that read nothing.
    expect(await ended).toBe('aborted')
    socket.destroy()
  }
})

it.each<[how: string, serve: (reached: () => void, wait: Promise<void>) => Serve]>([
  [
    'pipeToNode in Express',
    (reached, wait) =>
      onExpress(async (runner, res) => {
        reached()
        await wait
        await pipeToNode(runner.stream('go'), res)
      }),
  ],
  [
    'a returned response in Fastify',
    (reached, wait) =>
      onFastify(async (runner) => {
        reached()
        await wait
        return runner.stream('go').toResponse()
      }),
  ],
])('P3.12 %s notices a client that left earlier', async (_how, serve) => {
  const { runner, ended } = slowRunner()
  const [reached, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const socket = post(await serve(reached.resolve, gone.promise)(runner))
  await reached.promise
  socket.resetAndDestroy()
  await once(socket, 'close')
  // The server learns of it in a turn of its own.
  await new Promise(setImmediate)
  gone.resolve()
  expect(await ended).toBe('aborted')
})
