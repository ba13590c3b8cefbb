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

/**
 * How models and servers that speak Anthropic's Messages API differ. `config/providers.yaml` sets these quirks, and `settings.quirks`
 * overrides them.
 */
export interface AnthropicQuirks extends TextQuirks {
  /** The `max_tokens` of a request without `maxOutputTokens`. The API requires the field. */
  maxTokens: number
  /**
   * Whether to mark parts of the request for caching: the tools, the system prompt, the last turn, and the user turn before the last turn.
   * `providerOptions: {promptCaching: false}` turns caching off for one request.
   */
  promptCaching: boolean
  /** The call ids that the server accepts, in the same format as the quirk `toolCallId` of the `openai` driver. */
  toolCallId: CallIdRule | null
  /**
   * Where the server accepts system messages. `anywhere`: also within the conversation. `as-user`: only at the start; later system messages
   * are sent as user messages. `first`: all system messages are moved to the start, which invalidates the cache.
   */
  systemMessages: SystemMessages
  /** The order of messages that the server requires. The values are the same as for the `openai` driver. */
  messageOrder: MessageOrder
  /** Whether the server accepts a conversation that ends with an assistant message without calls. If false, a user message is added. */
  endsWithAnswer: boolean
  /** The efforts that the model supports, each with the body fields that request it. Any other effort is replaced by the nearest one. */
  reasoningEffort: { [effort: string]: JsonObject }
  /** Whether the server accepts thinking without a signature. If false, such thinking is left out. */
  unsignedThinking: boolean
  /**
   * Placeholder text for the thinking of assistant messages without thinking. Used for servers that require thinking in each assistant
   * message.
   */
  missingReasoning: string | null
  /** The requests in which the model thinks. Such requests can't set a temperature or force a tool call. */
  thinks: 'when-asked' | 'by-default' | 'always'
  /**
   * When the server accepts a schema for the response's text: only in requests without tools (`'alone'`), also in requests with tools
   * (`'with-tools'`), or never (null).
   */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that the model refuses. Settings for which the API has no field need not be listed. */
  unsupported: string[]
  /** Whether the server accepts `strict` in tool definitions. */
  strictTools: boolean
  /** The types of content parts, besides text, that the server accepts in user messages and tool results. */
  contentParts: ('image' | 'file')[]
  /** Whether the server has its own tool search. Null: only Anthropic's own servers do. */
  toolSearch: TakesToolSearch
  /** The `anthropic-version` header. Null: the SDK's default. */
  apiVersion: string | null
  /** The prefix of the provider's API keys. Keys without the prefix are still sent, with a warning. */
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

/**
 * Merges the layers of quirks over the defaults. A later layer takes precedence over an earlier layer. Throws `invalid_option` for an
 * unknown quirk or an invalid value.
 */
export function anthropicQuirks(...layers: readonly (JsonObject | undefined)[]): AnthropicQuirks {
  return mergeQuirks(defaults, checks, layers)
}
