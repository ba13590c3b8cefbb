import type { JsonObject } from '../../core/messages.ts'
import { isEffortMap } from '../conversion/effort.ts'
import type { MessageOrder, SystemMessages } from '../conversion/fit-conversation.ts'
import { type TakesToolSearch, takesToolSearch } from '../conversion/tool-search.ts'
import { type CallIdRule, usualCallIds } from '../conversion/wire.ts'
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

/** What differs between models and servers that speak Anthropic's Messages API. Set in `config/providers.yaml`, overridable by `settings.quirks`. */
export interface AnthropicQuirks extends TextQuirks {
  /** `max_tokens` of a request without `maxOutputTokens`: the API insists on the field. */
  maxTokens: number
  /** Marks what the provider is to cache: the tools, the system prompt, the last turn, and the user's turn before it. `providerOptions: {promptCaching: false}` switches it off for a request. */
  promptCaching: boolean
  /** Which call ids it takes; as in the `openai` driver. */
  toolCallId: CallIdRule | null
  /**
   * Where it takes system messages. `anywhere`: also in the conversation. `as-user`: only at the beginning; later ones are sent as the user's.
   * `first`: all of them are moved to the beginning, which changes what is cached.
   */
  systemMessages: SystemMessages
  /** The order of messages it takes; as in the `openai` driver. */
  messageOrder: MessageOrder
  /** The efforts it knows, with the body fields that ask for each. For others it gets the nearest. */
  reasoningEffort: { [effort: string]: JsonObject }
  /** Takes thinking back that is not signed. False: it is left out. */
  unsignedThinking: boolean
  /** The thinking it gets for assistant messages that have none, because it insists on it. */
  missingReasoning: string | null
  /** When it thinks. While it does, it refuses a temperature and a tool choice that forces a call. */
  thinks: 'when-asked' | 'by-default' | 'always'
  /** Takes a schema for its response's text: in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings it refuses, besides those the API has no field for. */
  unsupported: string[]
  /** Takes `strict` in a tool's definition. */
  strictTools: boolean
  /** Parts it takes besides text, in user messages and in tools' results. */
  contentParts: ('image' | 'file')[]
  /** Searches deferred tools itself. Null: where it is Anthropic itself. */
  toolSearch: TakesToolSearch
  /** The `anthropic-version` header; null: the one of the SDK. */
  apiVersion: string | null
  /** What its keys begin with; another key is sent all the same, with a warning. */
  keyPrefix: string | null
}

const defaults: AnthropicQuirks = {
  maxTokens: 32_000,
  promptCaching: true,
  toolCallId: usualCallIds,
  systemMessages: 'as-user',
  messageOrder: 'any',
  reasoningEffort: {},
  unsignedThinking: true,
  missingReasoning: null,
  thinks: 'when-asked',
  structuredOutput: null,
  unsupported: [],
  strictTools: false,
  contentParts: ['image', 'file'],
  toolSearch: null,
  apiVersion: null,
  keyPrefix: null,
  ...textQuirks,
}

const isTextOrNull: QuirkCheck = { expected: 'a text or null', passes: (value) => value === null || typeof value === 'string' }

const checks: Record<keyof AnthropicQuirks, QuirkCheck> = {
  maxTokens: isPositiveInteger,
  promptCaching: isBoolean,
  toolCallId: isCallIdRule,
  systemMessages: isSystemMessages,
  messageOrder: isMessageOrder,
  reasoningEffort: isEffortMap,
  unsignedThinking: isBoolean,
  missingReasoning: isTextOrNull,
  thinks: oneOf('when-asked', 'by-default', 'always'),
  structuredOutput: isStructuredOutput,
  unsupported: listOf('temperature', 'topP', 'stop'),
  strictTools: isBoolean,
  contentParts: listOf('image', 'file'),
  toolSearch: takesToolSearch,
  apiVersion: isTextOrNull,
  keyPrefix: isTextOrNull,
  ...textQuirkChecks,
}

/** The quirks of `layers`, later ones over earlier ones, over the defaults. Throws `invalid_option` for a key or value that is not one. */
export function anthropicQuirks(...layers: readonly (JsonObject | undefined)[]): AnthropicQuirks {
  return mergeQuirks(defaults, checks, layers)
}
