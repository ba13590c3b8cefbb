import { getEventListeners } from 'node:events'
import type { ModelResponse, ModelSink } from '../../models/chat-model.ts'
import type { MockProvider, MockProviderOptions } from '../mock-provider.ts'
import { failureOf, greeting, type ModelCase, type ModelKit } from './kit.ts'

/** Cases about aborts: if the caller aborts, the request rejects with `aborted`, and the server sees its client disconnect. */
export const abortCases: readonly ModelCase[] = [
  {
    name: 'a request with an aborted signal sends nothing',
    async run({ start, connect, expect }) {
      const server = await start({ script: ['Hello'] })
      const model = await connect(server)
      const error = await failureOf(model.generate({ messages: greeting, signal: AbortSignal.abort() }))
      expect([error.code, error.retryable]).toEqual(['aborted', false])
      expect(server.requests.length).toBe(0)
    },
  },
  {
    name: 'an abort before the first byte ends the request and its connection',
    async run(kit) {
      for (const stream of [true, false]) {
        await abortWhen(kit, { script: [{ hang: true }] }, { stream }, async (server) => void (await server.waitForRequest()))
      }
    },
  },
  {
    name: 'an abort in the middle of a stream ends the request and its connection',
    async run(kit) {
      let shown = (): void => {}
      const firstText = new Promise<void>((resolve) => {
        shown = resolve
      })
      await abortWhen(kit, { script: [{ text: 'Hello', hang: true }] }, { sink: { text: () => shown() } }, () => firstText)
    },
  },
  {
    name: 'an abort from inside the sink ends the request',
    async run({ start, connect, expect }) {
      const server = await start({ script: [{ text: 'Hello, world', hang: true }] })
      const model = await connect(server)
      const controller = new AbortController()
      const error = await failureOf(model.generate({ messages: greeting, signal: controller.signal }, { text: () => controller.abort() }))
      expect(error.code).toBe('aborted')
      expect((await server.waitForEnd()).aborted).toBe(true)
    },
  },
  {
    name: 'an abort ends the wait before a retry',
    async run({ start, connect, expect }) {
      const server = await start({ script: ['Hello'], faults: [{ status: 429, headers: { 'retry-after': '20' } }] })
      const model = await connect(server, { maxRetries: 2 })
      const controller = new AbortController()
      const failed = failureOf(model.generate({ messages: greeting, signal: controller.signal }))
      await server.waitForEnd()
      controller.abort()
      expect((await failed).code).toBe('aborted')
      expect(server.requests.length).toBe(1)
    },
  },
  {
    name: "no request leaves a listener on the caller's signal",
    async run({ start, connect, expect }) {
      const faults = ({ index }: { index: number }) => [undefined, { status: 400 }, { cutAfterBytes: 0 }][index % 3]
      const model = await connect(await start({ script: () => 'Hello', faults }))
      const controller = new AbortController()
      const before = getEventListeners(controller.signal, 'abort').length
      for (let round = 0; round < 30; round++) {
        await settled(model.generate({ messages: greeting, signal: controller.signal, stream: round % 2 === 0 }))
      }
      expect(getEventListeners(controller.signal, 'abort').length).toBe(before)
    },
  },
]

async function abortWhen(
  { start, connect, expect }: ModelKit,
  options: MockProviderOptions,
  { sink, stream = true }: { sink?: ModelSink; stream?: boolean },
  ready: (server: MockProvider) => Promise<void>,
): Promise<void> {
  const server = await start(options)
  const model = await connect(server, { maxRetries: 2 })
  const controller = new AbortController()
  const failed = failureOf(model.generate({ messages: greeting, signal: controller.signal, stream }, sink))
  await Promise.race([ready(server), failed.then(() => {})])
  controller.abort()
  const error = await failed
  expect([error.code, error.retryable]).toEqual(['aborted', false])
  expect((await server.waitForEnd()).aborted).toBe(true)
  expect(server.requests.length).toBe(1)
}

async function settled(generating: Promise<ModelResponse>): Promise<void> {
  await Promise.allSettled([generating])
}
