import type { Anthropic } from '@anthropic-ai/sdk'
import type { ProviderPreset } from '../presets.ts'
import type { ModelSettings } from '../settings.ts'
import { type Access, findAccess, SdkClient, withoutEnvironmentHeaders } from '../transport/sdk-client.ts'
import type { AnthropicQuirks } from './quirks.ts'

type NewClient = (fetch: typeof globalThis.fetch) => Anthropic

/** The client of the `@anthropic-ai/sdk` package, imported with the first request, for any server that speaks Anthropic's format. */
export function anthropicClient(
  settings: ModelSettings,
  given: ProviderPreset,
  { apiVersion: version, keyPrefix }: AnthropicQuirks,
): SdkClient<Access, NewClient> {
  const ownCredentials = hasCredentials(settings)
  const preset = ownCredentials ? { ...given, apiKeyOptional: true } : given
  let warnedOf: string | undefined
  return new SdkClient(settings, preset, {
    findAccess: () => findAccess(settings, preset),
    async open({ apiKey, baseURL }) {
      const { Anthropic } = await import('@anthropic-ai/sdk')
      const { apiKeyHeader, sdkEnvironment } = preset
      // Made anew for each address: the SDK reads the environment again, and so do the headers that undo it.
      return (fetch) =>
        new Anthropic({
          fetch,
          apiKey,
          // The SDK appends `/v1/messages`; addresses are also written with what it appends.
          baseURL: baseURL.replace(/\/(v1\/?)?$/, ''),
          webhookKey: null,
          logLevel: 'off',
          openTelemetry: false,
          defaultHeaders: {
            ...(sdkEnvironment ? {} : withoutEnvironmentHeaders('ANTHROPIC_CUSTOM_HEADERS', apiKey)),
            // Ours is another.
            'X-Stainless-Timeout': null,
            ...(version === null ? {} : { 'anthropic-version': version }),
            ...(ownCredentials ? { Authorization: null } : {}),
            ...(apiKeyHeader === undefined ? {} : { [apiKeyHeader]: apiKey, Authorization: null }),
            ...settings.headers,
          },
        })
    },
    // Without the conversation, in which the SDK looks for what it warns of on the console, and for its own tools' marks.
    ask: (newClient, fetch, { stream }) =>
      newClient(fetch).messages.create({ model: '', max_tokens: 1, messages: [], stream }).asResponse(),
    warnings({ apiKey }) {
      if (keyPrefix === null || apiKey === warnedOf || apiKey.startsWith(keyPrefix) || ownCredentials) return []
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
