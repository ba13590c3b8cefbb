/** `toolloop/models/anthropic`: the driver for Anthropic's Messages API. */
import type { Anthropic } from '@anthropic-ai/sdk'
import { capabilitiesOf } from '../capabilities.ts'
import type { ChatModel } from '../chat-model.ts'
import { findPreset, type ProviderPreset, presetQuirks } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, exchangeFetch, findAccess, quietly, requestOptions, SdkClient, withoutVariable } from '../transport/sdk-client.ts'
import { type AnthropicQuirks, anthropicQuirks } from './quirks.ts'
import { AnthropicApi, isAnthropic } from './request.ts'

/** `ModelSettings`, and optionally the preset of a provider that is not in `config/providers.yaml`. */
export type AnthropicModelSettings = ModelSettings & { preset?: ProviderPreset }

/**
 * Creates a model that uses Anthropic's Messages API, on Anthropic's server or any compatible server. Uses the `@anthropic-ai/sdk` package,
 * which is imported at the first request. `createModel` adds the retries.
 *
 * `generate` sends one request, plus one more request each time the provider pauses a turn while its own tools run (`pause_turn`, at most
 * 16 times). The next request contains the paused turn. Its response is appended to the turn, and the usage of all requests is added up. To
 * use tools that the provider runs, list them in `providerOptions.tools`. Their blocks are kept in `providerData` and never returned as
 * calls. Thinking and its signature are also kept in `providerData`.
 *
 * - `refusal`: returns the model's explanation as the text, with `finishReason: 'refusal'`. Calls in the same response are dropped, because
 *   they must not run.
 * - `model_context_window_exceeded`: if there is a partial answer, returns it with `finishReason: 'length'`. Otherwise rejects with
 *   `context_overflow`.
 * - The repeated parts of the prompt are marked for caching. `providerOptions: {promptCaching: false}` or the quirk `promptCaching` turns
 *   caching off.
 *
 * Throws `invalid_option` for invalid quirks, and `unknown_provider` for a provider without a preset.
 */
export function anthropicModel(settings: AnthropicModelSettings): ChatModel {
  const { provider, model, preset = findPreset(provider) } = settings
  const quirks = anthropicQuirks(...presetQuirks(preset, model), settings.quirks)
  const client = anthropicClient(settings, preset, quirks)
  return client.model(new AnthropicApi(provider, model, quirks, settings.providerOptions), capabilitiesOf(settings, quirks))
}

/** The client of `@anthropic-ai/sdk`, for any server that speaks Anthropic's format. The SDK is imported with the first request. */
function anthropicClient(
  settings: ModelSettings,
  given: ProviderPreset,
  { apiVersion: version, keyPrefix }: AnthropicQuirks,
): SdkClient<Access, Anthropic> {
  const ownCredentials = hasCredentials(settings)
  const preset = ownCredentials ? { ...given, apiKeyOptional: true } : given
  let warnedOf: string | undefined
  return new SdkClient(settings, preset, {
    findAccess: () => findAccess(settings, preset),
    async open({ apiKey, baseURL }) {
      const { Anthropic } = await import('@anthropic-ai/sdk')
      const { apiKeyHeader, sdkEnvironment } = preset
      const isKey = typeof apiKey === 'string'
      const make = () =>
        new Anthropic({
          fetch: exchangeFetch,
          apiKey: isKey ? apiKey : async () => await apiKey(),
          // Removes `/v1` and `/` at the end, because the SDK appends `/v1/messages`.
          baseURL: baseURL.replace(/\/(v1\/?)?$/, ''),
          webhookKey: null,
          logLevel: 'off',
          openTelemetry: false,
          defaultHeaders: {
            // Removes the header with the SDK's timeout, because toolloop uses its own timeout.
            'X-Stainless-Timeout': null,
            ...(version === null ? {} : { 'anthropic-version': version }),
            ...(ownCredentials ? { Authorization: null } : {}),
            ...(apiKeyHeader === undefined || !isKey ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
            ...settings.headers,
          },
        })
      return sdkEnvironment ? make() : withoutVariable('ANTHROPIC_CUSTOM_HEADERS', make)
    },
    ask(sdk, { params }, exchange) {
      // For other vendors' servers, drops the SDK's warnings that a model of Anthropic is deprecated: the SDK checks only the model's name.
      const warn = (warning: string): void => {
        if (isAnthropic(sdk.baseURL)) exchange.warn(warning)
      }
      const request = quietly(() => sdk.messages.create(params as Anthropic.MessageCreateParams, requestOptions(exchange)), warn)
      return request.asResponse()
    },
    warnings({ apiKey }) {
      if (typeof apiKey !== 'string' || keyPrefix === null || apiKey === warnedOf || apiKey.startsWith(keyPrefix) || ownCredentials)
        return []
      // Prevents a second warning about the same key.
      warnedOf = apiKey
      return [`Expected the API key of \`${settings.provider}\` to begin with \`${keyPrefix}\`; it was sent unchanged`]
    },
  })
}

/** Whether the headers contain credentials. Compatible servers may expect their key in a header. */
function hasCredentials({ headers }: ModelSettings): boolean {
  return Object.keys(headers ?? {}).some((name) => ['x-api-key', 'authorization'].includes(name.toLowerCase()))
}
