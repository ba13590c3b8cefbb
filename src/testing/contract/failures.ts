import type { ErrorCode } from '../../core/errors.ts'
import type { MockFault } from '../mock/fault.ts'
import type { MockReply } from '../mock/reply.ts'
import { startMockProvider } from '../mock-provider.ts'
import { type Failed, failureOf, greeting, type ModelCase, type ModelKit, type ModelTestSettings } from './kit.ts'

const now = { 'retry-after': '0' }
const both = [true, false] as const

/** Cases about failures of the provider: which failures are retried, and which errors the other failures become. */
export const failureCases: readonly ModelCase[] = [
  {
    name: 'a rate-limited request is retried after the time that the provider asks for',
    async run({ ask, expect }) {
      const faults = [{ status: 429, headers: { 'retry-after': '1' } }]
      const { response, server } = await ask({ script: ['Hello'], faults }, {}, { maxRetries: 2 })
      expect(response.text).toBe('Hello')
      expect(response.retries).toBe(1)
      const [first, second] = server.requests.map((request) => request.receivedAt)
      expect((second ?? 0) - (first ?? 0) > 950).toBe(true)
    },
  },
  ...[408, 409, 429, 500, 502, 503, 504, 529].map(
    (status): ModelCase => ({
      name: `HTTP ${status} is retried`,
      async run({ ask, expect }) {
        const { response, server } = await ask({ script: ['Hello'], faults: [{ status, headers: now }] }, {}, { maxRetries: 1 })
        expect(response.text).toBe('Hello')
        expect(server.requests.length).toBe(2)
      },
    }),
  ),
  {
    name: 'a server that keeps failing is an error after the last attempt, which says so',
    async run({ fail, expect }) {
      for (const [status, code] of [
        [500, 'provider_error'],
        [429, 'rate_limited'],
      ] as const) {
        const { error, server } = await fail({ faults: { status, headers: now } }, {}, { maxRetries: 2 })
        expect({ code: error.code, status: error.status, retryable: error.retryable }).toEqual({ code, status, retryable: true })
        expect(server.requests.length).toBe(3)
      }
    },
  },
  ...(
    [
      [400, 'provider_error'],
      [401, 'unauthorized'],
      [404, 'provider_error'],
    ] as const
  ).map(
    ([status, code]): ModelCase => ({
      name: `HTTP ${status} is ${code} and not retried`,
      async run({ fail, expect }) {
        const { error, server } = await fail({ faults: { status } }, {}, { maxRetries: 2 })
        expect({ code: error.code, status: error.status, retryable: error.retryable }).toEqual({ code, status, retryable: false })
        expect(server.requests.length).toBe(1)
      },
    }),
  ),
  {
    name: 'a conversation that is too long is context_overflow and not retried',
    async run({ fail, expect }) {
      const { error, server } = await fail({ faults: { contextOverflow: true } }, {}, { maxRetries: 2 })
      expect({ code: error.code, retryable: error.retryable }).toEqual({ code: 'context_overflow', retryable: false })
      expect(server.requests.length).toBe(1)
    },
  },
  {
    name: "a proxy's HTML error page is a provider_error with its status",
    async run({ fail, expect }) {
      const { error } = await fail({ faults: { htmlError: 502 } })
      expect({ code: error.code, status: error.status, retryable: error.retryable }).toEqual({
        code: 'provider_error',
        status: 502,
        retryable: true,
      })
    },
  },
  {
    name: 'a refused connection is connection_failed',
    async run({ connect, expect }) {
      const server = await startMockProvider()
      const model = await connect(server)
      await server.close()
      const error = await failureOf(model.generate({ messages: greeting }))
      expect({ code: error.code, retryable: error.retryable }).toEqual({ code: 'connection_failed', retryable: true })
    },
  },
  {
    name: 'a connection that breaks before the first byte is retried',
    async run({ ask, fail, expect }) {
      const { response, server } = await ask({ script: ['Hello'], faults: [{ resetAfterBytes: 0 }] }, {}, { maxRetries: 1 })
      expect([response.text, server.requests.length]).toEqual(['Hello', 2])
      const { error } = await fail({ faults: { resetAfterBytes: 0 } })
      expect(error.code).toBe('connection_failed')
    },
  },
  {
    name: 'a connection the server closed after a response does not harm the next request',
    async run({ start, connect, expect }) {
      const model = await connect(await start({ script: () => 'Hello', faults: { closeKeepAlive: true } }), { maxRetries: 2 })
      for (let round = 0; round < 5; round++) expect((await model.generate({ messages: greeting })).text).toBe('Hello')
    },
  },
  ...(['cutAfterBytes', 'resetAfterBytes'] as const).map(
    (fault): ModelCase => ({
      name: `an interrupted stream (${fault}) is stream_cut, keeps what arrived, and is not retried once text was shown`,
      async run({ fail, expect }) {
        const { error, server, seen } = await fail(
          { script: [{ text: 'Half an answer', fault: { [fault]: 'content' } }] },
          {},
          { maxRetries: 2 },
        )
        expect({ code: error.code, retryable: error.retryable, text: error.partial?.text }).toEqual({
          code: 'stream_cut',
          retryable: true,
          text: 'Half an answer',
        })
        expect(seen.text).toBe('Half an answer')
        expect(server.requests.length).toBe(1)
      },
    }),
  ),
  {
    name: 'a stream that ends without content is stream_cut, not an empty answer',
    async run({ fail, expect }) {
      const { error } = await fail({ script: [{ text: 'Hello', fault: { cutAfterBytes: 0 } }] })
      expect([error.code, error.retryable]).toEqual(['stream_cut', true])
    },
  },
  {
    name: 'calls of an interrupted stream are not returned as calls',
    async run({ fail, expect }) {
      const toolCalls = [{ name: 'pay', arguments: { amount: 100 } }]
      const { error } = await fail({ script: [{ toolCalls, fault: { cutAfterBytes: 'content' } }] })
      expect(error.code).toBe('stream_cut')
    },
  },
  {
    name: 'garbage in a stream is an error that keeps what arrived, not an answer',
    async run({ fail, expect }) {
      const { error } = await fail({ script: [{ text: 'Half an answer', fault: { garbageAfterBytes: 'content' } }] })
      expect(oneOf(error.code, ['bad_response', 'stream_cut'])).toBe(true)
      expect(error.partial?.text).toBe('Half an answer')
    },
  },
  {
    name: 'a response without a stream that is cut off is an error',
    async run({ fail, expect }) {
      const { error } = await fail({ script: [{ text: 'Half an answer', fault: { cutAfterBytes: 'content' } }] }, { stream: false })
      expect(oneOf(error.code, ['bad_response', 'stream_cut'])).toBe(true)
    },
  },
  {
    name: 'a silent stream is stream_idle, keeps what arrived, and its connection is closed',
    async run(kit) {
      const { expect } = kit
      const reply = { text: 'Half an answer', hang: true }
      const { error, server } = await failBySilence(kit, reply, ({ error }) => error.partial?.text !== undefined, { maxRetries: 2 })
      expect({ code: error.code, retryable: error.retryable, text: error.partial?.text }).toEqual({
        code: 'stream_idle',
        retryable: true,
        text: 'Half an answer',
      })
      expect((await server.waitForEnd(1)).aborted).toBe(true)
      expect(server.requests.length).toBe(1)
    },
  },
  {
    name: 'a provider that sends nothing at all is stream_idle',
    async run(kit) {
      await Promise.all([expectIdle(kit, {}), expectIdle(kit, { stallAfterBytes: 0 })])
    },
  },
  {
    name: 'HTTP 200 with an error for a body is a provider_error, streamed or not',
    async run({ fail, expect }) {
      for (const stream of both) {
        const { error } = await fail({ faults: { jsonErrorWith200: true } }, { stream })
        expect(error.code).toBe('provider_error')
      }
    },
  },
  {
    name: 'an error inside a stream is a provider_error that keeps what arrived',
    async run({ fail, expect }) {
      const { error } = await fail({ script: [{ text: 'Half an answer', fault: { errorInStream: true } }] })
      expect([error.code, error.partial?.text]).toEqual(['provider_error', 'Half an answer'])
    },
  },
]

async function expectIdle(kit: ModelKit, fault: MockFault): Promise<void> {
  const { expect } = kit
  const reply = { hang: true, text: Object.keys(fault).length === 0 ? '' : 'never sent', fault }
  const { error, server } = await failBySilence(kit, reply, ({ server }) => server.requests.length > 0)
  expect([error.code, error.retryable]).toEqual(['stream_idle', true])
  expect((await server.waitForEnd(1)).aborted).toBe(true)
}

/**
 * Sends a request that fails because the server stops sending. If the time limit passes before the expected data has arrived, as on a busy
 * machine, sends the request again with a longer limit.
 */
async function failBySilence(
  { fail }: ModelKit,
  reply: MockReply,
  hasArrived: (failed: Failed) => boolean,
  settings?: Partial<ModelTestSettings>,
): Promise<Failed> {
  const failAfter = (streamIdleTimeoutMs: number) => fail({ script: [reply] }, { streamIdleTimeoutMs }, settings)
  let failed = await failAfter(300)
  for (const longer of [1_200, 5_000]) if (!hasArrived(failed)) failed = await failAfter(longer)
  return failed
}

function oneOf(code: ErrorCode, allowed: readonly ErrorCode[]): boolean {
  return allowed.includes(code)
}
