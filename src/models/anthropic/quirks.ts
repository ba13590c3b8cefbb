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

/** How models and servers that speak Anthropic's Messages API differ. Set in `config/providers.yaml`; `settings.quirks` overrides it. */
export interface AnthropicQuirks extends TextQuirks {
  /** The `max_tokens` of a request without `maxOutputTokens`. The API requires the field. */
  maxTokens: number
  /**
   * Marks what the provider should cache: the tools, the system prompt, the last turn, and the user's turn before it. `providerOptions:
   * {promptCaching: false}` turns it off for one request.
   */
  promptCaching: boolean
  /** The call ids that it accepts; as in the `openai` driver. */
  toolCallId: CallIdRule | null
  /**
   * Where it accepts system messages. `anywhere`: also within the conversation. `as-user`: only at the start; later ones are sent as the
   * user's. `first`: all are moved to the start, which invalidates the cache.
   */
  systemMessages: SystemMessages
  /** The order of messages that it accepts; as in the `openai` driver. */
  messageOrder: MessageOrder
  /** Whether it accepts a conversation that ends with an answer; as in the `openai` driver. */
  endsWithAnswer: boolean
  /** The efforts it knows, with the body fields that request each. Others become the nearest one. */
  reasoningEffort: { [effort: string]: JsonObject }
  /** Whether it accepts thinking without a signature. If false, such thinking is left out. */
  unsignedThinking: boolean
  /** The thinking to send for assistant messages that have none, if it requires some. */
  missingReasoning: string | null
  /** When it thinks. While it thinks, it refuses a temperature and a tool choice that forces a call. */
  thinks: 'when-asked' | 'by-default' | 'always'
  /** Whether it accepts a schema for the response's text: only in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that it refuses, besides those the API has no field for. */
  unsupported: string[]
  /** Whether it accepts `strict` in a tool's definition. */
  strictTools: boolean
  /** The parts that it accepts besides text, in user messages and tool results. */
  contentParts: ('image' | 'file')[]
  /** Whether it searches deferred tools itself. Null: only at Anthropic's own address. */
  toolSearch: TakesToolSearch
  /** The `anthropic-version` header. Null: the SDK's. */
  apiVersion: string | null
  /** The prefix of its keys. Other keys are sent with a warning. */
  keyPrefix: string | null
}

const defaults: AnthropicQuirks = {
  maxTokens: 32_000,
  promptCaching: true,
  toolCallId: usualCallIds,
  systemMessages: 'as-user',
  messageOrder: 'any',
  endsWithAnswer: true,
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
  endsWithAnswer: isBoolean,
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

/** Merges the layers of quirks over the defaults, later ones first. Throws `invalid_option` for an unknown quirk or an invalid value. */
export function anthropicQuirks(...layers: readonly (JsonObject | undefined)[]): AnthropicQuirks {
  return mergeQuirks(defaults, checks, layers)
}
