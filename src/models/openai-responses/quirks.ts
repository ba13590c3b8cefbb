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

/** What differs between models and servers that speak the Responses API. Set in `config/providers.yaml`, overridable by `settings.quirks`. */
export interface ResponsesQuirks extends TextQuirks {
  /** System messages are sent with the role `developer`. False: as `system`. */
  developerRole: boolean
  /** Takes `store: false` and, of models that reason, gives out their reasoning encrypted. */
  stateless: boolean
  /** When it reasons. While it does, it refuses `temperature` and `topP`. `never`: it refuses to be asked for an effort, too. */
  reasons: Reasons
  /** The efforts it knows: `true` or a list: as `reasoning.effort`; or the body fields that ask for each. For others it gets the nearest. */
  reasoningEffort: KnownEfforts
  /** Which call ids it takes; as in the `openai` driver. */
  toolCallId: CallIdRule | null
  /** Where it takes system messages. `first`: only one, as the first message. `as-user`: only at the beginning; later ones are sent as the user's. */
  systemMessages: SystemMessages
  /** The order of messages it takes; what is missing in between is added, and what stands together is joined, on the way to it. */
  messageOrder: MessageOrder
  /** Takes `parallel_tool_calls`. */
  parallelToolCalls: boolean
  /** What it gets back of arguments that are not a JSON object. `'empty'`: `{}`, because it may refuse the whole history for the text itself. */
  malformedArguments: MalformedArguments
  /** Takes `strict` in a tool's definition, and takes a tool without it for a strict one. */
  strictTools: boolean
  /** The tool choices it takes; others are sent as the nearest one it does. */
  toolChoice: ('auto' | 'none' | 'required' | 'named')[]
  /** Takes a schema for its response's text: in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings it refuses, besides those the API has no field for. */
  unsupported: string[]
  /** Fewest tokens it may be limited to. */
  leastOutputTokens: number
  /** Parts it takes besides text. */
  contentParts: ('image' | 'file')[]
  /** Takes these parts in a tool's result as well. False: results are text. */
  toolContentParts: boolean
  /** Takes `prompt_cache_key`. Null: where it is OpenAI itself. */
  promptCacheKey: TakesCacheKey
  /** Searches deferred tools itself. Null: where it is OpenAI itself. */
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

/** The quirks of `layers`, later ones over earlier ones, over the defaults. Throws `invalid_option` for a key or value that is not one. */
export function responsesQuirks(...layers: readonly (JsonObject | undefined)[]): ResponsesQuirks {
  return mergeQuirks(defaults, checks, layers)
}
