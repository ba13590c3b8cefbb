import { abortCases } from './contract/aborts.ts'
import { failureCases } from './contract/failures.ts'
import { type CreateModel, type ModelCase, withKit } from './contract/kit.ts'
import { requestCases } from './contract/requests.ts'
import { responseCases } from './contract/responses.ts'
import { defineCases, type TestApi } from './contract-cases.ts'
import type { WireName } from './mock/wires/wire.ts'
import { findWire } from './mock/wires.ts'
import type { MockProviderOptions } from './mock-provider.ts'

/** What the contract suite needs to know of a driver. */
export interface TestModelOptions {
  /** The wire format the model speaks. Default `'chat-completions'`. */
  wire?: WireName
  /** What the provider refuses, as in `MockProviderOptions`: every case then proves its requests legal as well. Default: nothing. */
  refuse?: MockProviderOptions['refuse']
  /**
   * Cases that are left out, by name, each with the reason: what a model can't do because of the format it speaks.
   * Throws at once for a name that is no case's, so that the list can't outlive what it excuses.
   */
  skip?: Readonly<Record<string, string>>
}

const cases: readonly ModelCase[] = [...responseCases, ...requestCases, ...failureCases, ...abortCases]

/**
 * The contract of `ChatModel` as a test suite, which every driver has to pass: what a response is, what a request says, what happens
 * when the provider fails or the caller aborts. It runs over real HTTP against the mock provider; each case starts its own.
 *
 * `create` is called once for each server with what the case needs (`maxRetries` has to be honoured; waits between tries should be short).
 * Defines one `describe` with one `it` for each case; the longest takes a good second, because a provider asks for one.
 *
 * ```ts
 * import { describe, expect, it } from 'vitest'
 * testModel('my driver', (server, { maxRetries }) => myDriver({ baseURL: server.baseURL, maxRetries }), { describe, it, expect })
 * ```
 */
export function testModel(name: string, create: CreateModel, api: TestApi, options: TestModelOptions = {}): void {
  const { wire: wireName = 'chat-completions', refuse, skip } = options
  const wire = findWire(wireName)
  defineCases({ name, cases, skip }, api, ({ run }) => withKit({ expect: api.expect, wire, refuse }, create, run))
}
