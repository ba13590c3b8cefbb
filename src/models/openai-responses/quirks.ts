import type { JsonObject } from '../../core/messages.ts'
import { type TakesCacheKey, takesCacheKey } from '../conversion/cache-key.ts'
import { isKnownEfforts, isReasons, type KnownEfforts, type Reasons } from '../conversion/effort.ts'
import type { MessageOrder, SystemMessages } from '../conversion/fit-conversation.ts'
import { type TakesToolSearch, takesToolSearch } from '../conversion/tool-search.ts'
import { type CallIdRule, type MalformedArguments, usualCallIds } from '../conversion/wire.ts'
import {
  isBoolean,
  isCallIdRule,
  isMessageOrder,
  isPositiveInteger,
  isStructuredOutput,
  isSystemMessages,
  listOf,
  mergeQuirks,
  oneOf,
  type QuirkCheck,
  type TextQuirks,
  textQuirkChecks,
  textQuirks,
} from '../quirk-checks.ts'

/** How models and servers that speak the Responses API differ. Set in `config/providers.yaml`; `settings.quirks` overrides it. */
export interface ResponsesQuirks extends TextQuirks {
  /** Whether system messages have the role `developer`. If false, it is `system`. */
  developerRole: boolean
  /** Whether it accepts `store: false` and returns encrypted reasoning. */
  stateless: boolean
  /** When it reasons. While it reasons, it refuses `temperature` and `topP`. `never`: it also refuses an effort. */
  reasons: Reasons
  /**
   * The efforts it knows. `true` or a list: sent as `reasoning.effort`. An object: the body fields that request each. Others become the
   * nearest one.
   */
  reasoningEffort: KnownEfforts
  /** The call ids that it accepts; as in the `openai` driver. */
  toolCallId: CallIdRule | null
  /**
   * Where it accepts system messages. `first`: only one, as the first message. `as-user`: only at the start; later ones are sent as the
   * user's.
   */
  systemMessages: SystemMessages
  /** The order of messages that it accepts. Missing messages are inserted and adjacent ones are joined before sending. */
  messageOrder: MessageOrder
  /** Whether it accepts `parallel_tool_calls`. */
  parallelToolCalls: boolean
  /**
   * What is sent back if a call's arguments are not a JSON object. `'empty'`: `{}`, because the server may refuse the whole conversation
   * for the text itself.
   */
  malformedArguments: MalformedArguments
  /** Whether it accepts `strict` in a tool's definition. If it does, it treats a tool without the field as strict. */
  strictTools: boolean
  /** The tool choices that it accepts. Others become the nearest one. */
  toolChoice: ('auto' | 'none' | 'required' | 'named')[]
  /** Whether it accepts a schema for the response's text: only in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that it refuses, besides those the API has no field for. */
  unsupported: string[]
  /** The smallest token limit that it accepts. */
  leastOutputTokens: number
  /** The parts that it accepts besides text. */
  contentParts: ('image' | 'file')[]
  /** Whether it accepts these parts in tool results too. If false, results are text. */
  toolContentParts: boolean
  /** Whether it accepts `prompt_cache_key`. Null: only if it is OpenAI. */
  promptCacheKey: TakesCacheKey
  /** Whether it searches deferred tools itself. Null: only if it is OpenAI. */
  toolSearch: TakesToolSearch
}

const defaults: ResponsesQuirks = {
  developerRole: false,
  stateless: false,
  reasons: 'when-asked',
  reasoningEffort: true,
  toolCallId: usualCallIds,
  systemMessages: 'anywhere',
  messageOrder: 'any',
  parallelToolCalls: true,
  malformedArguments: 'empty',
  strictTools: false,
  toolChoice: ['auto', 'none', 'required', 'named'],
  structuredOutput: null,
  unsupported: [],
  leastOutputTokens: 1,
  contentParts: ['image'],
  toolContentParts: false,
  promptCacheKey: null,
  toolSearch: null,
  ...textQuirks,
}

const checks: Record<keyof ResponsesQuirks, QuirkCheck> = {
  developerRole: isBoolean,
  stateless: isBoolean,
  reasons: isReasons,
  reasoningEffort: isKnownEfforts,
  toolCallId: isCallIdRule,
  systemMessages: isSystemMessages,
  messageOrder: isMessageOrder,
  parallelToolCalls: isBoolean,
  malformedArguments: oneOf('keep', 'empty'),
  strictTools: isBoolean,
  toolChoice: listOf('auto', 'none', 'required', 'named'),
  structuredOutput: isStructuredOutput,
  unsupported: listOf('temperature', 'topP', 'maxOutputTokens'),
  leastOutputTokens: isPositiveInteger,
  contentParts: listOf('image', 'file'),
  toolContentParts: isBoolean,
  promptCacheKey: takesCacheKey,
  toolSearch: takesToolSearch,
  ...textQuirkChecks,
}

/** Merges the layers of quirks over the defaults, later ones first. Throws `invalid_option` for an unknown quirk or an invalid value. */
export function responsesQuirks(...layers: readonly (JsonObject | undefined)[]): ResponsesQuirks {
  return mergeQuirks(defaults, checks, layers)
}
