import type { Anthropic } from '@anthropic-ai/sdk'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, exchangeFetch, findAccess, quietly, requestOptions, SdkClient, withoutVariable } from '../transport/sdk-client.ts'
import type { AnthropicQuirks } from './quirks.ts'
import { isAnthropic } from './request.ts'

/** The client of `@anthropic-ai/sdk`, for any server that speaks Anthropic's format. The SDK is imported with the first request. */
export function anthropicClient(
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
          // The SDK appends `/v1/messages`. Many addresses already end with a part of it.
          baseURL: baseURL.replace(/\/(v1\/?)?$/, ''),
          webhookKey: null,
          logLevel: 'off',
          openTelemetry: false,
          defaultHeaders: {
            // The timeout here differs from the SDK's.
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
      // The SDK prints that a model is deprecated, even if another vendor's server is asked.
      const warn = (warning: string): void => {
        if (isAnthropic(sdk.baseURL)) exchange.warn(warning)
      }
      const request = quietly(() => sdk.messages.create(params as Anthropic.MessageCreateParams, requestOptions(exchange)), warn)
      return request.asResponse()
    },
    warnings({ apiKey }) {
      if (typeof apiKey !== 'string' || keyPrefix === null || apiKey === warnedOf || apiKey.startsWith(keyPrefix) || ownCredentials)
        return []
      // Warns once per key.
      warnedOf = apiKey
      return [`Expected the API key of \`${settings.provider}\` to begin with \`${keyPrefix}\`; it was sent unchanged`]
    },
  })
}

/** Whether the headers contain credentials: compatible servers may take their key as a header. */
function hasCredentials({ headers }: ModelSettings): boolean {
  return Object.keys(headers ?? {}).some((name) => ['x-api-key', 'authorization'].includes(name.toLowerCase()))
}
