import type { Anthropic } from '@anthropic-ai/sdk'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, findAccess, SdkClient } from '../transport/sdk-client.ts'
import { exchangeFetch, quietly, requestOptions, withoutVariable } from '../transport/sdk-options.ts'
import type { AnthropicQuirks } from './quirks.ts'
import { isAnthropic } from './request.ts'

/** The client of the `@anthropic-ai/sdk` package, imported with the first request, for any server that speaks Anthropic's format. */
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
          // The SDK appends `/v1/messages`; addresses are also written with what it appends.
          baseURL: baseURL.replace(/\/(v1\/?)?$/, ''),
          webhookKey: null,
          logLevel: 'off',
          openTelemetry: false,
          defaultHeaders: {
            // Ours is another.
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
      // It prints that a model is deprecated, also for a server of somebody else.
      const warn = (warning: string): void => {
        if (isAnthropic(sdk.baseURL)) exchange.warn(warning)
      }
      const request = quietly(() => sdk.messages.create(params as Anthropic.MessageCreateParams, requestOptions(exchange)), warn)
      return request.asResponse()
    },
    warnings({ apiKey }) {
      if (typeof apiKey !== 'string' || keyPrefix === null || apiKey === warnedOf || apiKey.startsWith(keyPrefix) || ownCredentials)
        return []
      // Once for each key.
      warnedOf = apiKey
      return [`Expected the API key of \`${settings.provider}\` to begin with \`${keyPrefix}\`; it was sent as it is`]
    },
  })
}

/** Compatible servers may be given their key as one of the headers. */
function hasCredentials({ headers }: ModelSettings): boolean {
  return Object.keys(headers ?? {}).some((name) => ['x-api-key', 'authorization'].includes(name.toLowerCase()))
}
