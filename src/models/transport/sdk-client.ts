import type { ModelError } from '../../core/errors.ts'
import { abortedError, type ModelResponse } from '../chat-model.ts'
import { findAPIKey, findBaseURL, type ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { connectionError, type ErrorContext, providerError } from './provider-error.ts'

/** An SDK's own timeout is put out of the way: it does not cover a stream's body, ours does. */
export const noTimeoutMs: number = 2 ** 31 - 1

/** With which key to ask where. */
export interface Access {
  apiKey: string
  baseURL: string
}

/** A request that may be made. */
interface Started<Sdk> {
  access: Access
  /** For the errors of this request. */
  context: ErrorContext
  /** The client for it. */
  open(): Promise<Sdk>
}

/** A provider's SDK client, made anew when key or address have changed, so that either may come or be replaced later through the environment. */
export class SdkClient<Sdk> {
  readonly #settings: ModelSettings
  readonly #preset: ProviderPreset
  readonly #make: (access: Access) => Promise<Sdk>
  #known: (Access & { sdk: Sdk }) | undefined

  /** `make` imports the SDK: nothing is loaded before the first request. */
  constructor(settings: ModelSettings, preset: ProviderPreset, make: (access: Access) => Promise<Sdk>) {
    this.#settings = settings
    this.#preset = preset
    this.#make = make
  }

  /** Throws `aborted`, `missing_api_key`, or `invalid_option` for an address that is none. */
  start(signal: AbortSignal | undefined): Started<Sdk> {
    const { provider, model, headers } = this.#settings
    if (signal?.aborted) throw abortedError(provider, signal.reason)
    const access = { apiKey: findAPIKey(this.#settings, this.#preset), baseURL: findBaseURL(this.#settings, this.#preset) }
    const context = { provider, model, secrets: secretsOf(access.apiKey, headers) }
    return { access, context, open: () => this.#open(access) }
  }

  /** Makes the client. Rejects with what `start` throws, and for a package that is not installed. */
  async prepare(): Promise<void> {
    await this.start(undefined).open()
  }

  async #open(access: Access): Promise<Sdk> {
    if (this.#known?.apiKey === access.apiKey && this.#known.baseURL === access.baseURL) return this.#known.sdk
    const sdk = await this.#make(access)
    this.#known = { ...access, sdk }
    return sdk
  }
}

/** A response with further warnings before its own. */
export function withWarnings(response: ModelResponse, before: Iterable<string>): ModelResponse {
  const warnings = [...before, ...(response.warnings ?? [])]
  return warnings.length === 0 ? response : { ...response, warnings }
}

/** What an error's message must not quote. A short "key", as local servers have, would black out words. */
export function secretsOf(apiKey: string, headers: Record<string, string> = {}): string[] {
  const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
  return [apiKey, ...secretHeaders.map(([, value]) => value)].filter((secret) => secret.length >= 8)
}

/** Undoes the headers which an SDK adds to requests to anybody when the environment has `variable`, one `name: value` a line. */
export function withoutEnvironmentHeaders(variable: string, apiKey: string): Record<string, string | null> {
  const lines = (process.env[variable] ?? '').split('\n').filter((line) => line.includes(':'))
  const names = lines.map((line) => line.slice(0, line.indexOf(':')).trim().toLowerCase())
  return Object.fromEntries(names.map((name) => [name, name === 'authorization' ? `Bearer ${apiKey}` : null]))
}

/** What an SDK rejects with, by its fields: an answer has a status, anything else never came that far. */
export function sdkError(error: unknown, context: ErrorContext): ModelError {
  if (typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number') {
    const headers = 'headers' in error && hasGet(error.headers) ? { headers: error.headers } : {}
    const told =
      'error' in error && error.error !== undefined ? error.error : error instanceof Error ? error.message.replace(/^\d{3} /, '') : ''
    return providerError({ status: error.status, body: told, ...headers }, context)
  }
  return connectionError(error, context)
}

function hasGet(headers: unknown): headers is Pick<Headers, 'get'> {
  return typeof headers === 'object' && headers !== null && 'get' in headers && typeof headers.get === 'function'
}
