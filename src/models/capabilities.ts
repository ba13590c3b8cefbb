import { withoutUndefined } from '../core/messages.ts'
import type { ModelCapabilities } from './chat-model.ts'
import type { ModelSettings } from './settings.ts'

const deprecated = "`functionCalling: false` is deprecated: say how the model writes its calls, such as `dialect: 'json'`"

/**
 * Combines the capabilities from a model's settings with those from its driver's quirks. A quirk applies only if the corresponding setting
 * is absent.
 */
export function capabilitiesOf(
  { functionCalling, dialect, salvageTextCalls, contextWindow, price }: ModelSettings,
  quirks: { salvageTextCalls?: boolean; structuredOutput?: ModelCapabilities['structuredOutput'] | null; reportsCost?: boolean } = {},
): ModelCapabilities {
  const written = dialect ?? (functionCalling === false ? 'json' : undefined)
  const salvage = salvageTextCalls ?? quirks.salvageTextCalls ?? false
  return {
    nativeTools: written === undefined,
    ...withoutUndefined({ dialect: written }),
    ...(written === undefined && salvage ? { salvageTextCalls: true } : {}),
    ...structuredOutputOf(quirks.structuredOutput ?? undefined, written),
    ...(functionCalling === false ? { deprecated } : {}),
    ...withoutUndefined({ contextWindow, price }),
    ...(quirks.reportsCost ? { reportsCost: true } : {}),
  }
}

/**
 * A model with a dialect accepts a response schema only in requests without tools, because the schema would prevent it from writing calls
 * in the text.
 */
function structuredOutputOf(taken: ModelCapabilities['structuredOutput'], dialect: string | undefined): Partial<ModelCapabilities> {
  if (taken === undefined) return {}
  return { structuredOutput: dialect === undefined ? taken : 'alone' }
}
