import type { JsonObject } from '../../core/messages.ts'
import { type TakesCacheKey, takesCacheKey } from '../conversion/cache-key.ts'
import { isKnownEfforts, isReasons, type KnownEfforts, type Reasons } from '../conversion/effort.ts'
import type { MessageOrder, SystemMessages } from '../conversion/fit-conversation.ts'
import type { CallIdRule, MalformedArguments } from '../conversion/wire.ts'
import {
  isBoolean,
  isCallIdRule,
  isMessageOrder,
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
import { isToolSchema, type ToolSchema } from './moonshot-schema.ts'

/** How servers that speak Chat Completions differ. Set for each provider in `config/providers.yaml`; `settings.quirks` overrides it. */
export interface OpenAIQuirks extends TextQuirks {
  /** The field for `maxOutputTokens`. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** The field for `seed`. */
  seedField: 'seed' | 'random_seed'
  /** Whether it accepts messages with the role `developer`. If false, they are sent as `system`. */
  developerRole: boolean
  /**
   * Where it accepts system messages. `first`: only one, as the first message. `as-user`: only at the start; later ones are sent as the
   * user's.
   */
  systemMessages: SystemMessages
  /** The order of messages that it accepts. Missing messages are inserted and adjacent ones are joined before sending. */
  messageOrder: MessageOrder
  /** Whether it accepts a conversation that ends with an answer. If false, a message of the user is added. */
  endsWithAnswer: boolean
  /** Whether it accepts `parallel_tool_calls`. */
  parallelToolCalls: boolean
  /** Whether it accepts `stream_options: {include_usage: true}`. If false, it reports usage unasked, or not at all. */
  streamOptions: boolean
  /** Whether it can answer without a stream. If false, a stream is always requested, and the response is assembled from it. */
  wholeResponses: boolean
  /** Whether it accepts `strict` in a tool's definition. */
  strictTools: boolean
  /** The schemas that it accepts as a tool's parameters: any, or those of Moonshot's subset. */
  toolSchema: ToolSchema
  /** Whether it wants the definitions of tools that were called earlier, even if none are offered. */
  toolsOfCalls: boolean
  /** Whether it accepts the names of those who wrote messages. */
  messageNames: boolean
  /** Whether it wants a tool's name with its result. */
  resultNames: boolean
  /** The tool choices that it accepts. Others become the nearest one. */
  toolChoice: ('auto' | 'none' | 'required' | 'named')[]
  /** Whether it accepts `required` and named choices while it thinks. */
  forcedChoiceWhileThinking: boolean
  /**
   * The efforts it knows. `true` or a list: sent as `reasoning_effort`. An object: the body fields that request each. Others become the
   * nearest one.
   */
  reasoningEffort: KnownEfforts
  /** The efforts that it accepts beside tools: any; none, so that it uses its default; or only `none`, which has to be sent. */
  effortWithTools: boolean | 'none'
  /** When it reasons, for a model that refuses `temperature`, `topP`, `stop` and penalties while it does. Null: it always accepts them. */
  reasons: Reasons | null
  /**
   * Whether the reasoning text of assistant messages is sent back, in the field it came in. Reasoning in blocks or content parts is always
   * sent back.
   */
  sendReasoningBack: boolean
  /** The `reasoning_content` to send for assistant messages that have none, if it requires the field. */
  missingReasoning: string | null
  /**
   * What is sent back if a call's arguments are not a JSON object. `'empty'`: `{}`, because the server may refuse the whole conversation
   * for the text itself.
   */
  malformedArguments: MalformedArguments
  /**
   * The call ids that it accepts, as a regular expression. Others are replaced by a hash of `length` letters and digits. Or a `template` by
   * which all calls are named, such as `functions.NAME:INDEX`; `INDEX` counts the calls of the conversation. The ids of results match those
   * of their calls.
   */
  toolCallId: CallIdRule | null
  /** Whether it accepts a schema for the response's text: only in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that it refuses. */
  unsupported: string[]
  /** The parts of a user message that it accepts besides text. */
  contentParts: ('image' | 'file')[]
  /** Whether it accepts a list of text parts as a tool message's content. If false, the texts are joined. */
  toolContentParts: boolean
  /** Whether it reports the cost of a request in US dollars, as `usage.cost`. */
  reportsCost: boolean
  /** Whether it accepts `prompt_cache_key`. Null: only if it is OpenAI. */
  promptCacheKey: TakesCacheKey
}

const defaults: OpenAIQuirks = {
  maxTokensField: 'max_tokens',
  seedField: 'seed',
  developerRole: false,
  systemMessages: 'anywhere',
  messageOrder: 'any',
  endsWithAnswer: true,
  parallelToolCalls: true,
  streamOptions: true,
  wholeResponses: true,
  strictTools: false,
  toolSchema: 'json-schema',
  toolsOfCalls: false,
  messageNames: true,
  resultNames: false,
  toolChoice: ['auto', 'none', 'required', 'named'],
  forcedChoiceWhileThinking: true,
  reasoningEffort: true,
  effortWithTools: true,
  reasons: null,
  sendReasoningBack: false,
  missingReasoning: null,
  malformedArguments: 'empty',
  toolCallId: null,
  structuredOutput: null,
  unsupported: [],
  contentParts: ['image'],
  toolContentParts: false,
  reportsCost: false,
  ...textQuirks,
  promptCacheKey: null,
}

const checks: Record<keyof OpenAIQuirks, QuirkCheck> = {
  maxTokensField: oneOf('max_tokens', 'max_completion_tokens'),
  seedField: oneOf('seed', 'random_seed'),
  developerRole: isBoolean,
  systemMessages: isSystemMessages,
  messageOrder: isMessageOrder,
  endsWithAnswer: isBoolean,
  parallelToolCalls: isBoolean,
  streamOptions: isBoolean,
  wholeResponses: isBoolean,
  strictTools: isBoolean,
  toolSchema: isToolSchema,
  toolsOfCalls: isBoolean,
  messageNames: isBoolean,
  resultNames: isBoolean,
  toolChoice: listOf('auto', 'none', 'required', 'named'),
  forcedChoiceWhileThinking: isBoolean,
  reasoningEffort: isKnownEfforts,
  effortWithTools: { expected: "true, false or 'none'", passes: (value) => typeof value === 'boolean' || value === 'none' },
  reasons: {
    expected: "'never', 'when-asked', 'by-default', 'always' or null",
    passes: (value) => value === null || isReasons.passes(value),
  },
  sendReasoningBack: isBoolean,
  missingReasoning: { expected: 'a text or null', passes: (value) => value === null || typeof value === 'string' },
  malformedArguments: oneOf('keep', 'empty'),
  toolCallId: isCallIdRule,
  structuredOutput: isStructuredOutput,
  unsupported: listOf('temperature', 'topP', 'maxOutputTokens', 'stop', 'seed', 'frequencyPenalty', 'presencePenalty', 'reasoningEffort'),
  contentParts: listOf('image', 'file'),
  toolContentParts: isBoolean,
  reportsCost: isBoolean,
  ...textQuirkChecks,
  promptCacheKey: takesCacheKey,
}

/** Merges the layers of quirks over the defaults, later ones first. Throws `invalid_option` for an unknown quirk or an invalid value. */
export function openAIQuirks(...layers: readonly (JsonObject | undefined)[]): OpenAIQuirks {
  return mergeQuirks(defaults, checks, layers)
}
