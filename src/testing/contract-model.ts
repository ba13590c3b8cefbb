import { abortCases } from './contract/aborts.ts'
import { failureCases } from './contract/failures.ts'
import { type CreateModel, type ModelCase, withKit } from './contract/kit.ts'
import { requestCases } from './contract/requests.ts'
import { responseCases } from './contract/responses.ts'
import { defineCases, type TestApi } from './contract-cases.ts'
import type { WireName } from './mock/wires/wire.ts'
import { findWire } from './mock/wires.ts'
import type { MockProviderOptions } from './mock-provider.ts'

/** The options of `testModel`. */
export interface TestModelOptions {
  /** The wire format of the model. Default: `'chat-completions'`. */
  wire?: WireName
  /**
   * Decides whether the mock provider refuses a request, as in `MockProviderOptions`. With this option, every case also checks that the
   * driver sends only requests that are accepted. Default: refuses nothing.
   */
  refuse?: MockProviderOptions['refuse']
  /**
   * The cases to skip, by name, each with a reason, such as a feature that the model's wire format does not support. If a name is unknown,
   * `testModel` throws immediately, so that the list can't become outdated.
   */
  skip?: Readonly<Record<string, string>>
}

const cases: readonly ModelCase[] = [...responseCases, ...requestCases, ...failureCases, ...abortCases]

/**
 * Tests that a driver fulfills the contract of `ChatModel`: the content of responses and requests, and the behavior if the provider fails
 * or the caller aborts. The tests use real HTTP. Each case starts its own mock provider.
 *
 * `create` receives a running server and the settings of the case. The model must honor `maxRetries`, and should wait only briefly between
 * attempts. Defines one `describe` with one `it` per case. The longest case takes just over a second, because its provider asks the client
 * to wait that long.
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
