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

/**
 * How models and servers that speak the Responses API differ. `config/providers.yaml` sets these quirks, and `settings.quirks` overrides
 * them.
 */
export interface ResponsesQuirks extends TextQuirks {
  /** Whether system messages have the role `developer`. If false, they have the role `system`. */
  developerRole: boolean
  /** Whether the server accepts `store: false` and returns encrypted reasoning. */
  stateless: boolean
  /**
   * The requests in which the model reasons. `temperature` and `topP` are left out of these requests. `never`: the effort is left out of
   * all requests.
   */
  reasons: Reasons
  /**
   * The efforts that the model supports. `true` (all) or a list of names: the effort is sent as `reasoning.effort`. An object maps each
   * effort to the body fields that request it. Any other effort is replaced by the nearest one.
   */
  reasoningEffort: KnownEfforts
  /** The call ids that the server accepts, in the same format as the quirk `toolCallId` of the `openai` driver. */
  toolCallId: CallIdRule | null
  /**
   * Where the server accepts system messages. `first`: only one system message, as the first message. `as-user`: only at the start; later
   * system messages are sent as user messages.
   */
  systemMessages: SystemMessages
  /**
   * The order of messages that the server requires. The driver inserts messages, and joins adjacent messages of the same role, until the
   * conversation has this order.
   */
  messageOrder: MessageOrder
  /** Whether the server accepts `parallel_tool_calls`. */
  parallelToolCalls: boolean
  /**
   * How to send back a call whose arguments are not a JSON object. `'keep'`: with the model's text. `'empty'`: with `{}`, for servers that
   * refuse any text that is not a JSON object.
   */
  malformedArguments: MalformedArguments
  /** Whether the server accepts `strict` in tool definitions. A server that accepts it treats a tool without the field as strict. */
  strictTools: boolean
  /**
   * The tool choices that the server accepts. An unsupported named choice is replaced by `required` if the server accepts that. Any other
   * unsupported choice is left out. If `none` is left out, the tools are left out too.
   */
  toolChoice: ('auto' | 'none' | 'required' | 'named')[]
  /**
   * When the server accepts a schema for the response's text: only in requests without tools (`'alone'`), also in requests with tools
   * (`'with-tools'`), or never (null).
   */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that the model refuses. Settings for which the API has no field need not be listed. */
  unsupported: string[]
  /** The smallest value that the server accepts for `max_output_tokens`. */
  leastOutputTokens: number
  /** The types of content parts, besides text, that the server accepts. */
  contentParts: ('image' | 'file')[]
  /** Whether the server accepts the types in `contentParts` in tool results too. If false, results are sent as text. */
  toolContentParts: boolean
  /** Whether the server accepts `prompt_cache_key`. Null: only OpenAI's own servers do. */
  promptCacheKey: TakesCacheKey
  /** Whether the server has its own tool search. Null: only OpenAI's own servers do. */
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

/**
 * Merges the layers of quirks over the defaults. A later layer takes precedence over an earlier layer. Throws `invalid_option` for an
 * unknown quirk or an invalid value.
 */
export function responsesQuirks(...layers: readonly (JsonObject | undefined)[]): ResponsesQuirks {
  return mergeQuirks(defaults, checks, layers)
}
